import COpenSSL
import DNSResolver
import DNSWire
import HTTPDNS

/// The client side of a TLS connection without its socket: the caller moves encrypted bytes between it and the network.
///
/// The certificate must be valid for the name or address given.
@safe final class TLSChannel {
    /// What ALPN may offer (RFC 7301): each name after its length.
    static let http1 = [8] + Array("http/1.1".utf8)
    /// HTTP/2 and HTTP/1.1.
    static let http2 = [2] + Array("h2".utf8) + http1

    /// The most bytes of a record (RFC 8446 section 5.1).
    static let recordSize = 16_384
    /// The most bytes that may wait to be sent: more than we ever write at once. Above that the other end does not
    /// read, while it keeps causing TLS to respond.
    private static let pendingLimit = 4 * recordSize

    /// Owned; owns `input` and `output`.
    private let connection: OpaquePointer
    /// `TLSAuthorities.reading` of its trust anchors.
    private let authorities: Int
    /// The session that may be resumed.
    private let earlier: TLSSession?
    /// The bytes received from the network, and those to be sent there.
    private let input: OpaquePointer
    private let output: OpaquePointer
    /// Whether the handshake failed for the certificate's time alone: the other end has its key.
    private(set) var isWrongInTimeAlone = false

    /// - Parameters:
    ///   - host: a name, or an address as text, for which no SNI is sent (RFC 6066 section 3).
    ///   - protocols: what is offered by ALPN; empty: nothing.
    ///   - session: of an earlier connection to the same host. Ignored if made under other trust anchors, or out of its
    ///     certificates' time: a resumption presents none.
    /// - Throws: `UpstreamFailure.network` without memory, `UpstreamFailure.unusable` for a host that is no name.
    init(
        _ authorities: TLSAuthorities, host: String, session: TLSSession?, offering protocols: [UInt8] = http2
    ) throws(UpstreamFailure) {
        defer { ERR_clear_error() }
        guard let connection = unsafe SSL_new(authorities.context) else { throw .network("no memory for TLS") }
        guard unsafe protocols.isEmpty || SSL_set_alpn_protos(connection, protocols, UInt32(protocols.count)) == 0,
            let input = unsafe BIO_new(BIO_s_mem()), let output = unsafe BIO_new(BIO_s_mem())
        else {
            unsafe SSL_free(connection)
            throw .network("no memory for TLS")
        }
        unsafe SSL_set_bio(connection, input, output)
        unsafe SSL_set_connect_state(connection)
        unsafe (self.connection, self.input, self.output, self.authorities) = unsafe (
            connection, input, output, authorities.reading
        )
        earlier = session.flatMap { $0.isValid(under: authorities) ? $0 : nil }
        guard expect(host) else { throw .unusable("\(host) is no name that a certificate can be for") }
        if let earlier { unsafe SSL_set_session(connection, earlier.pointer) }
    }

    deinit { unsafe SSL_free(connection) }

    /// Requires the certificate to be valid for this name or address (RFC 9525): one of its subject alternative names. The
    /// subject's common name is ignored, also where there are none. A wildcard stands for one whole label.
    private func expect(_ host: String) -> Bool {
        let verification = unsafe SSL_get0_param(connection)
        if IPAddress(host) != nil { return unsafe X509_VERIFY_PARAM_set1_ip_asc(verification, host) == 1 }
        unsafe X509_VERIFY_PARAM_set_hostflags(
            verification, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
        return unsafe X509_VERIFY_PARAM_set1_host(verification, host, 0) == 1
            && copenssl_set_server_name(connection, host) == 1
    }

    // MARK: The network's side

    /// Stores bytes received from the network. Returns false without memory.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // Errors that other code on this thread has left would be taken for those of the next call.
        ERR_clear_error()
        let count = Int32(clamping: bytes.count)
        return unsafe count == 0 || BIO_write(input, bytes.baseAddress, count) == count
    }

