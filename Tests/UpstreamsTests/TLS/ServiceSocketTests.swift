import COpenSSL
import DNSWire
import Foundation
import Platform
import TestServers
import TestSupport
import Testing

@testable import Upstreams

/// The end of a TLS connection, as its server sees it. Not on the loop, which would wait for the certificates.
@Suite(.timeLimit(.minutes(10)))
struct ServiceSocketTests {
    /// Closes a connection once its handshake has ended. Returns whether it is finished.
    @Loop private func connect(to origin: HTTPOrigin, closing saysGoodbye: Bool = true) async throws -> Bool {
        let loop = LoopRunner.shared.loop
        let socket = try ServiceSocket(to: origin, host: 0, resuming: nil, at: loop.now, offering: TLSChannel.http2)
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
        defer { socket.close(saysGoodbye: saysGoodbye) }
        for await isFinished in handshakes { return isFinished }
        return false
    }

    private func origin(_ server: CertificateServer, _ certificates: TestCertificates) -> HTTPOrigin {
        HTTPOrigin(
            scheme: .https, address: .v4(0x7f00_0001), port: server.port, hosts: ["right.example"],
            caFile: certificates.authority)
    }

    @Test(arguments: [(20_000, true), (40_000, false)])
    func `a chain of certificates may be as long as any real one, not longer`(bytes: Int, isTaken: Bool) async throws {
        _ = LoopRunner.shared
        let certificates = try TestCertificates()
        let leaf = try certificates.leaf(names: ["right.example"])
        let authority = try String(contentsOfFile: certificates.authority, encoding: .utf8)
        // Four characters of PEM for three bytes.
        let more = Array(repeating: authority, count: bytes * 4 / 3 / authority.utf8.count)
        let directory = try TemporaryDirectory()
        let chain = try directory.write(
            ([try String(contentsOfFile: leaf.certificate, encoding: .utf8)] + more).joined(), to: "chain.pem")
        let server = try CertificateServer(chain: chain, key: leaf.key)
        #expect(try await connect(to: origin(server, certificates)) == isTaken)
        withExtendedLifetime((server, certificates, directory)) {}
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
        #expect(try await connect(to: origin(server, certificates), closing: saysGoodbye))
        for await seen in ends {
            #expect(seen == end)
            break
        }
        withExtendedLifetime((server, certificates)) {}
    }
}
