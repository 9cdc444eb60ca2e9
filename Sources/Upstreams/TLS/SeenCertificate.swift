import CCurl
import COpenSSL
import DNSResolver
import HTTPDNS

/// The certificate that a server presented in one of libcurl's handshakes, valid or not, and the name it must be for.
///
/// libcurl reports nothing about it when the handshake fails, so OpenSSL's own verification callback records it. That
/// callback continues past a certificate that is expired or not yet valid, so that other faults are found as well;
/// OpenSSL stores the result, by which libcurl rejects the certificate at the end of the handshake.
@safe final class SeenCertificate {
    /// Bytes of a name that are logged: the other end chose it.
    private static let longestName = 256
    fileprivate let host: String
    /// Owned; nil until one was presented.
    private var certificate: OpaquePointer?

    /// Whether the handshake has begun, so that there is a TCP connection.
    fileprivate(set) var hasBegun = false
    /// Whether a certificate of the chain has expired or is not yet valid.
    fileprivate(set) var isOutOfDate = false

    /// - Parameter host: a name, or an address as text.
    init(for host: String) { self.host = host }

    deinit { unsafe X509_free(certificate) }

    /// Whether the server presented one.
    var isPresented: Bool { unsafe certificate != nil }

    /// Records the server's certificate from a verification in progress.
    func note(_ verification: OpaquePointer) {
        guard unsafe certificate == nil, let seen = unsafe X509_STORE_CTX_get0_cert(verification),
            unsafe X509_up_ref(seen) == 1
        else {
            return
        }
        unsafe certificate = unsafe seen
    }

    /// Whether a verification result says that only the validity period does not match.
    static func isOutOfDate(_ verification: Int?) -> Bool {
        verification == Int(X509_V_ERR_CERT_NOT_YET_VALID) || verification == Int(X509_V_ERR_CERT_HAS_EXPIRED)
    }

    /// The certificate's details for a log. Called after the handshake, outside of OpenSSL's callbacks.
    func evidence(_ reason: String) -> CertificateEvidence {
        guard let certificate = unsafe certificate else { return CertificateEvidence(reason: reason) }
        // Otherwise the next TLS call on this thread would find an error of another call.
        defer { ERR_clear_error() }
        return unsafe CertificateEvidence(
            reason: reason, subject: Self.text(X509_get_subject_name(certificate)),
            issuer: Self.text(X509_get_issuer_name(certificate)), fingerprint: Self.fingerprint(certificate))
    }

    private static func text(_ name: OpaquePointer?) -> String {
        guard let name = unsafe name, let memory = unsafe BIO_new(BIO_s_mem()) else { return "" }
        defer { unsafe BIO_free(memory) }
        guard unsafe X509_NAME_print_ex(memory, name, 0, copenssl_name_form) >= 0 else { return "" }
        var bytes = [UInt8](repeating: 0, count: longestName + 1)
        let count = unsafe BIO_read(memory, &bytes, Int32(bytes.count))
        guard count > 0 else { return "" }
        let text = String(
            decoding: bytes.prefix(min(Int(count), longestName)).map { (0x20...0x7e).contains($0) ? $0 : 0x3f },
            as: UTF8.self)
        return count > longestName ? text + "..." : text
    }

    private static func fingerprint(_ certificate: OpaquePointer) -> String {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard unsafe X509_digest(certificate, EVP_sha256(), &digest, &length) == 1 else { return "" }
        return TextEncoding.hexadecimal(digest.prefix(Int(length)))
    }
}

/// Called by libcurl when it has made OpenSSL's context for a handshake: sets the required name and the verification
/// callback.
func curlWatchVerification(
    _ easy: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?, _ userData: UnsafeMutableRawPointer?
) -> CURLcode {
    guard let context = unsafe context, let userData = unsafe userData else { return CURLE_ABORTED_BY_CALLBACK }
    let tls = OpaquePointer(context)
    let seen = unsafe Unmanaged<SeenCertificate>.fromOpaque(userData).takeUnretainedValue()
    seen.hasBegun = true
    guard unsafe CertificateName.require(seen.host, in: SSL_CTX_get0_param(tls)), unsafe copenssl_distrust(tls) == 1,
        unsafe SSL_CTX_set_ex_data(tls, copenssl_application_data, userData) == 1
    else { return CURLE_OUT_OF_MEMORY }
    unsafe SSL_CTX_set_verify(tls, SSL_CTX_get_verify_mode(tls), noteVerification)
    return CURLE_OK
}

/// Called by OpenSSL for each certificate of the chain. Returns `isGood` unchanged, but 1 when only the validity period
/// does not match.
private func noteVerification(_ isGood: Int32, _ verification: OpaquePointer?) -> Int32 {
    guard let verification = unsafe verification,
        let connection = unsafe X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx()),
        let context = unsafe SSL_get_SSL_CTX(OpaquePointer(connection)),
        let userData = unsafe SSL_CTX_get_ex_data(context, copenssl_application_data)
    else { return isGood }
    let seen = unsafe Unmanaged<SeenCertificate>.fromOpaque(userData).takeUnretainedValue()
    unsafe seen.note(verification)
    guard isGood == 0, unsafe SeenCertificate.isOutOfDate(Int(X509_STORE_CTX_get_error(verification))) else {
        return isGood
    }
    seen.isOutOfDate = true
    return 1
}
