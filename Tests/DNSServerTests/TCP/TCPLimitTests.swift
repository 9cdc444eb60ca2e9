import DNSWire
import Dispatch
import Glibc
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSServer

struct TCPLimitTests {
    @Test func `a connection past the limit replaces the one idle for longest`() async throws {
        try await TestServer.run(limits: .test { $0.connections = 2 }) { server in
            let first = try TestTCPClient(server.address)
            #expect(try first.ask(.query("one.example")).rcode == 0)
            let second = try TestTCPClient(server.address)
            #expect(try second.ask(.query("two.example")).rcode == 0)
            #expect(try first.ask(.query("three.example")).rcode == 0)
            let third = try TestTCPClient(server.address)
            #expect(try third.ask(.query("four.example")).rcode == 0)
            #expect(second.isClosed(within: .patience))
            #expect(try first.ask(.query("five.example")).rcode == 0)
        }
    }

    @Test func `a connection is used by a response, too, and not only by a query`() async throws {
        try await TestServer.run(limits: .test { $0.connections = 2 }, responder: FakeResponder()) { server in
            try server.store("cached.example")
            let first = try TestTCPClient(server.address)
            try first.send([.query("slow.example")])
            await server.responder.asked(1)
            let second = try TestTCPClient(server.address)
            #expect(try second.ask(.query("cached.example")).rcode == 0)
            await server.responder.release("slow.example")
            #expect(try first.receive()?.rcode == 0)
            #expect(try TestTCPClient(server.address).ask(.query("cached.example")).rcode == 0)
            #expect(second.isClosed(within: .patience))
            #expect(try first.ask(.query("cached.example")).rcode == 0)
        }
    }

