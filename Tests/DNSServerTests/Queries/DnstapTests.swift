import DNSWire
import Glibc
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSServer

/// The queue, and the frames of messages. A real collector is in the integration tests.
struct DnstapTests {
    private static let exchange = Dnstap.Exchange(
        client: SocketAddress(ipv4: 0xc000_0201, port: 7), transport: .udp, queried: 0)

    private func dnstap(_ path: String, producers: Int = 1) throws -> Dnstap {
        try Dnstap(to: .unix(path), identity: "host", version: "program 1", producers: producers)
    }

    @Test func `without a collector everything is dropped, counted, and the reason known`() throws {
        let directory = try TemporaryDirectory()
        let dnstap = try dnstap(directory.path + "/none")
        #expect(eventually { dnstap.state != .connecting })
        #expect(dnstap.state == .unavailable(reason: "No such file or directory"))
        let message: [UInt8] = [1, 2, 3]
        dnstap.add(message.span, Self.exchange, by: 0)
        dnstap.add(message.span, Self.exchange, responded: 1, by: 0)
        #expect(dnstap.counts == (0, 2))
        dnstap.stop()
        dnstap.add(message.span, Self.exchange, by: 0)
        #expect(dnstap.counts == (0, 3))
    }

    @Test func `a collector that accepts other content than was offered is unavailable`() async throws {
        let listener = try TestSocket.listener(TestAddress("127.0.0.1"))
        let target = try #require(AddressAndPort("\(listener.localAddress)"))
        let dnstap = try Dnstap(to: .tcp(target), identity: "host", version: "program 1", producers: 1)
        let (socket, _) = try #require(listener.accept())
        // ACCEPT, with the type of content `x`.
        try socket.write([0, 0, 0, 0, 0, 0, 0, 13, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1] + Array("x".utf8))
        #expect(eventually { dnstap.state != .connecting })
        #expect(dnstap.state == .unavailable(reason: "Protocol error"))
        dnstap.stop()
    }

    @Test func `a collector that ends each connection is tried ever less often`() async throws {
        let listener = try TestSocket.listener(TestAddress("127.0.0.1"))
        let target = try #require(AddressAndPort("\(listener.localAddress)"))
        let dnstap = try Dnstap(to: .tcp(target), identity: "host", version: "program 1", producers: 1)
        let attempts = try await NamedThread.run("collector") {
            (0..<3).map { _ in
                _ = listener.accept()
                return ContinuousClock.now
            }
        }
        #expect(attempts[1] - attempts[0] >= .seconds(1))
        #expect(attempts[2] - attempts[1] >= .seconds(2))
        dnstap.stop()
    }

    @Test func `a producer that was not announced adds nothing`() throws {
        let directory = try TemporaryDirectory()
        let dnstap = try dnstap(directory.path + "/none")
        dnstap.add([1].span, Self.exchange, by: 1)
        #expect(dnstap.counts == (0, 0))
    }

    /// The fields of dnstap.proto's `Message` that all messages have, and those that a query or a response has alone.
    private func fields(
        _ transport: UInt64, address: [UInt8], family: UInt64, isResponse: Bool
    ) -> (numbers: [UInt64: UInt64], bytes: [UInt64: [UInt8]]) {
        var numbers: [UInt64: UInt64] = [1: 5, 2: family, 3: transport, 6: 258, 8: 5, 9: 7]
        var bytes: [UInt64: [UInt8]] = [4: address, 10: [1, 2, 3]]
        if isResponse {
            numbers.merge([1: 6, 12: 6, 13: 8]) { $1 }
            bytes = [4: address, 14: [4, 5]]
        }
        return (numbers, bytes)
    }

    @Test func `a query and its response have types, client, transport, both times and the bytes`() async throws {
        let collector = try FrameStreamCollector()
        async let received = NamedThread.run("collector") { Result { try collector.frames() } }
        let dnstap = try await collector.connect(producers: 1)
        let ipv4 = SocketAddress(ipv4: 0xc000_0201, port: 258)
        let ipv6 = SocketAddress(ipv6: 0x2001_0db8_0000_0000, 7, port: 258)
        let clients: [(SocketAddress, Transport)] = [(ipv4, .udp), (ipv4, .tcp), (ipv4, .tls), (ipv6, .https)]
        for (client, transport) in clients {
            let exchange = Dnstap.Exchange(client: client, transport: transport, queried: 5_000_000_007)
            dnstap.add([1, 2, 3].span, exchange, by: 0)
            dnstap.add([4, 5].span, exchange, responded: 6_000_000_008, by: 0)
        }
        dnstap.stop()
        #expect(dnstap.counts == (8, 0))
        let frames = try await received.get()
        try #require(frames.count == 8)
        for (index, frame) in frames.enumerated() {
            let envelope = try ProtobufFields(frame)
            #expect(envelope.bytes[1] == Array("host".utf8) && envelope.bytes[2] == Array("program 1".utf8))
            let message = try ProtobufFields(try #require(envelope.bytes[14]))
            let address: [UInt8] =
                index < 6 ? [192, 0, 2, 1] : [0x20, 0x01, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [7]
            let expected = fields(
                UInt64(index / 2 + 1), address: address, family: index < 6 ? 1 : 2, isResponse: index % 2 == 1)
            #expect(message.numbers == expected.numbers && message.bytes == expected.bytes)
        }
    }

    @Test func `each query and each response of the server is sent once, whichever thread it is of`() async throws {
        let collector = try FrameStreamCollector()
        async let received = collector.messages()
        let dnstap = try await collector.connect(producers: 2)
        let any = try #require(SocketAddress("127.0.0.1:0"))
        let sockets = try ServerSockets.bind([any], threads: 1)
        #expect(sockets.dnstapProducers == 2)
        try await TestServer.run(sockets, allow: ["127.0.0.1/32"], dnstap: dnstap) { server in
            try server.store("hit.example")
            let udp = try TestDNSClient(server.address)
            for name in ["hit.example", "miss.example"] { #expect(try udp.ask(name).rcode == 0) }
            let tcp = try TestTCPClient(server.address)
            for name in ["hit.example", "miss.example"] { #expect(try tcp.ask(.query(name)).rcode == 0) }
            #expect(try TestTCPClient(server.address, from: "127.0.0.2").ask(.query("hit.example")).rcode == 5)
            // What is no query is not sent.
            var response = TestMessage.query("loop.example")
            response.flags |= 0x8000
            try tcp.send([response])
        }
        dnstap.stop()
        let messages = try await received.sorted()
        let names = ["TCP hit.example", "TCP hit.example", "TCP miss.example"]
        let udp = ["UDP hit.example", "UDP miss.example"]
        #expect(messages.filter { $0.hasPrefix("CQ") } == (names + udp).map { "CQ \($0)" })
        #expect(
            messages.filter { $0.hasPrefix("CR") }
                == zip(names + udp, [0, 5, 0, 0, 0]).map { "CR \($0) \($1)" })
    }

    @Test func `the time of day of an instant is that of the system's clock`() {
        func systemTime() -> Int64 {
            var time = timespec()
            clock_gettime(CLOCK_REALTIME, &time)
            return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        }
        let before = systemTime()
        let now = Instant.bootTime
        let times = Dnstap.TimeOfDay()
        let after = systemTime()
        // The two clocks are read one after the other: what lies between may be missing.
        #expect((before - (after - before)...after).contains(Int64(times[now])))
        #expect(times[now + .seconds(1)] - times[now] == 1_000_000_000)
    }
}
