import DNSCache
import DNSResolver
import DNSWire
import Glibc
import Logging
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSServer

/// A server on loopback with a fake resolver behind it.
struct TestServer: Sendable {
    let server: Server
    let responder: FakeResponder
    let cache: MemoryCache
    let generation: PolicyGeneration
    let rules: SharedClientRules
    /// The addresses on which it listens, in the order given.
    let addresses: [TestAddress]

    /// The first address on which it listens.
    var address: TestAddress { addresses[0] }

    static let loop = LoopRunner.shared.loop

    /// The server's own limits, except that no answer of a test is late on a busy machine, and no connection slow: what a
    /// test waits for is never done by a time-out.
    static let limits = {
        var limits = ServerLimits()
        (limits.answer, limits.drain) = (.patience, .patience)
        let never = Duration.patience * 2
        (limits.handshake, limits.idle, limits.stall, limits.linger) = (never, never, never, never)
        return limits
    }()

    /// Starts a server, and stops it when `body` is done.
    ///
    /// - Parameter hosts: addresses without ports; each gets a free one.
    @concurrent
    static func run(
        on hosts: [String] = ["127.0.0.1"], threads: Int = 1, limits: ServerLimits = TestServer.limits,
        allow: [String] = ["127.0.0.0/8", "::1/128"], responder: FakeResponder = .address(),
        logger: Logger = .silent,
        _ body: @concurrent (TestServer) async throws -> Void
    ) async throws {
        let sockets = try ServerSockets.bind(
            try hosts.map { try #require(SocketAddress($0, defaultPort: 0)) }, threads: threads)
        try await run(sockets, limits: limits, allow: allow, responder: responder, logger: logger, body)
    }

    /// The same with sockets that are bound already.
    static func run(
        _ sockets: ServerSockets, limits: ServerLimits = TestServer.limits,
        allow: [String] = ["127.0.0.0/8", "::1/128"], responder: FakeResponder = .address(),
        logger: Logger = .silent, dnstap: Dnstap? = nil,
        _ body: @concurrent (TestServer) async throws -> Void
    ) async throws {
        // Clients block their thread, so tests do not run on the loop; this starts it.
        _ = loop
        let test = try await start(
            sockets, limits: limits, allow: allow, responder: responder, logger: logger, dnstap: dnstap)
        do {
            try await ThreadExecutor.run { try await body(test) }
        } catch {
            await test.stop()
            throw error
        }
        await test.stop()
    }

    @Loop
    static func start(
        _ sockets: ServerSockets, limits: ServerLimits = TestServer.limits,
        allow: [String] = ["127.0.0.0/8", "::1/128"], responder: FakeResponder,
        logger: Logger = .silent, dnstap: Dnstap? = nil
    ) throws -> TestServer {
        let cache = MemoryCache(memory: 4 << 20)
        let generation = PolicyGeneration()
        let rules = SharedClientRules(ClientRules(access: AccessList(allow.compactMap { AddressPrefix($0) })))
        let server = Server(
            sockets: sockets, loop: loop, cache: cache, generation: generation,
            rules: rules,
            responder: responder,
            limits: limits, dnstap: dnstap, events: EventLog(logger, clock: loop))
        try server.start()
        return TestServer(
            server: server, responder: responder, cache: cache, generation: generation, rules: rules,
            addresses: server.addresses.map { TestAddress($0.host, port: $0.port) })
    }

    /// Returns when the loop has read everything that has reached a socket by now.
    @Loop
    func turn() async {
        for _ in 0..<2 { await Self.loop.sleep(until: Self.loop.now) }
    }

    /// Returns once `condition` holds; records an issue when it does not come to that.
    @Loop
    func until(_ condition: @Loop (Connections) -> Bool) async { await until(condition, of: server.serving.plain) }

    /// The same for other connections.
    @Loop
    func until(_ condition: @Loop (Connections) -> Bool, of connections: Connections) async {
        await awaited { condition(connections) }
    }

    /// Offers connections from these peers, and closes them all afterwards.
    ///
    /// - Returns: how many each client network then had.
    @Loop
    func networks(admitting peers: [String]) throws -> [String: Int] {
        var clients: [Int32] = []
        defer { for client in clients { _ = close(client) } }
        for peer in peers {
            var pair: [Int32] = [0, 0]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair) == 0)
            clients.append(pair[1])
            server.serving.admit(Descriptor(owning: pair[0]), from: try #require(SocketAddress(peer)))
        }
        let peers = server.serving.plain.holders.map(\.connection.client.address)
        server.serving.plain.closeAll()
        return Dictionary(grouping: peers) { "\(ClientNetwork($0.ip))" }.mapValues(\.count)
    }

    /// Has a service answer requests over HTTPS.
    @Loop
    func serve(_ service: any HTTPService) { server.site.service = service }

    /// Answers all held questions, and stops.
    @Loop
    func stop() async {
        responder.releaseForEver()
        await server.stop()
    }

    /// Stores an answer of one address in the cache.
    func store(_ name: String, address: String = "192.0.2.53", ttl: UInt32 = 300) throws {
        try store(name, Answer(name: Name(name), addresses: [IPAddress(address) ?? .v4(0)], ttl: ttl))
    }

    func store(_ name: String, _ answer: Answer, type: DNSWire.RecordType = .a) throws {
        try cache.store(name, answer, type: type, generation: generation.current)
    }
}

extension ServerLimits {
    /// Those of the tests, with a change.
    static func test(_ change: (inout ServerLimits) -> Void) -> ServerLimits {
        var limits = TestServer.limits
        change(&limits)
        return limits
    }
}

extension Logger {
    /// Takes lines and writes them nowhere.
    static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}

extension MemoryCache {
    /// Stores an answer in the cache, from the present time on.
    func store(_ name: String, _ answer: Answer, type: DNSWire.RecordType = .a, generation: UInt32 = 1) throws {
        let question = Question(name: try Name(name), type: type)
        let packed = try #require(PackedAnswer(answer, for: question))
        store(
            CacheEntry(answer: packed, storedAt: .bootTime, lifetime: 300, generation: generation),
            for: QueryKey(question, dnssecOK: false, checkingDisabled: false))
    }
}

extension Response {
    /// A response with an answer to a question.
    init(_ answer: Answer, for question: Question) {
        if let packed = PackedAnswer(answer, for: question) {
            self.init(.answer(packed, age: 0))
        } else {
            self.init(.failure(.serverFailure))
        }
    }

    /// A response of one address to a question.
    static func address(_ address: String, for question: Question) -> Response {
        Response(
            Answer(name: question.name, addresses: [IPAddress(address) ?? .v4(0)], ttl: 60), for: question)
    }
}
