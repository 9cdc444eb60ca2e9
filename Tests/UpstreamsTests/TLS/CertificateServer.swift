import COpenSSL
import Foundation
import Glibc
import TestSupport

/// A TLS server on 127.0.0.1 that presents any certificate, also a weak one: OpenSSL on a thread of this process, one
/// connection after the other.
final class CertificateServer: Sendable {
    let port: UInt16
    private let listener: Int32

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
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        // The kernel chooses the port: one that was looked for before could be taken meanwhile.
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        (self.listener, port) = (listener, UInt16(bigEndian: place.sin_port))
        guard isBound, listen(listener, 8) == 0 else { throw TestFailure("no listener") }
        // A client may close its connection while the server writes.
        signal(SIGPIPE, SIG_IGN)
        nonisolated(unsafe) let shared = context
        Thread.detachNewThread { [listener] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                Self.shakeHands(client, shared, serve)
                close(client)
            }
            // Not closed before: its number could be that of another socket by then.
            close(listener)
            SSL_CTX_free(shared)
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

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
