import COpenSSL
import DNSWire
import Glibc
import Platform
import TestServers
import Testing

@testable import DNSServer

/// A `TestServer` that serves DNS over TLS, too.
struct EncryptedServer {
    let test: TestServer
    /// Where it does.
    let address: TestAddress

    static let certificates = Result { try TestCertificates() }

    /// The content of the files of a certificate.
    static func content(_ leaf: TestCertificates.Leaf, clientAuthorities: String = "") throws -> TLSFiles.Content {
        try TLSFiles(certificate: leaf.certificate, key: leaf.key, clientAuthorities: clientAuthorities).read()
    }

    /// - Parameter asksClients: whether certificates of the same authority are asked for.
    static func run(
        limits: ServerLimits = TestServer.limits, allow: [String] = ["127.0.0.0/8"], proxies: [String] = [],
        asksClients: Bool = false, responder: FakeResponder = .address(),
        _ body: @concurrent (EncryptedServer) async throws -> Void
    ) async throws {
        let certificates = try certificates.get()
        let leaf = try certificates.leaf(names: ["dns.example"])
        let content = try content(leaf, clientAuthorities: asksClients ? certificates.authority : "")
        let any = try #require(SocketAddress("127.0.0.1", defaultPort: 0))
        let sockets = try ServerSockets.bind([any], tls: [any], threads: 1)
        try await TestServer.run(sockets, limits: limits, allow: allow, responder: responder) { test in
            let context = try TLSContext(content)
            await MainLoop.prepare(test.server, context, AccessList(proxies.compactMap { AddressPrefix($0) }))
            let address = try #require(test.server.encryptedAddresses.first?.address)
            try await body(EncryptedServer(test: test, address: TestAddress(address.host, port: address.port)))
        }
    }

    private enum MainLoop {
        @Loop
        static func prepare(_ server: Server, _ context: TLSContext, _ proxies: AccessList) {
            server.tls.context = context
            server.tls.proxies = proxies
        }
    }

    /// Has the server take no other group for the exchange of keys.
    @Loop
    func allowGroup(_ name: String) {
        guard let context = test.server.tls.context else { return }
        SSL_CTX_ctrl(context.context, SSL_CTRL_SET_GROUPS_LIST, 0, strdup(name))
    }

    /// Returns once `condition` holds for the encrypted connections.
    @Loop
    func until(_ condition: @Loop (Connections) -> Bool) async {
        await test.until(condition, of: test.server.serving.encrypted)
    }
}
