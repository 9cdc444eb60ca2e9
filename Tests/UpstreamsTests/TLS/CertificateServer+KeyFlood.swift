import COpenSSL
import TestServers

extension CertificateServer {
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