    @Test func `a client that uses all its connections does not lose one to its own next`() async throws {
        try await TestServer.run(limits: .test { $0.connections = 2 }, responder: FakeResponder()) { server in
            let clients = try (0..<2).map { _ in try TestTCPClient(server.address) }
            for (index, client) in clients.enumerated() { try client.send([.query("name\(index).example")]) }
            await server.responder.asked(2)
            #expect(try TestTCPClient(server.address).isClosed(within: .patience))
            await server.responder.release()
            for client in clients { #expect(try client.receive()?.rcode == 0) }
            // Now they are idle.
            #expect(try !TestTCPClient(server.address).isClosed(within: .zero))
        }
    }

    @Test func `clients that may not be answered have the share of one, and make room for one that may`() async throws {
        var limits = TestServer.limits
        limits.connections = 3
        limits.rest = .seconds(3_600)
        try await TestServer.run(limits: limits, allow: ["127.0.0.1/32", "127.0.0.9/32"]) { server in
            let strangers = try (2...4).map { try TestTCPClient(server.address, from: "127.0.0.\($0)") }
            for stranger in strangers { #expect(try stranger.ask(.query("one.example")).rcode == 5) }
            let first = try TestTCPClient(server.address)
            #expect(try first.ask(.query("two.example")).rcode == 0)
            #expect(strangers[0].isClosed(within: .patience))
            let second = try TestTCPClient(server.address, from: "127.0.0.9")
            #expect(try second.ask(.query("three.example")).rcode == 0)
            #expect(strangers[1].isClosed(within: .patience))
            #expect(try first.ask(.query("four.example")).rcode == 0)
            // One that comes now takes the place of another of them.
            let last = try TestTCPClient(server.address, from: "127.0.0.5")
            #expect(try last.ask(.query("five.example")).rcode == 5)
            #expect(strangers[2].isClosed(within: .patience))
        }
    }

    @Test(arguments: [true, false])
    func `a connection that has rested yields to a client without one, not one in use`(hasRested: Bool) async throws {
        var limits = TestServer.limits
        limits.connections = 2
        limits.rest = hasRested ? .zero : .seconds(3_600)
        try await TestServer.run(limits: limits, responder: FakeResponder()) { server in
            try server.store("cached.example")
            let busy = try TestTCPClient(server.address, from: "127.0.0.2")
            try busy.send([.query("slow.example")])
            await server.responder.asked(1)
            let idle = try TestTCPClient(server.address, from: "127.0.0.3")
            #expect(try idle.ask(.query("cached.example")).rcode == 0)
            let newcomer = try TestTCPClient(server.address, from: "127.0.0.4")
            if hasRested {
                #expect(try newcomer.ask(.query("cached.example")).rcode == 0)
                #expect(idle.isClosed(within: .patience))
                // It has one now.
                #expect(try TestTCPClient(server.address, from: "127.0.0.2").isClosed(within: .patience))
            } else {
                #expect(newcomer.isClosed(within: .patience))
                #expect(try idle.ask(.query("cached.example")).rcode == 0)
            }
            await server.responder.release("slow.example")
            #expect(try busy.receive()?.rcode == 0)
        }
    }

    @Test func `a client that takes no replies is read no further`() async throws {
        var limits = TestServer.limits
        limits.queuedReplies = 64 << 10
        try await TestServer.run(limits: limits) { server in
            let client = try askForMuch(server)
            await server.until { $0.buffered > limits.queuedReplies }
            await server.turn()
            // The limit, the response that exceeded it, and the queries that were read.
            #expect(await server.server.serving.plain.buffered <= limits.queuedReplies + 65_537 + (32 << 10))
            // Once they are read, all of them arrive.
            for _ in 0..<Self.manyQueries { #expect(try client.receive()?.answers.count == 240) }
        }
    }

    @Test func `a client that takes no replies does not hold a stop up until it is closed for that`() async throws {
        var limits = TestServer.limits
        limits.drain = .milliseconds(100)
        limits.stall = .patience
        try await TestServer.run(limits: limits) { server in
            let client = try askForMuch(server)
            await server.until { $0.buffered > limits.queuedReplies }
            let began = ContinuousClock.now
            await server.server.stop()
            #expect(ContinuousClock.now - began < limits.stall)
            withExtendedLifetime(client) {}
        }
    }

    /// Far more than the kernel's buffers hold.
    private static let manyQueries = 400

    /// Asks for many answers of 60 KiB each and reads none.
    private func askForMuch(_ server: TestServer) throws -> TestTCPClient {
        let records = (0..<240).map { _ in
            DNSWire.Record(name: .root, type: .txt, ttl: 60, rdata: [UInt8](repeating: 255, count: 256))
        }
        try server.store("big.example", Answer(answers: records), type: .txt)
        let client = try TestTCPClient(server.address)
        #expect(try client.ask(.query("small.example")).rcode == 0)
        let frame = TestMessage.query("big.example", 16).framed
        for _ in 0..<Self.manyQueries { try? client.send(frame) }
        return client
    }

    /// Clients of one network which hold 30,002 bytes each of queries that they do not end.
    private func hold(_ count: Int, from source: String, of server: TestServer) async throws -> [TestTCPClient] {
        let clients = try (0..<count).map { _ in try TestTCPClient(server.address, from: source) }
        for client in clients { try client.send([0xff, 0xff] + [UInt8](repeating: 0, count: 30_000)) }
        await server.until { $0.buffered == count * 30_002 }
        return clients
    }

    @Test func `a network alone may hold all bytes, and for more loses the connection that holds most`() async throws {
        try await TestServer.run(limits: .test { $0.buffered = 90_010 }) { server in
            let clients = try await hold(3, from: "127.0.0.2", of: server)
            for client in clients { #expect(!client.isClosed(within: .zero)) }
            let next = try TestTCPClient(server.address, from: "127.0.0.2")
            try next.send([0xff, 0xff] + [UInt8](repeating: 0, count: 20_000))
            await server.until { $0.buffered == 80_006 && $0.count == 3 }
            await awaited { clients.count { $0.isClosed(within: .zero) } == 1 }
            #expect(!next.isClosed(within: .zero))
        }
    }

    @Test func `a network that holds all bytes loses a connection for another's query in two parts`() async throws {
        try await TestServer.run(limits: .test { $0.buffered = 90_010 }) { server in
            let holders = try await hold(3, from: "127.0.0.2", of: server)
            let query = TestMessage.query("www.example")
            let other = try TestTCPClient(server.address)
            try other.send(Array(query.framed.prefix(20)))
            await server.until { $0.buffered == 2 * 30_002 + 20 }
            try other.send(Array(query.framed.dropFirst(20)))
            #expect(try other.receive()?.rcode == 0)
            await awaited { holders.count { $0.isClosed(within: .zero) } == 1 }
        }
    }

    @Test(arguments: [nil, "h2"])
    func `a network that holds all bytes over TCP takes none from a client of HTTPS`(alpn: String?) async throws {
        try await TestServer.run(limits: .test { $0.buffered = 90_010 }, responder: FakeResponder()) { server in
            let holders = try await hold(3, from: "127.0.0.2", of: server)
            let client = try await HTTPSClient(server, alpn: alpn)
            let target = TestMessage.query("www.example").target()
            if alpn == nil {
                client.send("GET \(target) HTTP/1.1\r\nhost: a\r\n\r\n")
            } else {
                client.send(
                    Frames.preface + Frames.frame(.settings) + Frames.headers(1, Frames.request("GET", target)))
            }
            await server.responder.asked(1)
            await server.turn()
            #expect(await server.server.serving.encrypted.count == 1)
            await awaited { holders.count { $0.isClosed(within: .zero) } == 1 }
            await server.responder.release()
        }
    }

    @Test func `the addresses of one IPv6 network cannot hold all connections`() async throws {
        var limits = TestServer.limits
        limits.connections = 8
        let log = LogRecorder()
        try await TestServer.run(limits: limits, allow: ["0.0.0.0/0", "::/0"], logger: log.logger) { server in
            let many = (1...12).map { "[2001:db8::\($0)]:1" }
            let others = ["192.0.2.1:1", "192.0.2.2:1", "[2001:db8:0:1::1]:1"]
            let held = try await server.networks(admitting: many + others)
            #expect(held == ["2001:db8::/64": 5, "192.0.2.1": 1, "192.0.2.2": 1, "2001:db8:0:1::/64": 1])
            #expect(log.lines.count == 1)
            #expect(log.lines.first?.contains("8 TCP connections are open: 8 from 2001:db8::/64") == true)
        }
    }

    @Test func `out of descriptors connections are taken once one is free, and the loop does not spin`() async {
        await #expect(processExitsWith: .success) { try await descriptorsRunOut() }
    }

    @Test func `a listener that the loop cannot watch again after a pause tries it once more`() async throws {
        let log = LogRecorder()
        try await TestServer.run(logger: log.logger) { server in
            let other = try ListeningSocket(try #require(SocketAddress("127.0.0.1:0")))
            let number = try await server.pauseListener()
            await awaited { log.lines.contains { $0.contains("no connection can be taken") } }
            // A file cannot be waited for.
            let file = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
            defer { close(file) }
            _ = dup2(file, number)
            // One that closes ends the pause.
            #expect(try await server.networks(admitting: ["127.0.0.1:1"]).count == 1)
            _ = dup2(other.descriptor.number, number)
            let client = try TestTCPClient(TestAddress("127.0.0.1", port: other.address.port))
            #expect(try client.ask(.query("www.example")).rcode == 0)
        }
    }
}

extension TestServer {
    /// Makes accepting fail as without memory. Returns the number of the listening socket.
    @Loop
    fileprivate func pauseListener() throws -> Int32 {
        let number = try #require(server.descriptors.first { $0.kind == .tcp }?.numbers.first)
        shutdown(number, Int32(SHUT_RDWR))
        return number
    }
}

/// Runs in a process of its own, since the limit is the whole process's.
///
/// And on a thread of its own: when work waits for Dispatch's pool, Dispatch reads every second what its threads do,
/// and ends the process if it cannot open the file for that.
@concurrent
private func descriptorsRunOut() async throws {
    let result = try await NamedThread.run("descriptors") { Result { try acceptWithoutDescriptors() } }
    if case .failure(let error) = result { Issue.record(error) }
}

/// Blocks its thread.
private func acceptWithoutDescriptors() throws {
    let log = LogRecorder()
    let runner = LoopRunner.shared
    let sockets = try ServerSockets.bind([try #require(SocketAddress("127.0.0.1:0"))], threads: 1)
    let address = TestAddress("127.0.0.1", port: sockets.addresses[0].port)
    // The kernel accepts connections before the server does: these wait in the backlog.
    var clients = try (0..<5).map { _ in try TestTCPClient(address) }
    // Dispatch opens its own descriptors before its first timer fires; on a busy machine it would take the ones left
    // here.
    let timer = DispatchSemaphore(value: 0)
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { timer.signal() }
    timer.wait()
    let free = try DescriptorLimit(free: 2)
    defer { free.restore() }
    let logger = log.logger
    let server = try runner.run { try TestServer.start(sockets, responder: .address(), logger: logger) }
    for client in clients[..<2] { #expect(try client.ask(.query("taken.example")).rcode == 0) }
    let turns = try runner.run { runner.loop.turns }
    // Longer than the pause, so that at least one more attempt has failed.
    #expect(try clients[2].receive(within: .milliseconds(1_500)) == nil)
    #expect(try runner.run { runner.loop.turns } - turns < 20)
    #expect(log.lines.count == 1)
    #expect(log.lines.first?.contains("LimitNOFILE") == true)
    for index in 2..<5 {
        clients.removeFirst()
        #expect(try clients[1].ask(.query("next\(index).example")).rcode == 0)
    }
    try runner.run { await server.stop() }
}