    /// Lends the bytes to be sent; `body` returns how many of them it has sent.
    func sendPending(_ body: (UnsafeRawBufferPointer) -> Int) {
        var start: UnsafeRawPointer?
        let length = unsafe copenssl_unread(output, &start)
        guard length > 0 else { return }
        var left = unsafe body(UnsafeRawBufferPointer(start: start, count: length))
        // Reading from a BIO is how bytes are removed from it. More than 1,024 would be allocated, not on the stack.
        unsafe withUnsafeTemporaryAllocation(byteCount: 1_024, alignment: 1) { scratch in
            while left > 0 {
                let count = unsafe BIO_read(output, scratch.baseAddress, Int32(min(left, scratch.count)))
                guard count > 0 else { break }
                left -= Int(count)
            }
        }
    }

    /// Bytes to be sent.
    var pendingCount: Int {
        var start: UnsafeRawPointer?
        return unsafe max(0, copenssl_unread(output, &start))
    }

    // MARK: Our side

    /// Continues the handshake as far as the received bytes allow. Returns at its end whether the server has chosen HTTP/2,
    /// and nil before. Throws `UpstreamFailure.certificate` for an invalid certificate, `.network` for anything else.
    func shakeHands() throws(UpstreamFailure) -> Bool? {
        ERR_clear_error()
        let result = unsafe SSL_do_handshake(connection)
        if result != 1, unsafe SSL_get_error(connection, result) == SSL_ERROR_WANT_READ { return nil }
        let verification = unsafe SSL_get_verify_result(connection)
        let reason = lastReason
        let isOutOfTime = [X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED].contains(
            Int32(clamping: verification))
        // A certificate that is out of its time ends no handshake: if it has not come to its end, something else did that.
        guard verification == Int(X509_V_OK) || isOutOfTime && result != 1 else {
            isWrongInTimeAlone = isOutOfTime
            throw .certificate(UpstreamFailure.certificateText(verification))
        }
        guard result == 1 else { throw .network("TLS: \(reason)") }
        guard unsafe isResumed || SSL_get0_verified_chain(connection) != nil else {
            throw .certificate("no certificate was verified")
        }
        var (chosen, length): (UnsafePointer<UInt8>?, UInt32) = (nil, 0)
        unsafe SSL_get0_alpn_selected(connection, &chosen, &length)
        return unsafe UnsafeBufferPointer(start: chosen, count: Int(length)).elementsEqual("h2".utf8)
    }

    private var lastReason: String {
        unsafe copenssl_last_reason().map { unsafe String(cString: $0) } ?? "the connection was closed"
    }

