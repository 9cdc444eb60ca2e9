import DNSCache
import DNSResolver
import DNSWire
import Glibc
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSServer

/// One thread alone, which finds all its datagrams in one batch: they were sent before it began.
struct UDPThreadTests {
    /// What a thread serves from, and where its queries go.
    @Loop
    private final class Fixture {
        nonisolated let misses: Mailbox<MissedQuery>
        nonisolated let feed: QueryFeed
        /// The reported queries, such as `127.0.0.1 op0.example A NOTIMP`.
        private(set) var reported: [String] = []
        private let sockets: UDPSockets
        private let thread: UDPThread

        /// - Parameter hasOneSocket: whether late responses go out by the socket that receives.
        init(dnstap: Dnstap? = nil, hasOneSocket: Bool = false) throws {
            let loop = TestServer.loop
            misses = Mailbox(capacity: 100, on: loop, sharedBy: \.origin)
            feed = QueryFeed(on: loop, dnstap: dnstap)
            sockets = try UDPSocket.bind(try #require(SocketAddress("127.0.0.1:0")), isBlocking: true)
            let socket = sockets.receivers[0]
            thread = UDPThread(socket, lateReplies: hasOneSocket ? socket : sockets.sender)
            feed.receive { [weak self] query in
                let question = query.question.map(\.description) ?? "-"
                self?.reported.append("\(query.client) \(question) \(query.responseCode)")
            } missed: { _ in
            }
        }

        var address: TestAddress { TestAddress("127.0.0.1", port: sockets.sender.address.port) }

        /// Has the thread answer or pass on all that was sent, and ends it.
        func serve() throws {
            try start("udp-test")
            end()
        }

        /// Begins the thread when it is to leave already, and waits for its end.
        func leave() throws {
            thread.enter(.leaving)
            try start("udp-test")
            thread.join()
        }

        func end() {
            thread.enter(.ending)
            thread.join()
        }

        /// Has reading from the socket return at once.
        func leaveUnblocked() {
            let number = sockets.receivers[0].descriptor.number
            _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
        }

        func start(_ name: String) throws {
            let access = AccessList([try #require(AddressPrefix("127.0.0.0/8"))])
            let handler = QueryHandler(
                cache: MemoryCache(memory: 1 << 20), generation: PolicyGeneration(),
                rules: SharedClientRules(ClientRules(access: access)), keepalive: 100)
            NamedThread.allowInterrupts()
            try thread.start(
                name, handler: handler, misses: misses, refusals: RefusalLimit(100), feed: feed, producer: 0
            ) {}
        }
    }

    init() {
        // Starts the loop.
        _ = TestServer.loop
    }

    /// Queries of five clients, of which those of even numbers are answered at once.
    private func sendQueries(to address: TestAddress) throws -> [TestDNSClient] {
        try (0..<5).map { index in
            let client = try TestDNSClient(address, from: "127.0.0.\(index + 1)")
            try client.send(.query("name\(index).example", flags: index.isMultiple(of: 2) ? 0x1000 : 0x0100))
            return client
        }
    }

    @Test func `each query of a batch is reported with its client, but for those that wait`() async throws {
        let fixture = try await Fixture()
        fixture.feed.turn(on: true)
        let clients = try await sendQueries(to: fixture.address)
        try await fixture.serve()
        for client in [clients[0], clients[2], clients[4]] { #expect(try client.receive().message.rcode == 4) }
        while await fixture.reported.count < 3 { await Task.yield() }
        let expected = [0, 2, 4].map { "127.0.0.\($0 + 1) name\($0).example A NOTIMP" }
        #expect(await fixture.reported == expected)
        #expect(Set(fixture.misses.take().map { "\($0.client.ip)" }) == ["127.0.0.2", "127.0.0.4"])
    }

    @Test func `while many queries wait for the loop, this machine's count by the program that asks`() async throws {
        let fixture = try await Fixture()
        let client = try await TestDNSClient(fixture.address)
        for number in 0..<70 { try client.send(.query("name\(number).example", id: UInt16(number))) }
        try await fixture.serve()
        // The first 64 wait in order, of all clients.
        let users = fixture.misses.take().compactMap { $0.program?.program?.user }
        #expect(users == Array(repeating: geteuid(), count: 5))
    }

    @Test func `each query of a batch is sent to dnstap, and a response where there is one`() async throws {
        let collector = try FrameStreamCollector()
        async let received = collector.messages()
        let dnstap = try await collector.connect(producers: 1)
        let fixture = try await Fixture(dnstap: dnstap)
        let clients = try await sendQueries(to: fixture.address)
        try await fixture.serve()
        dnstap.stop()
        let messages = try await received
        #expect(
            messages == [
                "CQ UDP name0.example", "CR UDP name0.example 4", "CQ UDP name1.example", "CQ UDP name2.example",
                "CR UDP name2.example 4", "CQ UDP name3.example", "CQ UDP name4.example", "CR UDP name4.example 4",
            ])
        withExtendedLifetime(clients) {}
    }

    @Test func `a thread that leaves at once reads nothing of its one socket, which may never be empty`() async throws {
        let fixture = try await Fixture(hasOneSocket: true)
        let clients = try await sendQueries(to: fixture.address)
        try await fixture.leave()
        #expect(fixture.misses.take().isEmpty)
        withExtendedLifetime(clients) {}
    }

    @Test func `a thread whose socket does not block sleeps while nothing comes`() async throws {
        let fixture = try await Fixture()
        await fixture.leaveUnblocked()
        try await fixture.start("udp-idle")
        // It may wait for something else as it begins.
        var times = 0
        await awaited {
            times = Self.isAsleep("udp-idle") ? times + 1 : 0
            return times == 20
        }
        await fixture.end()
    }

    /// Whether the thread of this name waits in the kernel (proc(5)).
    private static func isAsleep(_ name: String) -> Bool {
        guard let folder = opendir("/proc/self/task") else { return false }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let task = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            let stat = (try? readFile("/proc/self/task/\(task)/stat", limit: 1_024)) ?? []
            if String(decoding: stat, as: UTF8.self).contains("(\(name)) S ") { return true }
        }
        return false
    }
}
