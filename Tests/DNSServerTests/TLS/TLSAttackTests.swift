import DNSWire
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSServer

/// Clients that want to hold the server up; others are served meanwhile.
struct TLSAttackTests {
    @Test func `a handshake that takes too long is closed`() async throws {
        try await EncryptedServer.run(limits: .test { $0.handshake = .seconds(1) }) { server in
            // On a busy machine an honest handshake may take too long as well; the next one may not.
            let end = ContinuousClock.now + .patience
            var honest = try? TestTLSClient(server.address)
            while honest == nil, ContinuousClock.now < end { honest = try? TestTLSClient(server.address) }
            let client = try #require(honest)
            let slow = try TestTCPClient(server.address)
            try slow.send([0x16, 0x03, 0x01])
            #expect(slow.isClosed(within: .patience))
            #expect(try client.ask(.query("one.example")).rcode == 0)
        }
    }

    @Test func `connections without a handshake displace each other, and not those of others`() async throws {
        try await EncryptedServer.run(limits: .test { $0.encryptedConnections = 20 }) { server in
            let client = try TestTLSClient(server.address)
            #expect(try client.ask(.query("one.example")).rcode == 0)
            let flood = try (0..<100).map { _ in try TestTCPClient(server.address, from: "127.0.0.9") }
            for each in flood { try? each.send([0x16]) }
            #expect(try client.ask(.query("two.example")).rcode == 0)
            #expect(try TestTLSClient(server.address).ask(.query("three.example")).rcode == 0)
            await server.until { $0.count <= 20 }
        }
    }

    @Test(arguments: [
        [UInt8](repeating: 0x47, count: 100), [0x16, 0x03, 0x01, 0xff, 0xff] + [UInt8](repeating: 1, count: 200),
        [0x16, 0x03, 0x01, 0x00, 0x05, 0x01, 0xff, 0xff, 0xff, 0x03],
        // It ends before it is whole.
        [0x16, 0x03, 0x01],
    ])
    func `what is no handshake is closed`(bytes: [UInt8]) async throws {
        try await EncryptedServer.run { server in
            let client = try TestTCPClient(server.address)
            try client.send(bytes)
            client.finishSending()
            await server.until { $0.count == 0 }
            #expect(try TestTLSClient(server.address).ask(.query("one.example")).rcode == 0)
        }
    }

    @Test(arguments: [
        // 128 KiB are claimed; 16 KiB of a whole length come; so many come of a whole one.
        [0x16, 3, 1, 0x40, 0, 1, 1, 0xff, 0xff],
        [0x16, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xff] + [UInt8](repeating: 0, count: 16_379),
    ])
    func `a ClientHello that claims to be long, or that is, is closed`(bytes: [UInt8]) async throws {
        try await EncryptedServer.run { server in
            let client = try TestTCPClient(server.address)
            try client.send(bytes)
            try? client.send([0])
            #expect(client.isClosed(within: .patience))
            await server.until { $0.count == 0 }
            #expect(await server.counts.failed == 1)
            #expect(try TestTLSClient(server.address).ask(.query("one.example")).rcode == 0)
        }
    }

    @Test(arguments: [false, true])
    func `a client that sends more than 16 KiB in its handshake is closed, unless it may show a certificate`(
        asksClients: Bool
    ) async throws {
        try await EncryptedServer.run(asksClients: asksClients) { server in
            let client = try TestTCPClient(server.address)
            try client.send(TestTLSClient.hello)
            // Of a record whose end does not come.
            try client.send([0x17, 3, 3, 0x41, 0] + [UInt8](repeating: 0, count: 16_500))
            if !asksClients {
                // Behind the server's half of the handshake.
                #expect((0..<8).contains { _ in client.isClosed(within: .patience) })
            }
            #expect(try TestTLSClient(server.address).ask(.query("one.example")).rcode == 0)
            #expect(await server.counts.failed == (asksClients ? 0 : 1))
            withExtendedLifetime(client) {}
        }
    }

