// A script of steps between the channel and a real server: the server's bytes are cut, changed, added to and delivered
// in parts of any size. No handshake succeeds with a certificate that is not valid for the name, and what is read is
// the beginning of what the server wrote, byte for byte.

import COpenSSL
import DNSWire
import Glibc
@testable import Upstreams

func fuzzTLSChannel(_ input: [UInt8]) {
    let script = Script(input)
    onLoop { Stage(script).play() }
}

/// The server's certificate, TLS version 1.2 or 1.3, and choice of the protocols that we offer.
private struct Variant: Hashable {
    let certificate: TestCertificate
    let isOld: Bool
    let choice: Choice

    enum Choice: Int, CaseIterable { case none, http2, http1 }

    init(_ number: Int) {
        certificate = TestCertificate.allCases[number % TestCertificate.allCases.count]
        isOld = number & 8 != 0
        choice = Choice.allCases[number / 16 % Choice.allCases.count]
    }
}

private enum TestCertificate: CaseIterable {
    case good, otherName, commonNameOnly, expired, unknownAuthority
}

/// A key and its certificate.
private final class Pair {
    let key: OpaquePointer
    let certificate: OpaquePointer

    /// - Parameter issuer: nil: the certificate is self-signed, and an authority.
    init(_ subject: String, alternative: String? = nil, hours: ClosedRange<Int> = -1...24, by issuer: Pair? = nil) {
        guard let maker = EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nil), let certificate = X509_new() else {
            preconditionFailure("no memory")
        }
        var made: OpaquePointer?
        EVP_PKEY_keygen_init(maker)
        EVP_PKEY_keygen(maker, &made)
        EVP_PKEY_CTX_free(maker)
        guard let key = made else { preconditionFailure("no key") }
        (self.key, self.certificate) = (key, certificate)
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), Int.random(in: 1...1_000_000))
        X509_gmtime_adj(X509_getm_notBefore(certificate), hours.lowerBound * 3_600)
        X509_gmtime_adj(X509_getm_notAfter(certificate), hours.upperBound * 3_600)
        X509_set_pubkey(certificate, key)
        let name = X509_get_subject_name(certificate)
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, subject, -1, -1, 0)
        X509_set_issuer_name(certificate, issuer.map { X509_get_subject_name($0.certificate) } ?? name)
        if issuer == nil { add(NID_basic_constraints, "critical,CA:TRUE") }
        if let alternative { add(NID_subject_alt_name, alternative) }
        precondition(X509_sign(certificate, issuer?.key ?? key, nil) > 0, "not signed")
    }

    deinit {
        EVP_PKEY_free(key)
        X509_free(certificate)
    }

    private func add(_ kind: Int32, _ value: String) {
        let made = X509V3_EXT_conf_nid(nil, nil, kind, value)
        X509_add_ext(certificate, made, -1)
        X509_EXTENSION_free(made)
    }
}

/// All certificates, made once.
@Loop
private final class Certificates {
    static let shared = Certificates()
    let authorities: TLSAuthorities
    private let pairs: [TestCertificate: Pair]
    private var contexts: [Variant: OpaquePointer] = [:]

    private init() {
        let authority = Pair("authority")
        let right = "DNS:right.example"
        pairs = [
            .good: Pair("leaf", alternative: right, by: authority),
            .otherName: Pair("leaf", alternative: "DNS:wrong.example,DNS:*.right.example", by: authority),
            .commonNameOnly: Pair("right.example", alternative: "IP:192.0.2.1", by: authority),
            .expired: Pair("leaf", alternative: right, hours: -48...(-24), by: authority),
            .unknownAuthority: Pair("leaf", alternative: right, by: Pair("authority")),
        ]
        var path = Array("/tmp/httpdnsd-fuzz-XXXXXX".utf8CString)
        guard let file = fdopen(mkstemp(&path), "w") else { preconditionFailure("no file of authorities") }
        defer { unlink(path) }
        precondition(PEM_write_X509(file, authority.certificate) == 1 && fclose(file) == 0, "not written")
        do {
            let name = String(decoding: path.dropLast().map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
            authorities = try TLSAuthorities.read(name, at: Instant(nanoseconds: 0))
        } catch {
            preconditionFailure("\(error)")
        }
    }

    /// The context of a server's connections.
    func context(_ variant: Variant) -> OpaquePointer {
        if let context = contexts[variant] { return context }
        guard let context = SSL_CTX_new(TLS_server_method()), let pair = pairs[variant.certificate] else {
            preconditionFailure("no memory")
        }
        if variant.isOld { SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(TLS1_2_VERSION), nil) }
        precondition(SSL_CTX_use_certificate(context, pair.certificate) == 1, "no certificate")
        precondition(SSL_CTX_use_PrivateKey(context, pair.key) == 1, "no key")
        SSL_CTX_set_alpn_select_cb(context, choose, UnsafeMutableRawPointer(bitPattern: variant.choice.rawValue))
        contexts[variant] = context
        return context
    }
}

/// Chooses from "h2" and "http/1.1", each after its length, as the context's variant determines.
private func choose(
    _ connection: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ length: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ offeredLength: UInt32,
    _ choice: UnsafeMutableRawPointer?
) -> Int32 {
    guard let offered, let choice = Variant.Choice(rawValue: Int(bitPattern: choice)), choice != .none else {
        return SSL_TLSEXT_ERR_NOACK
    }
    chosen?.pointee = offered + (choice == .http2 ? 1 : 4)
    length?.pointee = choice == .http2 ? 2 : 8
    return SSL_TLSEXT_ERR_OK
}

