import COpenSSL

/// What all connections share that begin while a certificate is in use: the certificate, its key, the keys of session
/// tickets.
package final class TLSContext: Sendable {
    /// Owned. OpenSSL counts its references, and it is not changed once it is made.
    nonisolated(unsafe) let context: OpaquePointer
    /// Owned; what is stapled to handshakes.
    private nonisolated(unsafe) let response: UnsafeMutablePointer<ASN1_OCTET_STRING>?
    /// The validity of the certificate, in seconds since 1970.
    package let validity: ClosedRange<Int64>
    /// Whether clients are asked for a certificate.
    let asksClients: Bool

    /// - Throws: which file is not what it should be, and why.
    package init(_ content: TLSFiles.Content) throws(TLSFiles.Problem) {
        defer { ERR_clear_error() }
        let files = content.files
        guard let context = SSL_CTX_new(TLS_server_method()) else {
            throw TLSFiles.Problem(file: files.certificate, reason: "there is no memory for TLS")
        }
        let response = content.ocsp.isEmpty ? nil : ASN1_OCTET_STRING_new()
        do throws(TLSFiles.Problem) {
            validity = try Self.use(content, in: context)
            asksClients = !content.clientAuthorities.isEmpty
            if asksClients { try Self.askClients(content, in: context) }
            if let response { try Self.store(content, in: response) }
            guard copenssl_serve(context, response) == 1 else {
                throw TLSFiles.Problem(file: files.certificate, reason: "OpenSSL cannot serve TLS 1.2 and 1.3")
            }
        } catch {
            SSL_CTX_free(context)
            ASN1_OCTET_STRING_free(response)
            throw error
        }
        self.context = context
        self.response = response
    }

    deinit {
        SSL_CTX_free(context)
        ASN1_OCTET_STRING_free(response)
    }

    /// What marks a connection over which HTTP is served; never read.
    var applicationData: UnsafeMutableRawPointer { UnsafeMutableRawPointer(context) }

    /// Whether the certificate is for a host name (RFC 9525).
    package func isFor(name: String) -> Bool {
        defer { ERR_clear_error() }
        return X509_check_host(SSL_CTX_get0_certificate(context), name, name.utf8.count, 0, nil) == 1
    }

    /// Whether the certificate is for an IP address.
    ///
    /// - Parameter address: as text.
    package func isFor(address: String) -> Bool {
        defer { ERR_clear_error() }
        return X509_check_ip_asc(SSL_CTX_get0_certificate(context), address, 0) == 1
    }

    // MARK: Files

    /// Calls `body` with the bytes of a file as OpenSSL reads them.
    private static func read<Result>(_ bytes: [UInt8], _ body: (OpaquePointer?) -> Result) -> Result {
        bytes.withUnsafeBytes { bytes in
            let file = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count))
            defer { BIO_free(file) }
            return body(file)
        }
    }

    /// All certificates of a PEM file, owned by the caller.
    private static func certificates(_ bytes: [UInt8]) -> [OpaquePointer] {
        read(bytes) { file in
            var found: [OpaquePointer] = []
            while let next = copenssl_next_certificate(file) { found.append(next) }
            ERR_clear_error()
            return found
        }
    }

    /// Returns the validity of the certificate.
    private static func use(
        _ content: TLSFiles.Content, in context: OpaquePointer
    ) throws(TLSFiles.Problem) -> ClosedRange<Int64> {
        let (certificateFile, keyFile) = (content.files.certificate, content.files.key)
        let chain = certificates(content.certificate)
        defer { for certificate in chain { X509_free(certificate) } }
        guard let own = chain.first else {
            throw TLSFiles.Problem(file: certificateFile, reason: "holds no certificate in PEM")
        }
        guard let key = read(content.key, { copenssl_private_key($0) }) else {
            let isEncrypted = String(decoding: content.key, as: UTF8.self).contains("ENCRYPTED")
            throw TLSFiles.Problem(
                file: keyFile, reason: isEncrypted ? "has a password: store it without" : "holds no private key in PEM")
        }
        defer { EVP_PKEY_free(key) }
        guard X509_check_private_key(own, key) == 1 else {
            throw TLSFiles.Problem(file: keyFile, reason: "is not the key of the certificate in \(certificateFile)")
        }
        guard SSL_CTX_use_certificate(context, own) == 1, SSL_CTX_use_PrivateKey(context, key) == 1 else {
            let reason = copenssl_last_reason().map { String(cString: $0) } ?? "not taken"
            throw TLSFiles.Problem(file: certificateFile, reason: "cannot be used: \(reason)")
        }
        for certificate in chain.dropFirst() { _ = copenssl_add_chain(context, certificate) }
        var (from, to): (CLongLong, CLongLong) = (0, 0)
        guard copenssl_seconds(X509_get0_notBefore(own), &from) == 1,
            copenssl_seconds(X509_get0_notAfter(own), &to) == 1, from <= to
        else { throw TLSFiles.Problem(file: certificateFile, reason: "has no period of validity") }
        return Int64(from)...Int64(to)
    }

    /// Asks clients for a certificate of these authorities; they need not have one.
    private static func askClients(
        _ content: TLSFiles.Content, in context: OpaquePointer
    ) throws(TLSFiles.Problem) {
        let authorities = certificates(content.clientAuthorities)
        defer { for authority in authorities { X509_free(authority) } }
        guard !authorities.isEmpty, let store = SSL_CTX_get_cert_store(context) else {
            throw TLSFiles.Problem(file: content.files.clientAuthorities, reason: "holds no certificate in PEM")
        }
        for authority in authorities {
            X509_STORE_add_cert(store, authority)
            SSL_CTX_add_client_CA(context, authority)
        }
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    }

    private static func store(
        _ content: TLSFiles.Content, in response: UnsafeMutablePointer<ASN1_OCTET_STRING>
    ) throws(TLSFiles.Problem) {
        // A sequence in DER: what a file in PEM or an error page is not.
        guard content.ocsp.first == 0x30,
            ASN1_OCTET_STRING_set(response, content.ocsp, Int32(clamping: content.ocsp.count)) == 1
        else { throw TLSFiles.Problem(file: content.files.ocsp, reason: "is no response of OCSP in DER") }
    }
}
