import COpenSSL
import Foundation
import Glibc
import TestServers
import TestSupport

/// A TLS server on 127.0.0.1 that presents any certificate, also a weak one: OpenSSL on a thread of this process, one
/// connection after the other.
final class CertificateServer: Sendable {
    let port: UInt16
    private let listener: TestSocket

    /// - Parameters:
    ///   - chain: a PEM file with its certificate, and those of the authorities that it presents.
    ///   - key: a PEM file.
    ///   - configure: called with the context before the first connection.
    ///   - serve: called with each connection after its handshake; it is then closed.
    /// - Throws: `MadeCertificate.NotPresentable` for a certificate or a key that OpenSSL does not load.
    init(
        chain: String, key: String, configure: (OpaquePointer) -> Void = { _ in },
        serve: @escaping @Sendable (OpaquePointer) -> Void = { _ in }
    ) throws {
        let context = try Self.context(chain, key)
        configure(context)
        // The kernel chooses the port: one that was looked for before could be taken meanwhile.
        let listener = try TestSocket.listener(TestAddress("127.0.0.1"))
        (self.listener, port) = (listener, listener.localAddress.port)
        // A client may close its connection while the server writes.
        signal(SIGPIPE, SIG_IGN)
        nonisolated(unsafe) let shared = context
        Thread.detachNewThread { [listener] in
            while let (client, _) = listener.accept() { Self.shakeHands(client.descriptor, shared, serve) }
            SSL_CTX_free(shared)
        }
    }

    deinit { listener.shutdown() }

    private static func context(_ chain: String, _ key: String) throws -> OpaquePointer {
        defer { ERR_clear_error() }
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw TestFailure("no memory") }
        SSL_CTX_set_security_level(context, 0)
        guard SSL_CTX_set_cipher_list(context, "DEFAULT@SECLEVEL=0") == 1,
            SSL_CTX_use_certificate_chain_file(context, chain) == 1,
            SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1
        else {
            SSL_CTX_free(context)
            throw MadeCertificate.NotPresentable(reason: "OpenSSL does not load \(chain) or \(key)")
        }
        return context
    }

    private static func shakeHands(
        _ client: Int32, _ context: OpaquePointer, _ serve: (OpaquePointer) -> Void
    ) {
        defer { ERR_clear_error() }
        guard let connection = SSL_new(context) else { return }
        defer { SSL_free(connection) }
        SSL_set_fd(connection, client)
        if SSL_accept(connection) == 1 { serve(connection) }
    }
}
