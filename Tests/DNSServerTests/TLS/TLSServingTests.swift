import DNSWire
import Platform
import TestServers
import Testing

@testable import DNSServer

struct TLSServingTests {
    @Test func `queries over TLS are answered by the resolver and from the cache`() async throws {
        try await EncryptedServer.run { server in
            try server.test.store("cached.example", address: "192.0.2.7")
            let client = try TestTLSClient(server.address)
            #expect(client.alpn == "dot")
            #expect(try client.ask(.query("one.example")).rcode == 0)
            #expect(try client.ask(.query("cached.example")).answers.count == 1)
        }
    }

    @Test func `a client that has to send a second ClientHello is served`() async throws {
        try await EncryptedServer.run { server in
            await server.allowGroup("P-521")
            let client = try TestTLSClient(server.address)
            #expect(try client.ask(.query("one.example")).rcode == 0)
        }
    }

    @Test func `a client whose ClientHello comes in pieces is served`() async throws {
        try await EncryptedServer.run { server in
            let client = try TestTCPClient(server.address)
            for byte in TestTLSClient.hello { try client.send([byte]) }
            // A ServerHello.
            #expect(client.receiveSegment()?.dropFirst(5).first == 2)
        }
    }

    @Test func `many queries in records of their own, and in one record, are all answered`() async throws {
        try await EncryptedServer.run { server in
            try server.test.store("cached.example")
            let client = try TestTLSClient(server.address)
            let queries = [TestMessage](repeating: .query("cached.example"), count: 300)
            try client.send(queries)
            try client.write(queries.flatMap(\.framed))
            for _ in 0..<600 { #expect(try client.receive()?.answers.count == 1) }
        }
    }

    @Test func `a client without ALPN is served, and one for another protocol is not`() async throws {
        try await EncryptedServer.run { server in
            let client = try TestTLSClient(server.address, .init(protocols: []))
            #expect(try client.ask(.query("one.example")).rcode == 0)
            #expect(throws: (any Error).self) { try TestTLSClient(server.address, .init(protocols: ["h2"])) }
        }
    }

    @Test(arguments: [0, 0x303]) func `a session is resumed`(version: Int32) async throws {
        try await EncryptedServer.run { server in
            let first = try TestTLSClient(server.address, .init(version: version))
            #expect(try first.ask(.query("one.example")).rcode == 0)
            let second = try TestTLSClient(server.address, .init(session: first.session, version: version))
            #expect(second.isResumed)
            #expect(try second.ask(.query("two.example")).rcode == 0)
            #expect(await server.counts.resumed == 1)
        }
    }

    @Test func `a new certificate is for new connections, and the others go on`() async throws {
        try await EncryptedServer.run { server in
            let old = try TestTLSClient(server.address)
            #expect(try old.ask(.query("one.example")).rcode == 0)
            let leaf = try EncryptedServer.certificates.get().leaf(names: ["dns.example"])
            await server.use(try TLSContext(try EncryptedServer.content(leaf)))
            let new = try TestTLSClient(server.address, .init(session: old.session))
            #expect(!new.isResumed && new.certificate != old.certificate)
            #expect(try old.ask(.query("two.example")).rcode == 0)
            #expect(try new.ask(.query("three.example")).rcode == 0)
        }
    }

    @Test func `a response is padded where the query wants it, over TLS alone`() async throws {
        try await EncryptedServer.run { server in
            try server.test.store("cached.example")
            let client = try TestTLSClient(server.address)
            let tcp = try TestTCPClient(server.test.address)
            let padding = TestEDNS(options: [.init(12, [0, 0])])
            for name in ["cached.example", "one.example"] {
                let padded = TestMessage.query(name, edns: padding)
                #expect(try client.ask(padded).encoded.count == 468)
                #expect(try client.ask(.query(name, edns: TestEDNS())).encoded.count < 100)
                #expect(try tcp.ask(padded).encoded.count < 100)
            }
        }
    }

    @Test func `a client outside of the access list is refused, unless it has a certificate`() async throws {
        try await EncryptedServer.run(allow: ["192.0.2.0/24"], asksClients: true) { server in
            #expect(try TestTLSClient(server.address).ask(.query("one.example")).rcode == 5)
            let leaf = try EncryptedServer.certificates.get().leaf(names: ["client"])
            let client = try TestTLSClient(server.address, .init(leaf: leaf))
            #expect(try client.ask(.query("one.example")).rcode == 0)
            // Also where the certificate is that of an earlier handshake.
            let again = try TestTLSClient(server.address, .init(session: client.session, leaf: leaf))
            #expect(again.isResumed)
            #expect(try again.ask(.query("one.example")).rcode == 0)
        }
    }

    @Test func `a client with a certificate of another authority has no connection`() async throws {
        try await EncryptedServer.run(asksClients: true) { server in
            let stranger = try TestCertificates()
            let leaf = try stranger.leaf(names: ["client"])
            // In TLS 1.3 the client's own side of the handshake ends before the server has looked.
            let reply = try? TestTLSClient(server.address, .init(leaf: leaf)).ask(.query("one.example"))
            #expect(reply == nil)
        }
    }

    @Test func `behind a proxy the client is the one that the proxy reports`() async throws {
        try await EncryptedServer.run(allow: ["192.0.2.0/24"], proxies: ["127.0.0.1/32"]) { server in
            let listed = try TestTLSClient(
                server.address, .init(prefix: ProxyHeaderTests.header(client: [192, 0, 2, 1])))
            #expect(try listed.ask(.query("one.example")).rcode == 0)
            let other = try TestTLSClient(
                server.address, .init(prefix: ProxyHeaderTests.header(client: [198, 51, 100, 1])))
            #expect(try other.ask(.query("one.example")).rcode == 5)
            #expect(throws: (any Error).self) { try TestTLSClient(server.address) }
        }
    }

    @Test func `a proxy's header that comes in pieces is waited for`() async throws {
        try await EncryptedServer.run(allow: ["192.0.2.0/24"], proxies: ["127.0.0.1/32"]) { server in
            let client = try TestTCPClient(server.address)
            for byte in ProxyHeaderTests.header(client: [192, 0, 2, 1]) {
                try client.send([byte])
                await server.test.turn()
            }
            try client.send(TestTLSClient.hello)
            // A ServerHello.
            #expect(client.receiveSegment()?.dropFirst(5).first == 2)
        }
    }

    @Test func `a header of a proxy from elsewhere is no handshake`() async throws {
        try await EncryptedServer.run { server in
            let header = ProxyHeaderTests.header(client: [192, 0, 2, 1])
            #expect(throws: (any Error).self) { try TestTLSClient(server.address, .init(prefix: header)) }
        }
    }

    @Test func `a connection whose client goes without close_notify is closed after its answers`() async throws {
        try await EncryptedServer.run(responder: FakeResponder()) { server in
            let client = try TestTLSClient(server.address)
            try client.send([.query("one.example")])
            await server.test.responder.asked(1)
            client.finishSending()
            await server.test.responder.release()
            #expect(try client.receive()?.rcode == 0)
            #expect(client.endsProperly())
            await server.until { $0.count == 0 }
        }
    }

    @Test func `what came before a bad length is answered, and the end is said, whatever comes after it`() async throws
    {
        try await EncryptedServer.run(responder: FakeResponder()) { server in
            let client = try TestTLSClient(server.address)
            try client.write(TestMessage.query("one.example").framed + [0, 0] + [UInt8](repeating: 0, count: 100_000))
            await server.test.responder.asked(1)
            await server.test.responder.release()
            #expect(try client.receive()?.rcode == 0)
            try client.write([UInt8](repeating: 0, count: 100_000))
            #expect(client.endsProperly())
            client.finishSending()
            await server.until { $0.count == 0 }
        }
    }

    @Test func `a stop ends connections by close_notify`() async throws {
        try await EncryptedServer.run { server in
            let client = try TestTLSClient(server.address)
            #expect(try client.ask(.query("one.example")).rcode == 0)
            await server.test.stop()
            #expect(client.endsProperly())
        }
    }
}

extension EncryptedServer {
    @Loop var counts: (full: Int, resumed: Int, failed: Int) { test.server.tls.counts }

    @Loop func use(_ context: TLSContext) { test.server.tls.context = context }
}
