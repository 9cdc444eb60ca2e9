import COpenSSL
import DNSWire
import Platform
import Scheduling
import TestServers
import TestSupport
import Testing

@testable import Upstreams

/// The end of a TLS connection, as its server sees it. Not on the loop, which would wait for the certificates.
@Suite(.timeLimit(.minutes(10)))
struct ServiceSocketTests {
    /// Closes a connection once its handshake is finished.
    @Loop
    private func connect(to origin: HTTPOrigin, closing saysGoodbye: Bool) async throws {
        let loop = LoopRunner.shared.loop
        let socket = try ServiceSocket(to: origin, host: 0, resuming: nil, at: loop.now, offering: .http2)
        let (handshakes, finished) = AsyncStream<Bool>.makeStream()
        try socket.watch(on: loop) { ready in
            do {
                try socket.serve(ready) { event in
                    if case .isReady = event { finished.yield(true) }
                }
            } catch {
                finished.yield(false)
            }
        }
        for await isFinished in handshakes {
            #expect(isFinished)
            break
        }
        socket.close(saysGoodbye: saysGoodbye)
    }

    @Test(arguments: [(true, SSL_ERROR_ZERO_RETURN), (false, SSL_ERROR_SSL)])
    func `a server is sent the goodbye before the connection ends, and none where it is given up`(
        saysGoodbye: Bool, end: Int32
    ) async throws {
        _ = LoopRunner.shared
        let certificates = try TestCertificates()
        let leaf = try certificates.leaf(names: ["right.example"])
        let (ends, ended) = AsyncStream<Int32>.makeStream()
        let server = try CertificateServer(
            chain: leaf.certificate, key: leaf.key,
            // What the server sends after the handshake would meet a closed connection.
            configure: { _ = SSL_CTX_set_num_tickets($0, 0) },
            serve: { connection in
                var byte: UInt8 = 0
                ended.yield(SSL_get_error(connection, SSL_read(connection, &byte, 1)))
            })
        let origin = HTTPOrigin(
            scheme: .https, address: .v4(0x7f00_0001), port: server.port, hosts: ["right.example"],
            caFile: certificates.authority)
        try await connect(to: origin, closing: saysGoodbye)
        for await seen in ends {
            #expect(seen == end)
            break
        }
        withExtendedLifetime((server, certificates)) {}
    }
}
