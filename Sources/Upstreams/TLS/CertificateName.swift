import COpenSSL
import DNSWire

/// The name or address that a server's certificate must be for (RFC 9525).
///
/// It must equal one of the certificate's subject alternative names. The subject's common name is ignored, also when
/// there are no alternative names: libcurl by default would accept it.
enum CertificateName {
    /// Makes a verification require `host`.
    ///
    /// - Parameters:
    ///   - host: a name, or an address as text. A wildcard in the certificate stands for one whole label.
    ///   - verification: an `X509_VERIFY_PARAM` of a context, or of a connection before its handshake.
    /// - Returns: false for a host that no certificate can be for.
    static func require(_ host: String, in verification: OpaquePointer?) -> Bool {
        if IPAddress(host) != nil { return unsafe X509_VERIFY_PARAM_set1_ip_asc(verification, host) == 1 }
        unsafe X509_VERIFY_PARAM_set_hostflags(
            verification, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
        return unsafe X509_VERIFY_PARAM_set1_host(verification, host, 0) == 1
    }
}
