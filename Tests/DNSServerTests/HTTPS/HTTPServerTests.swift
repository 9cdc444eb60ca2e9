import DNSWire
import Glibc
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSServer

/// A service on a socket of its own, and bodies without an end.
@Suite(.onLoop) struct HTTPServerTests {
    // MARK: Bodies without an end

    /// The head of the response, and the first bytes of its body.
    private func begin(_ client: HTTPSClient, until end: String) -> String {
        client.send("GET /feed HTTP/1.1\r\nhost: a\r\n\r\n")
        return client.readText { $0.contains(end) }
    }

    @Test func `parts are sent as they are made, and the end is that of the connection`() async throws {
        try await TestServer.run { server in
            let service = FeedService(parts: ["one\n", "", "two\n"])
            await server.serve(service)
            let client = try await HTTPSClient(server)
            let text = begin(client, until: "two\n")
            #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.hasSuffix("\r\n\r\none\ntwo\n"))
            #expect(text.contains("connection: close\r\n") && !text.contains("content-length"))
            #expect(client.isClosed())
        }
    }

    @Test func `no further part is made for a client that has not read the last, which may be slow`() async throws {
        var limits = TestServer.limits
        // Within the second the handshake is done, on a busy machine too.
        (limits.stall, limits.idle) = (.milliseconds(100), .seconds(1))
        let long = String(repeating: "a", count: 4 << 20)
        try await TestServer.run(limits: limits) { server in
            let service = FeedService(parts: [long, "end\n"], isPatient: true)
            await server.serve(service)
            let client = try await HTTPSClient(server)
            client.send("GET /feed HTTP/1.1\r\nhost: a\r\n\r\n")
            await awaited { service.made == 1 }
            for _ in 0..<24 { await TestServer.loop.sleep(until: TestServer.loop.now + .milliseconds(50)) }
            #expect(await service.made == 1)
            #expect(await server.server.serving.encrypted.count == 1)
            #expect(client.readText { $0.contains("end\n") }.hasSuffix("aend\n"))
            #expect(await service.reads > 1)
        }
    }

    @Test func `another client that reads nothing is closed`() async throws {
        let long = String(repeating: "a", count: 4 << 20)
        try await TestServer.run(limits: .test { $0.stall = .milliseconds(100) }) { server in
            await server.serve(FeedService(parts: [long, long]))
            let client = try await HTTPSClient(server)
            client.send("GET /feed HTTP/1.1\r\nhost: a\r\n\r\n")
            await server.until({ $0.count == 1 }, of: server.server.serving.encrypted)
            await server.until({ $0.count == 0 && $0.buffered == 0 }, of: server.server.serving.encrypted)
        }
    }

    @Test func `a client that hangs up ends it, also while there is nothing to send`() async throws {
        try await TestServer.run { server in
            let service = FeedService(parts: ["one\n"], isEndless: true)
            await server.serve(service)
            let client = try await HTTPSClient(server)
            #expect(begin(client, until: "one\n").hasSuffix("one\n"))
            client.finishSending()
            #expect(client.isClosed())
            await awaited { service.isReleased }
        }
    }

    @Test func `over HTTP2 it is refused as one of HTTP1 alone`() async throws {
        try await TestServer.run { server in
            await server.serve(FeedService(parts: ["one\n"]))
            let client = try await HTTPSClient(server, alpn: "h2")
            let request = Frames.headers(1, Frames.request("GET", "/feed"))
            client.send(Frames.preface + Frames.frame(.settings) + request)
            // RST_STREAM with HTTP_1_1_REQUIRED (RFC 9113 sections 6.4 and 7).
            let reset: [UInt8] = [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0xd]
            var received: [UInt8] = []
            while received.firstRange(of: reset) == nil, let bytes = client.receive(), !bytes.isEmpty {
                received += bytes
            }
            #expect(received.firstRange(of: reset) != nil)
        }
    }

    // MARK: A socket of its own

    /// Serves on a Unix socket.
    private func serve(
        _ service: any HTTPService,
        _ body: @concurrent (@escaping () throws -> HTTPSClient, HTTPServer) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/s"
        let listener = try UnixListener(path)
        guard let descriptor = listener.takeDescriptor() else { throw TestFailure("no socket") }
        let server = try await start(service, on: ListeningSocket(local: descriptor))
        try await ThreadExecutor.run { try await body({ try HTTPSClient(unixSocket: path) }, server) }
        await server.stop()
    }

    @Loop
    private func start(_ service: any HTTPService, on socket: ListeningSocket) throws -> HTTPServer {
        try HTTPServer(
            "test", on: socket, service: service, loop: TestServer.loop,
            events: EventLog(.silent, clock: TestServer.loop))
    }

    @Test func `a client of a Unix socket counts as this machine`() async throws {
        let service = FeedService(parts: ["one\n"])
        try await serve(service) { connect, _ in
            let client = try connect()
            client.send("GET /feed HTTP/1.1\r\nhost: a\r\n\r\n")
            #expect(client.readText().hasSuffix("one\n"))
            #expect(await service.clients == ["127.0.0.1"])
        }
    }

    @Test(arguments: [(30 << 10, "200"), (33 << 10, "431")])
    func `a header may be as long as browsers send to one of many ports`(length: Int, status: String) async throws {
        try await serve(FeedService(parts: ["one\n"])) { connect, _ in
            let client = try connect()
            let cookie = String(repeating: "c", count: length)
            client.send("GET /feed HTTP/1.1\r\nhost: a\r\ncookie: \(cookie)\r\n\r\n")
            #expect(client.readText().hasPrefix("HTTP/1.1 \(status) "))
        }
    }

