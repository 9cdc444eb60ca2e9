import COpenSSL
import Glibc
import TestServers
import TestSupport

/// A client over TLS that blocks; the test determines what it offers.
final class TestTLSClient {
    /// What a connection needs besides its address.
    struct Offer {
        /// Its ALPN protocols.
        var protocols: [String] = ["dot"]
        /// Of an earlier connection, to resume.
        var session: OpaquePointer?
        /// A certificate of its own.
        var leaf: TestCertificates.Leaf?
        /// Sent in plain before the handshake.
        var prefix: [UInt8] = []
        /// The highest version: 0x303 for TLS 1.2.
        var version: Int32 = 0
        /// For the exchange of keys, with colons between; empty: those of the library.
        var groups = ""
    }

    private let connection: OpaquePointer
    private let context: OpaquePointer
    private let socket: TestSocket
    private var buffer: [UInt8] = []

    /// Connects and shakes hands.
    init(_ server: TestAddress, _ offer: Offer = Offer()) throws {
        guard let context = SSL_CTX_new(TLS_client_method()), let connection = SSL_new(context) else {
            throw TestFailure("no memory for TLS")
        }
        (self.context, self.connection) = (context, connection)
        // The server may close the connection while OpenSSL writes.
        signal(SIGPIPE, SIG_IGN)
        socket = try TestSocket.connection(to: server, from: nil)
        var limit = timeval(tv_sec: time_t(Duration.patience.components.seconds), tv_usec: 0)
        setsockopt(socket.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        if !offer.prefix.isEmpty { try socket.write(offer.prefix) }
        SSL_set_fd(connection, socket.descriptor)
        let protocols = offer.protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        if !protocols.isEmpty { SSL_set_alpn_protos(connection, protocols, UInt32(protocols.count)) }
        if let session = offer.session { SSL_set_session(connection, session) }
        if let leaf = offer.leaf {
            SSL_use_certificate_file(connection, leaf.certificate, SSL_FILETYPE_PEM)
            SSL_use_PrivateKey_file(connection, leaf.key, SSL_FILETYPE_PEM)
        }
        if offer.version != 0 {
            SSL_ctrl(connection, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(offer.version), nil)
        }
        if !offer.groups.isEmpty {
            var groups = offer.groups.utf8CString.map { $0 }
            SSL_ctrl(connection, SSL_CTRL_SET_GROUPS_LIST, 0, &groups)
        }
        guard SSL_connect(connection) == 1 else {
            throw TestFailure("no handshake: \(copenssl_last_reason().map { String(cString: $0) } ?? "closed")")
        }
    }

    /// A ClientHello.
    static let hello: [UInt8] = {
        let context = SSL_CTX_new(TLS_client_method())
        let connection = SSL_new(context)
        let output = BIO_new(BIO_s_mem())
        SSL_set_bio(connection, BIO_new(BIO_s_mem()), output)
        SSL_connect(connection)
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = BIO_read(output, &bytes, Int32(bytes.count))
        SSL_free(connection)
        SSL_CTX_free(context)
        return Array(bytes.prefix(Int(count)))
    }()

    deinit {
        SSL_free(connection)
        SSL_CTX_free(context)
    }

    /// The protocol that the server chose; empty: none.
    var alpn: String {
        var (chosen, length): (UnsafePointer<UInt8>?, UInt32) = (nil, 0)
        SSL_get0_alpn_selected(connection, &chosen, &length)
        return String(decoding: UnsafeBufferPointer(start: chosen, count: Int(length)), as: UTF8.self)
    }

    var isResumed: Bool { SSL_session_reused(connection) == 1 }

    /// The session, with the ticket that came with the first response in TLS 1.3. Given to one other client.
    var session: OpaquePointer? { SSL_get1_session(connection) }

    /// The server's certificate in DER.
    var certificate: [UInt8] {
        let certificate = SSL_get0_peer_certificate(connection)
        var bytes = [UInt8](repeating: 0, count: max(0, Int(i2d_X509(certificate, nil))))
        bytes.withUnsafeMutableBufferPointer { buffer in
            var place = buffer.baseAddress
            i2d_X509(certificate, &place)
        }
        return bytes
    }

    /// Sends bytes as one record, or as few as they need.
    func write(_ bytes: [UInt8]) throws {
        guard SSL_write(connection, bytes, Int32(bytes.count)) == Int32(bytes.count) else {
            throw TestFailure("the server takes nothing")
        }
    }

    /// Sends each message as a record of its own.
    func send(_ messages: [TestMessage]) throws { for message in messages { try write(message.framed) } }

    /// The next message; nil when the server has ended the connection.
    func receive() throws -> TestMessage? {
        while true {
            if buffer.count >= 2 {
                let length = Int(buffer[0]) << 8 | Int(buffer[1])
                if buffer.count >= 2 + length {
                    defer { buffer.removeFirst(2 + length) }
                    return try TestMessage(decoding: Array(buffer[2..<2 + length]))
                }
            }
            var bytes = [UInt8](repeating: 0, count: 16_384)
            let count = SSL_read(connection, &bytes, Int32(bytes.count))
            guard count > 0 else { return nil }
            buffer += bytes.prefix(Int(count))
        }
    }

    func ask(_ query: TestMessage) throws -> TestMessage {
        try send([query])
        guard let reply = try receive() else { throw TestFailure("no reply over TLS") }
        return reply
    }

    /// Ends its direction of the connection as if it were broken: TLS itself says nothing of the end.
    func finishSending() { shutdown(socket.descriptor, Int32(SHUT_WR)) }

    /// Waits for the end of the connection. Returns whether the server has said so by close_notify.
    func endsProperly() -> Bool {
        var bytes = [UInt8](repeating: 0, count: 1_024)
        while true {
            let count = SSL_read(connection, &bytes, Int32(bytes.count))
            if count <= 0 { return SSL_get_error(connection, count) == SSL_ERROR_ZERO_RETURN }
        }
    }

    /// Asks for another handshake on the connection (TLS 1.2). Returns whether the server shook hands again.
    func renegotiates() -> Bool {
        SSL_renegotiate(connection)
        return SSL_do_handshake(connection) == 1 && SSL_renegotiate_pending(connection) == 0
    }
}
