import COpenSSL
import Foundation
import Glibc
import TestSupport

/// A TLS 1.3 server on 127.0.0.1 that chooses HTTP/2 and then updates its keys as often as it can (RFC 8446 section
/// 4.6.3), and sends nothing else.
final class KeyFloodServer: Sendable {
    let port: UInt16
    private let listener: Int32

    init(_ leaf: TestCertificates.Leaf) throws {
        let address = try TestAddress("127.0.0.1", port: FreePort.next())
        port = address.port
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = port.bigEndian
        place.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        let isBound = withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isBound, listen(listener, 8) == 0 else { throw TestFailure("no listener") }
        Thread.detachNewThread { [listener] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                Self.serve(client, leaf)
                close(client)
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func serve(_ client: Int32, _ leaf: TestCertificates.Leaf) {
        guard let context = SSL_CTX_new(TLS_server_method()) else { return }
        defer { SSL_CTX_free(context) }
        SSL_CTX_use_certificate_file(context, leaf.certificate, SSL_FILETYPE_PEM)
        SSL_CTX_use_PrivateKey_file(context, leaf.key, SSL_FILETYPE_PEM)
        SSL_CTX_set_alpn_select_cb(
            context,
            { _, chosen, length, offered, _, _ in
                // The client offers h2 first.
                guard let offered else { return SSL_TLSEXT_ERR_NOACK }
                chosen?.pointee = offered + 1
                length?.pointee = offered[0]
                return SSL_TLSEXT_ERR_OK
            }, nil)
        guard let connection = SSL_new(context) else { return }
        defer { SSL_free(connection) }
        SSL_set_fd(connection, client)
        guard SSL_accept(connection) == 1 else { return }
        while SSL_key_update(connection, SSL_KEY_UPDATE_NOT_REQUESTED) == 1, SSL_do_handshake(connection) == 1 {}
        ERR_clear_error()
    }
}