    @Test func `of what many clients have asked for at once little is made in each turn of the loop`() async throws {
        let service = CountingService()
        try await serve(service) { connect, _ in
            let clients = try (0..<8).map { _ in try connect() }
            let request = "GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n"
            for client in clients { client.send(String(repeating: request, count: 20)) }
            await awaited { service.turns.values.reduce(0, +) == 160 }
            #expect(await (service.turns.values.max() ?? 0) <= 4)
        }
    }

    @Test func `clients that say nothing make room for others`() async throws {
        try await serve(FeedService(parts: ["one\n"])) { connect, _ in
            let silent = try (0..<HTTPServer.connections * 2).map { _ in try connect() }
            let client = try connect()
            client.send("GET /feed HTTP/1.1\r\nhost: a\r\n\r\n")
            #expect(client.readText().hasSuffix("one\n"))
            withExtendedLifetime(silent) {}
        }
    }

    @Test func `clients that read no response make room for others, and not one that reads slowly`() async throws {
        let service = CountingService()
        try await serve(service) { connect, _ in
            let slow = try connect()
            slow.send("GET /long HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
            // From when the response has begun, for longer than the network may take it unread.
            var received = slow.receive()?.count ?? 0
            for _ in 0..<8 {
                usleep(40_000)
                received += slow.receive()?.count ?? 0
            }
            let deaf = try (0..<HTTPServer.connections * 2).map { _ in try connect() }
            for client in deaf { client.send("GET /long HTTP/1.1\r\nhost: a\r\n\r\n") }
            await awaited { service.turns.values.reduce(0, +) >= HTTPServer.connections }
            #expect(try connect().ask("GET", "/short").status == 200)
            received += slow.readAll()?.count ?? 0
            #expect(received > CountingService.long)
            withExtendedLifetime(deaf) {}
        }
    }

    @Test func `a request that comes with its connection is read before others take the place`() async throws {
        try await serve(FeedService(parts: ["one\n"])) { connect, _ in
            let gate = LoopGate()
            gate.close()
            let client = try connect()
            client.send("GET /feed HTTP/1.1\r\nhost: a\r\n\r\n")
            let silent = try (0..<HTTPServer.connections * 3 / 2).map { _ in try connect() }
            gate.open()
            #expect(client.readText().hasSuffix("one\n"))
            withExtendedLifetime(silent) {}
        }
    }

    @Test func `at the stop a body without an end ends, a request is answered, and the socket is closed`() async throws
    {
        let service = FeedService(parts: ["one\n"], isEndless: true)
        try await serve(service) { connect, server in
            let (feed, slow) = (try connect(), try connect())
            feed.send("GET /feed HTTP/1.1\r\nhost: a\r\n\r\n")
            slow.send("GET /slow HTTP/1.1\r\nhost: a\r\n\r\n")
            await awaited { service.isAsked && service.made > 0 }
            await server.stop()
            #expect(feed.readText().hasSuffix("one\n"))
            await service.reply()
            #expect(slow.readText().contains("connection: close\r\n"))
            #expect(throws: SystemError.self) { try connect() }
        }
    }
}

/// Counts the requests in each turn of the loop. `/long` is more than the kernel takes for a client that does not read.
@Loop
private final class CountingService: HTTPService {
    nonisolated static let long = 1 << 20

    private(set) var turns: [UInt64: Int] = [:]

    nonisolated init() {}

    func respond(
        to request: HTTPServerRequest, from client: SocketAddress, reply: @escaping @Loop (HTTPServerResponse) -> Void
    ) -> Bool {
        turns[TestServer.loop.turns, default: 0] += 1
        let isLong = request.path.elementsEqual("/long".utf8)
        reply(HTTPServerResponse(.ok, body: [UInt8](repeating: 0x61, count: isLong ? Self.long : 0)))
        return true
    }
}

/// `/feed` has no end; `/slow` is answered when the test wants it.
@Loop
private final class FeedService: HTTPService {
    private var parts: [String]
    private let isPatient: Bool
    private let isEndless: Bool
    private(set) var made = 0
    private(set) var reads = 0
    private(set) var clients: [String] = []
    private var slow: (@Loop (HTTPServerResponse) -> Void)?
    private weak var place: Place?

    /// As long as the feed is needed.
    private final class Place: Sendable {}

    /// - Parameter isEndless: whether there may be more after the parts.
    nonisolated init(parts: [String], isPatient: Bool = false, isEndless: Bool = false) {
        self.parts = parts
        self.isPatient = isPatient
        self.isEndless = isEndless
    }

    var isReleased: Bool { made > 0 && place == nil }
    var isAsked: Bool { slow != nil }

    func reply() { slow?(HTTPServerResponse(.ok)) }

    func respond(
        to request: HTTPServerRequest, from client: SocketAddress, reply: @escaping @Loop (HTTPServerResponse) -> Void
    ) -> Bool {
        clients.append(client.host)
        guard request.path.elementsEqual("/feed".utf8) else {
            slow = reply
            return true
        }
        let place = Place()
        self.place = place
        var response = HTTPServerResponse(.ok, contentType: "text/plain")
        response.feed = HTTPServerFeed(every: .milliseconds(20), isPatient: isPatient, wasRead: { self.reads += 1 }) {
            withExtendedLifetime(place) {}
            return self.next()
        }
        reply(response)
        return true
    }

    private func next() -> String? {
        guard !parts.isEmpty else { return isEndless ? "" : nil }
        made += 1
        return parts.removeFirst()
    }
}
