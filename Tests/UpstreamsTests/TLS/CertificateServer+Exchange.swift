import COpenSSL
import TestServers
import TestSupport

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
}
