import COpenSSL
import CSystem.Linux
import DNSWire
import Platform

/// The server's side of a TLS connection on its socket.
///
/// All that the kernel has, up to a bound, is received by one call and decrypted at once, however many records it is; so
/// a client that sends only what TLS itself consumes, such as changes of keys, takes no more of a turn than others.
@Loop
@safe final class TLSStream: ByteStream {
    /// Memory for what passes through a socket within one call, shared by all streams.
    @safe private final class Wire {
        let input = UnsafeMutableRawBufferPointer.allocate(byteCount: TLSStream.received, alignment: 16)
        let wire = UnsafeMutablePointer<copenssl_wire>.allocate(capacity: 1)
        let method = unsafe copenssl_wire_method()

        init() { unsafe wire.initialize(to: copenssl_wire()) }
    }

    /// The most bytes that are received at once: with what a record has received before, at most `plaintext` bytes.
    private nonisolated static let received = 16 << 10
    /// Room for the plaintext of all that is received at once.
    nonisolated static let plaintext = 32 << 10
    private static let wire = Wire()

    private let socket: StreamSocket
    /// Owned; nil once closed.
    private nonisolated(unsafe) var connection: OpaquePointer?
    /// In use as long as the handshake goes on.
    private let context: TLSContext
    /// Received with the end of the handshake, and not decrypted yet.
    private var held: [UInt8] = []
    /// Whether the client has said that it sends no more, which a read has still to return.
    private var hasEnded = false
    /// Whether nothing may be sent any more, not even a farewell.
    private var isBroken = false
    private var isShaken = false
    /// Until the handshake is done.
    private var input: HandshakeInput

    /// Nil without memory.
    ///
    /// - Parameters:
    ///   - isHTTP: whether HTTP is chosen by ALPN; else DNS over TLS.
    ///   - received: what has come already, at most `HandshakeInput.most` bytes.
    ///   - input: after these.
    init?(
        _ socket: StreamSocket, _ context: TLSContext, isHTTP: Bool, received: [UInt8] = [],
        _ input: HandshakeInput = HandshakeInput()
    ) {
        held = received
        self.input = input
        let wire = Self.wire
        (self.socket, self.context) = (socket, context)
        guard let method = unsafe wire.method, let connection = unsafe SSL_new(context.context) else { return nil }
        guard let bio = unsafe BIO_new(method) else {
            unsafe SSL_free(connection)
            return nil
        }
        unsafe BIO_set_data(bio, wire.wire)
        unsafe SSL_set_bio(connection, bio, bio)
        unsafe SSL_set_accept_state(connection)
        if isHTTP { unsafe SSL_set_ex_data(connection, copenssl_application_data, context.applicationData) }
        unsafe self.connection = unsafe connection
    }

    deinit { unsafe SSL_free(connection) }

    var number: Int32 { socket.number }

    var hasUnread: Bool { !held.isEmpty || hasEnded }

    // MARK: The handshake

    /// Goes on with the handshake as far as what has been received allows; nil: it is done.
    func shakeHands() -> StreamOutcome? {
        guard let connection = unsafe connection else { return .failed }
        switch fill() {
        case .ended, .failed: return .failed
        case .moved, .waits: break
        }
        ERR_clear_error()
        let result = unsafe SSL_do_handshake(connection)
        if result == 1 {
            isShaken = true
            keepRest()
            return nil
        }
        let outcome = unsafe stop(connection, result)
        if case .waits = outcome, input.count <= context.mostOfHandshake { return outcome }
        isBroken = true
        return .failed
    }

    /// Why OpenSSL did no more.
    private func stop(_ connection: OpaquePointer, _ result: Int32) -> StreamOutcome {
        switch unsafe SSL_get_error(connection, result) {
        case SSL_ERROR_WANT_READ: return .waits(.readable)
        case SSL_ERROR_WANT_WRITE: return .waits(.writable)
        case SSL_ERROR_ZERO_RETURN: return .ended
        default:
            isBroken = true
            return .failed
        }
    }

    /// Whether OpenSSL may have what was received.
    private func mayPass(_ count: Int) -> Bool {
        guard !isShaken, let connection = unsafe connection else { return true }
        let bytes = unsafe UnsafeBufferPointer(rebasing: Self.wire.input.assumingMemoryBound(to: UInt8.self)[..<count])
        isBroken = unsafe input.append(bytes.span, version: SSL_version(connection)) == .isTooLong
        return !isBroken
    }

