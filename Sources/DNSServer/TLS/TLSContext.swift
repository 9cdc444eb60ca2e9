import COpenSSL
import CSystem.Linux
public import DNSWire
import Platform

/// What all connections share that begin while a certificate is in use: the certificate, its key, the keys of session
/// tickets.
@safe public final class TLSContext: Sendable {
    /// Owned. OpenSSL counts its references, and it is not changed once it is made.
    nonisolated(unsafe) let context: OpaquePointer
    /// The validity of the certificate, in seconds since 1970.
    public let validity: ClosedRange<Int64>
    /// Whether clients are asked for a certificate.
    let asksClients: Bool
    /// The most bytes of a client until its handshake is done.
    var mostOfHandshake: Int { asksClients ? HandshakeInput.mostWithCertificate : HandshakeInput.most }

    /// Has OpenSSL take a handshake's memory from where only its touched pages cost anything (clinux_handshakes.h).
    ///
    /// Once, before anything else uses OpenSSL; later, or without addresses, nothing changes.
    public static func prepareMemory() {
        guard clinux_handshakes_prepare(DescriptorBudget.encryptedConnections) else { return }
        _ = unsafe CRYPTO_set_mem_functions(
            clinux_handshakes_malloc, clinux_handshakes_realloc, clinux_handshakes_free)
    }

    /// - Throws: which file is not what it should be, and why.
    public init(_ content: TLSFiles.Content) throws(TLSFiles.Problem) {
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
    public func isFor(name: String) -> Bool {
        defer { ERR_clear_error() }
        return unsafe X509_check_host(SSL_CTX_get0_certificate(context), name, name.utf8.count, 0, nil) == 1
    }

    /// Whether the certificate is for an IP address, as text.
    public func isFor(address: String) -> Bool {
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

/// The files that a server's side of TLS is made of, by their paths.
public struct TLSFiles: Equatable, Sendable {
    /// PEM: the server's certificate, then those that lead to its authority.
    public var certificate: String
    /// PEM: its private key.
    public var key: String
    /// PEM: authorities of clients' certificates; empty: clients present none.
    public var clientAuthorities: String

    public init(certificate: String, key: String, clientAuthorities: String = "") {
        (self.certificate, self.key, self.clientAuthorities) = (certificate, key, clientAuthorities)
    }

    /// Those that there are.
    public var paths: [String] { [certificate, key, clientAuthorities].filter { !$0.isEmpty } }

    /// Why they cannot be used: the path of a file, and what is wrong with it.
    public struct Problem: Error, Equatable, CustomStringConvertible {
        public let file: String
        public let reason: String

        public var description: String { "\(file): \(reason)" }
    }

    /// The bytes of the files.
    public struct Content: Sendable {
        public let files: TLSFiles
        let certificate: [UInt8]
        let key: [UInt8]
        let clientAuthorities: [UInt8]
    }

    /// Reads all of them. May block.
    public func read() throws(Problem) -> Content {
        Content(
            files: self, certificate: try Self.read(certificate), key: try Self.read(key),
            clientAuthorities: try Self.read(clientAuthorities))
    }

    private static func read(_ path: String) throws(Problem) -> [UInt8] {
        guard !path.isEmpty else { return [] }
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try readFile(path, limit: longestCertificateFile + 1)
        } catch {
            throw Problem(file: path, reason: "cannot be read: \(error.reason)")
        }
        guard !bytes.isEmpty else { throw Problem(file: path, reason: "is empty") }
        guard bytes.count <= longestCertificateFile else { throw Problem(file: path, reason: "is larger than 1 MiB") }
        return bytes
    }
}

/// What encrypted listeners need besides their sockets, and what they count.
@Loop
public final class TLSTerms: Sendable {
    /// Of new connections; nil: there is no certificate, and they are closed.
    public var context: TLSContext?
    /// The networks from which each connection begins with a header of the PROXY protocol.
    public var proxies = AccessList([])
    /// Handshakes since the start: finished with the certificate, or by going on from an earlier connection; given up by either
    /// side, or too slow.
    public internal(set) var counts = (full: 0, resumed: 0, failed: 0)

    nonisolated init() {}
}
