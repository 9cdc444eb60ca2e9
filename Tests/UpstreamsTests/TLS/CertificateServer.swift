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
    /// - Throws: `MadeCertificate.NotJudged` for a certificate or a key that OpenSSL does not load.
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
            throw MadeCertificate.NotJudged(reason: "OpenSSL does not load \(chain) or \(key)")
        }
        return context
    }

    private static func shakeHands(_ client: Int32, _ context: OpaquePointer, _ serve: (OpaquePointer) -> Void) {
        defer { ERR_clear_error() }
        guard let connection = SSL_new(context) else { return }
        defer { SSL_free(connection) }
        SSL_set_fd(connection, client)
        if SSL_accept(connection) == 1 { serve(connection) }
    }
}

extension CertificateServer {
    /// A server that knows one exchange of keys alone: a group of TLS 1.3, or a cipher of TLS 1.2.
    static func exchanging(_ exchange: String, _ leaf: TestCertificates.Leaf) throws -> CertificateServer {
        var isSet = false
        let server = try CertificateServer(
            chain: leaf.certificate, key: leaf.key,
            configure: { context in
                if exchange.hasPrefix("ffdhe") {
                    isSet =
                        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_3_VERSION), nil) == 1
                        && exchange.withCString {
                            SSL_CTX_ctrl(context, SSL_CTRL_SET_GROUPS_LIST, 0, UnsafeMutableRawPointer(mutating: $0))
                        } == 1
                } else {
                    isSet =
                        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(TLS1_2_VERSION), nil) == 1
                        && SSL_CTX_ctrl(context, SSL_CTRL_SET_DH_AUTO, 1, nil) == 1
                        && SSL_CTX_set_cipher_list(context, exchange) == 1
                }
            })
        guard isSet else { throw TestFailure("OpenSSL does not know \(exchange)") }
        return server
    }

    /// A server that chooses HTTP/2 and then updates its keys as often as it can (RFC 8446 section 4.6.3), and sends
    /// nothing else.
    static func keyFlood(_ leaf: TestCertificates.Leaf) throws -> CertificateServer {
        try CertificateServer(
            chain: leaf.certificate, key: leaf.key,
            configure: { context in
                SSL_CTX_set_alpn_select_cb(
                    context,
                    { _, chosen, length, offered, _, _ in
                        // The client offers h2 first.
                        guard let offered else { return SSL_TLSEXT_ERR_NOACK }
                        chosen?.pointee = offered + 1
                        length?.pointee = offered[0]
                        return SSL_TLSEXT_ERR_OK
                    }, nil)
            },
            serve: { connection in
                while SSL_key_update(connection, SSL_KEY_UPDATE_NOT_REQUESTED) == 1,
                    SSL_do_handshake(connection) == 1
                {}
            })
    }
}