    @Test(arguments: ["ffdhe2048", "ffdhe3072", "ffdhe4096", "ffdhe6144", "ffdhe8192"])
    func `a client that has no exchange of keys but a dear one is refused`(group: String) async throws {
        try await EncryptedServer.run { server in
            #expect(throws: TestFailure.self) { try TestTLSClient(server.address, .init(groups: group)) }
            // Before others it is passed over.
            let client = try TestTLSClient(server.address, .init(groups: "\(group):P-256"))
            #expect(try client.ask(.query("one.example")).rcode == 0)
        }
    }

    @Test(arguments: ["X25519", "P-256", "P-384", "P-521"], [0, 0x303])
    func `a client may have any of the curves that are in use`(group: String, version: Int32) async throws {
        try await EncryptedServer.run { server in
            // In TLS 1.2 also that of the certificate must be among them.
            let client = try TestTLSClient(server.address, .init(version: version, groups: "\(group):P-256"))
            #expect(try client.ask(.query("one.example")).rcode == 0)
        }
    }

    @Test func `a proxy that ends its connection within its header is closed`() async throws {
        try await EncryptedServer.run(proxies: ["127.0.0.1/32"]) { server in
            let client = try TestTCPClient(server.address)
            try client.send(Array(ProxyHeaderTests.signature.prefix(5)))
            client.finishSending()
            #expect(client.isClosed(within: .patience))
            #expect(await server.counts.failed == 1)
        }
    }

    @Test func `a second handshake on a connection is refused`() async throws {
        try await EncryptedServer.run { server in
            let client = try TestTLSClient(server.address, .init(version: 0x303))
            #expect(try client.ask(.query("one.example")).rcode == 0)
            #expect(!client.renegotiates())
            #expect(try TestTLSClient(server.address).ask(.query("two.example")).rcode == 0)
        }
    }

    @Test func `a client that takes no replies is read no further`() async throws {
        var limits = TestServer.limits
        limits.queuedReplies = 64 << 10
        limits.stall = .milliseconds(200)
        try await EncryptedServer.run(limits: limits) { server in
            let records = (0..<3_000).map { "192.0.2.\($0 % 250)" }
            try server.test.store(
                "large.example",
                Answer(
                    name: Name("large.example"), addresses: records.prefix(240).compactMap { IPAddress($0) }, ttl: 60))
            let client = try TestTLSClient(server.address)
            let queries = [TestMessage](repeating: .query("large.example"), count: 2_000)
            // More than all buffers hold; once the client is closed nothing is taken any more.
            let isTaken = (try? client.send(queries)) != nil
            await server.until { $0.count == 0 }
            #expect(await server.test.server.serving.encrypted.buffered == 0)
            withExtendedLifetime((client, isTaken)) {}
            #expect(try TestTLSClient(server.address).ask(.query("two.example")).rcode == 0)
        }
    }

    @Test(arguments: 1...6)
    func `of handshakes that begin in one turn of the loop, none is forgotten`(count: Int) async throws {
        try await EncryptedServer.run { server in
            let gate = LoopGate()
            gate.close()
            let clients = try (0..<count).map { _ in try TestTCPClient(server.address) }
            // What the server refuses ends at once.
            for client in clients { try client.send([UInt8](repeating: 0x47, count: 100)) }
            gate.open()
            await server.until { _ in server.counts.failed == count }
            withExtendedLifetime(clients) {}
        }
    }

    @Test func `handshakes of many clients at once all end, and plain clients are answered meanwhile`() async throws {
        try await EncryptedServer.run { server in
            let tcp = try TestTCPClient(server.test.address)
            try await withThrowingTaskGroup { group in
                for _ in 0..<50 {
                    group.addTask {
                        try await ThreadExecutor.run {
                            _ = try TestTLSClient(server.address).ask(.query("one.example"))
                        }
                    }
                }
                for _ in 0..<20 { #expect(try tcp.ask(.query("two.example")).rcode == 0) }
                try await group.waitForAll()
            }
            #expect(await server.counts.full == 50)
        }
    }
}