    /// The protocol that the handshake chose; nil when the client named none.
    var alpn: String? {
        guard let connection = unsafe connection else { return nil }
        var (chosen, length): (UnsafePointer<UInt8>?, UInt32) = (nil, 0)
        unsafe SSL_get0_alpn_selected(connection, &chosen, &length)
        guard length > 0 else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: chosen, count: Int(length)), as: UTF8.self)
    }

    /// Whether the handshake went on from an earlier connection.
    var isResumed: Bool { unsafe connection.map { unsafe SSL_session_reused($0) == 1 } ?? false }

    /// Whether the client has presented a certificate of an authority that is asked for.
    var isCertified: Bool {
        guard let connection = unsafe connection, context.asksClients else { return false }
        return unsafe SSL_get0_peer_certificate(connection) != nil
            && SSL_get_verify_result(connection) == Int(X509_V_OK)
    }

    // MARK: Bytes

    /// Lends what was held back, or else what the kernel has, to the next calls of OpenSSL.
    ///
    /// - Returns: how many bytes, or why there are none.
    private func fill() -> StreamOutcome {
        let (wire, input) = unsafe (Self.wire.wire, Self.wire.input)
        unsafe wire.pointee = unsafe copenssl_wire(
            descriptor: number, send: clinux_send, next: input.baseAddress?.assumingMemoryBound(to: UInt8.self), left: 0
        )
        guard !isBroken else { return .failed }
        if !held.isEmpty {
            // At most as much as was received at once.
            let count = min(held.count, input.count)
            unsafe input.copyBytes(from: held.prefix(count))
            held = []
            unsafe wire.pointee.left = count
            return .moved(count)
        }
        let outcome = unsafe socket.read(into: input)
        guard case .moved(let count) = outcome else { return outcome }
        guard mayPass(count) else { return .failed }
        unsafe wire.pointee.left = count
        return outcome
    }

    func read(into buffer: inout [UInt8]) -> StreamOutcome {
        guard let connection = unsafe connection else { return .failed }
        if hasEnded {
            hasEnded = false
            return .ended
        }
        let filled = fill()
        if case .ended = filled { return .ended }
        if case .failed = filled { return .failed }
        // Also without new bytes: TLS may have to send before it goes on.
        return unsafe buffer.withUnsafeMutableBytes { unsafe decrypt(connection, into: $0) }
    }

    private func decrypt(_ connection: OpaquePointer, into room: UnsafeMutableRawBufferPointer) -> StreamOutcome {
        var count = 0
        ERR_clear_error()
        while count < room.count {
            let place = unsafe UnsafeMutableRawBufferPointer(rebasing: room[count...])
            let result = unsafe SSL_read(connection, place.baseAddress, Int32(clamping: place.count))
            if result > 0 {
                count += Int(result)
                continue
            }
            let outcome = unsafe stop(connection, result)
            guard count > 0 else { return outcome }
            hasEnded = outcome == .ended
            return .moved(count)
        }
        keepRest()
        return .moved(count)
    }

    /// Holds back what was received and not decrypted.
    private func keepRest() {
        let wire = unsafe Self.wire.wire.pointee
        held = unsafe Array(UnsafeBufferPointer(start: wire.next, count: wire.left))
    }

    func write(_ bytes: ArraySlice<UInt8>) -> StreamOutcome {
        guard let connection = unsafe connection, !isBroken else { return .failed }
        unsafe Self.wire.wire.pointee = unsafe copenssl_wire(descriptor: number, send: clinux_send, next: nil, left: 0)
        ERR_clear_error()
        let result = unsafe bytes.withUnsafeBytes {
            unsafe SSL_write(connection, $0.baseAddress, Int32(clamping: $0.count))
        }
        return result > 0 ? .moved(Int(result)) : unsafe stop(connection, result)
    }

    func close() {
        end()
        socket.close()
    }

    func endOutput() -> StreamSocket? {
        end()
        guard !isBroken else {
            socket.close()
            return nil
        }
        return socket.endOutput()
    }

    /// Says that no more is sent (close_notify), as far as the socket takes it.
    private func end() {
        guard let connection = unsafe connection else { return }
        if isShaken, !isBroken {
            unsafe Self.wire.wire.pointee = unsafe copenssl_wire(
                descriptor: number, send: clinux_send, next: nil, left: 0)
            unsafe SSL_shutdown(connection)
            ERR_clear_error()
        }
        unsafe SSL_free(connection)
        unsafe self.connection = nil
        held = []
    }
}