/// A server's end of one connection.
private final class Server {
    private let connection: OpaquePointer
    private let input: OpaquePointer
    private let output: OpaquePointer
    private(set) var written = 0

    init(_ context: OpaquePointer) {
        guard let connection = SSL_new(context), let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem())
        else { preconditionFailure("no memory") }
        SSL_set_bio(connection, input, output)
        SSL_set_accept_state(connection)
        (self.connection, self.input, self.output) = (connection, input, output)
    }

    deinit {
        SSL_free(connection)
        ERR_clear_error()
    }

    func receive(_ bytes: UnsafeRawBufferPointer) {
        BIO_write(input, bytes.baseAddress, Int32(bytes.count))
        var buffer = [UInt8](repeating: 0, count: 1_024)
        while SSL_read(connection, &buffer, Int32(buffer.count)) > 0 {}
        ERR_clear_error()
    }

    /// The byte at this offset of everything that is written.
    static func byte(at place: Int) -> UInt8 { UInt8(truncatingIfNeeded: place &* 7 ^ place >> 8) }

    func write(_ count: Int) {
        let bytes = (written..<(written + count)).map(Self.byte)
        if SSL_is_init_finished(connection) == 1, count > 0, SSL_write(connection, bytes, Int32(count)) > 0 {
            written += count
        }
        ERR_clear_error()
    }

    func close() {
        SSL_shutdown(connection)
        ERR_clear_error()
    }

    /// The bytes that it has to send.
    func takeOutput() -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = BIO_read(output, &part, Int32(part.count))
            guard count > 0 else { return bytes }
            bytes += part.prefix(Int(count))
        }
    }
}

/// Both ends, and the network between them.
@Loop
private final class Stage {
    private var script: Script
    private let variant: Variant
    private var server: Server
    private var channel: TLSChannel
    /// Bytes under way from the server.
    private var wire: [UInt8] = []
    private var isReady = false
    private var isOver = false
    private var readCount = 0

    init(_ script: Script) {
        self.script = script
        variant = Variant(self.script.number())
        server = Server(Certificates.shared.context(variant))
        channel = Self.channel(nil)
    }

    private static func channel(_ session: TLSSession?) -> TLSChannel {
        do {
            return try TLSChannel(Certificates.shared.authorities, host: "right.example", session: session)
        } catch {
            preconditionFailure("\(error)")
        }
    }

    func play() {
        shakeHands()
        while let step = script.next() { act(step) }
    }

    private func act(_ step: UInt8) {
        switch step % 12 {
        case 0: pump(.max)
        case 1: pump(script.number() * 8)
        case 2: deliver(script.number())
        case 3: deliver(wire.count)
        case 4: if !wire.isEmpty { wire[place()] ^= script.next() ?? 1 }
        case 5: wire.insert(contentsOf: script.bytes(script.number() % 32), at: place())
        case 6: wire.removeFirst(min(script.number(), wire.count))
        case 7: wire.removeLast(min(script.number(), wire.count))
        case 8: server.write(script.number() * 80)
        case 9: server.close()
        case 10: write(script.bytes(script.number() % 64))
        default: restart()
        }
    }

    private func place() -> Int { wire.isEmpty ? 0 : (script.number() * 256 + script.number()) % wire.count }

    // MARK: The network

    /// Delivers the bytes that the channel has to send to the server, at most `limit`, and takes the server's response.
    private func pump(_ limit: Int) {
        channel.sendPending { bytes in
            let count = min(bytes.count, limit)
            server.receive(UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
            return count
        }
        wire += server.takeOutput()
    }

    private func deliver(_ count: Int) {
        let part = wire.prefix(count)
        wire.removeFirst(part.count)
        guard !isOver else { return }
        precondition(part.withUnsafeBytes { channel.receive($0) }, "no memory")
        if !isReady { shakeHands() }
        if isReady { read() }
    }

    // MARK: The channel

    private func shakeHands() {
        do {
            guard let isHTTP2 = try channel.shakeHands() else { return }
            precondition(variant.certificate == .good, "a certificate that is not valid: \(variant.certificate)")
            precondition(isHTTP2 == (variant.choice == .http2), "another protocol than the server chose")
            precondition(channel.pin != nil, "no key")
            isReady = true
        } catch {
            isOver = true
        }
    }

    private func read() {
        do {
            while true {
                var buffer = [UInt8](repeating: 0, count: 16_384)
                guard let count = try buffer.withUnsafeMutableBytes({ try channel.read(into: $0) }) else { return }
                if count > 0 {
                    check(buffer.prefix(count))
                } else {
                    isOver = true
                    return
                }
            }
        } catch {
            isOver = true
        }
    }

    private func check(_ part: ArraySlice<UInt8>) {
        precondition(readCount + part.count <= server.written, "more than was written")
        for byte in part {
            precondition(byte == Server.byte(at: readCount), "not what was written")
            readCount += 1
        }
    }

    private func write(_ bytes: [UInt8]) {
        guard isReady, !isOver else { return }
        do {
            try channel.write(bytes)
        } catch {
            isOver = true
        }
    }

    /// Closes the connection, and begins the next one with its session.
    private func restart() {
        var session: TLSSession?
        if isReady {
            session = channel.resumable(verified: Instant(nanoseconds: 0))
            channel.close()
        }
        channel.sendPending { $0.count }
        server = Server(Certificates.shared.context(variant))
        channel = Self.channel(session)
        (wire, readCount, isReady, isOver) = ([], 0, false, false)
        shakeHands()
    }
}