    /// Decrypts received bytes into `buffer`, at most one record per call. Returns how many; nil while no complete record has
    /// been received, and 0 when the other end has closed its side (close_notify).
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(UpstreamFailure) -> Int? {
        let count = unsafe SSL_read(connection, buffer.baseAddress, Int32(clamping: buffer.count))
        if count > 0 { return Int(count) }
        switch unsafe SSL_get_error(connection, count) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE:
            guard pendingCount <= Self.pendingLimit else { throw .network("the server takes nothing any more") }
            return nil
        case SSL_ERROR_ZERO_RETURN: return 0
        default: throw .network("TLS: \(lastReason)")
        }
    }

    /// Encrypts `bytes` for the network; only after the handshake.
    func write(_ bytes: [UInt8]) throws(UpstreamFailure) {
        guard !bytes.isEmpty else { return }
        ERR_clear_error()
        guard unsafe SSL_write(connection, bytes, Int32(clamping: bytes.count)) == Int32(clamping: bytes.count) else {
            throw .network("TLS: \(lastReason)")
        }
    }

    /// Sends close_notify (RFC 8446 section 6.1).
    func close() {
        unsafe SSL_shutdown(connection)
        ERR_clear_error()
    }

    // MARK: What the handshake showed

    /// `sha256//` and base64 of the certificate's public key (RFC 7469 section 2.4); nil if none was presented.
    var pin: String? {
        defer { ERR_clear_error() }
        guard let certificate = unsafe SSL_get0_peer_certificate(connection),
            let key = unsafe X509_get_X509_PUBKEY(certificate)
        else { return nil }
        let length = unsafe i2d_X509_PUBKEY(key, nil)
        guard length > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(length))
        let written = unsafe bytes.withUnsafeMutableBufferPointer { buffer -> Int32 in
            var end = buffer.baseAddress
            return unsafe i2d_X509_PUBKEY(key, &end)
        }
        guard written == length, let digest = OpenSSLCrypto().sha256(bytes) else { return nil }
        return "sha256//" + TextEncoding.base64(digest)
    }

    /// What is recorded of the presented certificate, valid or not, and of why it is refused; nil: there was none.
    func evidence(_ reason: String) -> CertificateEvidence? {
        guard let chain = unsafe SSL_get_peer_cert_chain(connection), let first = unsafe OPENSSL_sk_value(chain, 0)
        else { return nil }
        return unsafe CertificateEvidence(reason, of: OpaquePointer(first))
    }

    /// Whether the handshake resumed an earlier connection's session, and so presented no certificate.
    var isResumed: Bool { unsafe SSL_session_reused(connection) == 1 }

    /// The session to resume in the next handshake, of a certificate that was last verified then; nil if the server gave
    /// none.
    func resumable(verified: Instant) -> TLSSession? {
        let chain = unsafe isResumed ? earlier?.chain : SSL_get0_verified_chain(connection)
        guard let chain = unsafe chain, let copy = unsafe X509_chain_up_ref(chain) else { return nil }
        guard let pointer = unsafe SSL_get1_session(connection) else {
            unsafe copenssl_free_chain(copy)
            return nil
        }
        let session = unsafe TLSSession(owning: pointer, copy, under: authorities, verified: verified)
        return unsafe SSL_SESSION_is_resumable(pointer) == 1 ? session : nil
    }
}

extension UpstreamFailure {
    /// OpenSSL's verification result (`X509_V_ERR_…`) as text: OpenSSL's own for rare ones.
    static func certificateText(_ verification: Int) -> String {
        switch verification {
        case 62, 64: "the certificate is for another name"
        case 9: "the certificate is not valid yet"
        case 10: "the certificate has expired"
        case 18, 19: "the certificate is self-signed"
        case 2, 20, 21: "the certificate's issuer is not known"
        default: unsafe "the certificate is refused (\(String(cString: X509_verify_cert_error_string(verification))))"
        }
    }
}

/// A session of a finished handshake, to resume in the next one, which saves a round trip (RFC 8446 section 2.2).
///
/// On resumption the server presents no certificate: a session is not used for longer than a connection may live, nor
/// when the file of trust anchors has changed, nor after the end of any certificate of its chain.
@safe final class TLSSession {
    /// Owned.
    let pointer: OpaquePointer
    /// The certificates from the server's to the trust anchor, as they were verified last. Owned.
    fileprivate let chain: OpaquePointer
    /// `TLSAuthorities.reading` of the trust anchors under which its certificate was valid.
    let authorities: Int
    /// When a certificate was last verified.
    var verified: Instant

    /// Takes ownership of `pointer` and `chain`.
    init(owning pointer: OpaquePointer, _ chain: OpaquePointer, under authorities: Int, verified: Instant) {
        unsafe (self.pointer, self.chain) = unsafe (pointer, chain)
        self.authorities = authorities
        self.verified = verified
    }

    deinit {
        unsafe SSL_SESSION_free(pointer)
        unsafe copenssl_free_chain(chain)
    }

    /// Whether the verification of its certificates holds still: under the same trust anchors, and by the time of day.
    fileprivate func isValid(under authorities: TLSAuthorities) -> Bool {
        unsafe self.authorities == authorities.reading && copenssl_is_in_time(chain, authorities.store) == 1
    }

    func isUsable(at now: Instant) -> Bool { now - verified < .seconds(HTTPLimits.connectionLifetime) }
}
