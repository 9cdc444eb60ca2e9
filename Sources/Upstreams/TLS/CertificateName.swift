import COpenSSL
import DNSWire

/// The name or address that a server's certificate must be for (RFC 9525).
///
/// One of the certificate's alternative names must be it. The common name of its subject counts for nothing, also where
/// there are no alternative names: libcurl, left to itself, would take that.
enum CertificateName {
    /// Has a verification require it.
    ///
    /// - Parameters:
    ///   - host: a name, or an address as text. A wildcard in the certificate stands for one whole label.
    ///   - verification: an `X509_VERIFY_PARAM`, of a connection that is not begun or of a context.
    /// - Returns: false for what no certificate can be for.
    static func require(_ host: String, in verification: OpaquePointer?) -> Bool {
        if IPAddress(host) != nil { return X509_VERIFY_PARAM_set1_ip_asc(verification, host) == 1 }
        X509_VERIFY_PARAM_set_hostflags(
            verification, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
        return X509_VERIFY_PARAM_set1_host(verification, host, 0) == 1
    }
}
