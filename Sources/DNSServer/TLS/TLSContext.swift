import COpenSSL

/// What all connections share that begin while a certificate is in use: the certificate, its key, the keys of session
/// tickets.
@safe package final class TLSContext: Sendable {
    /// Owned. OpenSSL counts its references, and it is not changed once it is made.
    nonisolated(unsafe) let context: OpaquePointer
    /// The validity of the certificate, in seconds since 1970.
    package let validity: ClosedRange<Int64>
    /// Whether clients are asked for a certificate.
    let asksClients: Bool
    /// The most bytes of a client until its handshake is done.
    var mostOfHandshake: Int { asksClients ? HandshakeInput.mostWithCertificate : HandshakeInput.most }

    /// - Throws: which file is not what it should be, and why.
    package init(_ content: TLSFiles.Content) throws(TLSFiles.Problem) {
        defer { ERR_clear_error() }
        let files = content.files
        guard let context = unsafe SSL_CTX_new(TLS_server_method()) else {
            throw TLSFiles.Problem(file: files.certificate, reason: "there is no memory for TLS")
        }
        do throws(TLSFiles.Problem) {
            validity = unsafe try Self.use(content, in: context)
            asksClients = !content.clientAuthorities.isEmpty
            if asksClients { unsafe try Self.askClients(content, in: context) }
            guard unsafe copenssl_serve(context) == 1 else {
                throw TLSFiles.Problem(file: files.certificate, reason: "OpenSSL cannot serve TLS 1.2 and 1.3")
            }
        } catch {
            unsafe SSL_CTX_free(context)
            throw error
        }
        unsafe self.context = unsafe context
    }

    deinit { unsafe SSL_CTX_free(context) }

    /// What marks a connection over which HTTP is served; never read.
    var applicationData: UnsafeMutableRawPointer { unsafe UnsafeMutableRawPointer(context) }

    /// Whether the certificate is for a host name (RFC 9525).
    package func isFor(name: String) -> Bool {
        defer { ERR_clear_error() }
        return unsafe X509_check_host(SSL_CTX_get0_certificate(context), name, name.utf8.count, 0, nil) == 1
    }

    /// Whether the certificate is for an IP address.
    ///
    /// - Parameter address: as text.
    package func isFor(address: String) -> Bool {
        defer { ERR_clear_error() }
        return unsafe X509_check_ip_asc(SSL_CTX_get0_certificate(context), address, 0) == 1
    }

    // MARK: Files

    /// Calls `body` with the bytes of a file as OpenSSL reads them.
    private static func read<Result>(_ bytes: [UInt8], _ body: (OpaquePointer?) -> Result) -> Result {
        unsafe bytes.withUnsafeBytes { bytes in
            let file = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count))
            defer { unsafe BIO_free(file) }
            return unsafe body(file)
        }
    }

    /// All certificates of a PEM file, owned by the caller.
    private static func certificates(_ bytes: [UInt8]) -> [OpaquePointer] {
        unsafe read(bytes) { file in
            var found: [OpaquePointer] = unsafe []
            while let next = unsafe copenssl_next_certificate(file) { unsafe found.append(next) }
            ERR_clear_error()
            return unsafe found
        }
    }

    /// Returns the validity of the certificate.
    private static func use(
        _ content: TLSFiles.Content, in context: OpaquePointer
    ) throws(TLSFiles.Problem) -> ClosedRange<Int64> {
        let (certificateFile, keyFile) = (content.files.certificate, content.files.key)
        let chain = unsafe certificates(content.certificate)
        defer { unsafe chain.forEach { unsafe X509_free($0) } }
        guard let own = unsafe chain.first else {
            throw TLSFiles.Problem(file: certificateFile, reason: "holds no certificate in PEM")
        }
        guard let key = unsafe read(content.key, { unsafe copenssl_private_key($0) }) else {
            let isEncrypted = String(decoding: content.key, as: UTF8.self).contains("ENCRYPTED")
            throw TLSFiles.Problem(
                file: keyFile, reason: isEncrypted ? "has a password: store it without" : "holds no private key in PEM")
        }
        defer { unsafe EVP_PKEY_free(key) }
        guard unsafe X509_check_private_key(own, key) == 1 else {
            throw TLSFiles.Problem(file: keyFile, reason: "is not the key of the certificate in \(certificateFile)")
        }
        guard unsafe SSL_CTX_use_certificate(context, own) == 1, unsafe SSL_CTX_use_PrivateKey(context, key) == 1 else {
            let reason = unsafe copenssl_last_reason().map { unsafe String(cString: $0) } ?? "not taken"
            throw TLSFiles.Problem(file: certificateFile, reason: "cannot be used: \(reason)")
        }
        unsafe chain.dropFirst().forEach { _ = unsafe copenssl_add_chain(context, $0) }
        var (from, to): (CLongLong, CLongLong) = (0, 0)
        guard unsafe copenssl_seconds(X509_get0_notBefore(own), &from) == 1,
            unsafe copenssl_seconds(X509_get0_notAfter(own), &to) == 1, from <= to
        else { throw TLSFiles.Problem(file: certificateFile, reason: "has no period of validity") }
        return Int64(from)...Int64(to)
    }

    /// Asks clients for a certificate of these authorities; they need not have one.
    private static func askClients(
        _ content: TLSFiles.Content, in context: OpaquePointer
    ) throws(TLSFiles.Problem) {
        let authorities = unsafe certificates(content.clientAuthorities)
        defer { unsafe authorities.forEach { unsafe X509_free($0) } }
        guard unsafe !authorities.isEmpty, let store = unsafe SSL_CTX_get_cert_store(context) else {
            throw TLSFiles.Problem(file: content.files.clientAuthorities, reason: "holds no certificate in PEM")
        }
        unsafe authorities.forEach { authority in
            unsafe X509_STORE_add_cert(store, authority)
            unsafe SSL_CTX_add_client_CA(context, authority)
        }
        unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_CERT_LIST, HandshakeInput.mostWithCertificate, nil)
    }
}
