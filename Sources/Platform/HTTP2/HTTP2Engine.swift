import CNghttp2

/// One end of an HTTP/2 connection (RFC 9113), by nghttp2: bytes go in and out, and what they bring goes to the peer.
///
/// Streams are objects of the peer's, which retains them for as long as they are attached.
@safe public final class HTTP2Engine {
    public enum Role {
        case client
        /// - Parameter queuedFrames: how many answers to SETTINGS and PING may wait to be sent.
        case server(in: HTTP2Memory, queuedFrames: Int)
    }

    /// Of RFC 9113 section 6.5.2, and of RFC 9218 section 2.1.
    public enum Setting: Int32, Sendable {
        case enablePush = 2
        case maxConcurrentStreams = 3
        case initialWindowSize = 4
        case maxHeaderListSize = 6
        case noPriorities = 9
    }

    private let session: OpaquePointer
    /// Outlives nghttp2's session, which the deinitialiser deletes.
    private let memory: HTTP2Memory.Part?
    /// What the engine belongs to, which outlives it. Set before the first byte.
    public unowned(unsafe) var peer: (any HTTP2Peer)?

    /// - Parameter window: bytes of the connection's flow-control window. No window is updated but by `consume`.
    /// - Returns: nil without memory.
    public init?(_ role: Role, _ settings: KeyValuePairs<Setting, UInt32>, window: Int32) {
        var callbacks: OpaquePointer?
        var options: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks = unsafe callbacks else {
            return nil
        }
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        guard unsafe nghttp2_option_new(&options) == 0, let options = unsafe options else { return nil }
        defer { unsafe nghttp2_option_del(options) }
        unsafe nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, beginFrame)
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, beginFields)
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, receiveField)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, receiveBody)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, receiveFrame)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, streamClosed)
        unsafe nghttp2_option_set_no_auto_window_update(options, 1)
        var made: OpaquePointer?
        let result: Int32
        switch role {
        case .client:
            memory = nil
            result = unsafe nghttp2_session_client_new2(&made, callbacks, nil, options)
        case .server(let shared, let queuedFrames):
            let part = HTTP2Memory.Part(of: shared)
            var allocator = unsafe part.allocator
            memory = consume part
            unsafe nghttp2_option_set_no_closed_streams(options, 1)
            unsafe nghttp2_option_set_max_outbound_ack(options, queuedFrames)
            result = unsafe nghttp2_session_server_new3(&made, callbacks, nil, options, &allocator)
        }
        guard result == 0, let made = unsafe made else { return nil }
        unsafe session = unsafe made
        unsafe nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
        let entries = settings.map { nghttp2_settings_entry(settings_id: $0.rawValue, value: $1) }
        guard unsafe nghttp2_submit_settings(session, Self.noFlags, entries, entries.count) == 0,
            unsafe nghttp2_session_set_local_window_size(session, Self.noFlags, 0, window) == 0
        else { return nil }
    }

    deinit { unsafe nghttp2_session_del(session) }

    private static let noFlags = UInt8(NGHTTP2_FLAG_NONE.rawValue)

    // MARK: Bytes

    /// Processes received bytes.
    ///
    /// - Returns: 0, or why they are not HTTP/2: the connection cannot be used any more then.
    public func receive(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        let count = unsafe nghttp2_session_mem_recv(
            session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        return Int32(clamping: min(0, count))
    }

    /// Appends the frames to be sent, until there are at least `limit` bytes or no more frames.
    ///
    /// - Returns: 0, or why there cannot be more.
    public func takeFrames(into buffer: inout [UInt8], limit: Int) -> Int32 {
        while buffer.count < limit {
            var bytes: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(session, &bytes)
            guard count > 0 else { return Int32(clamping: count) }
            unsafe buffer.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
        }
        return 0
    }

    /// Frames that wait to be sent.
    public var queued: Int { unsafe nghttp2_session_get_outbound_queue_size(session) }

    /// Whether nothing is left to send or receive.
    public var isOver: Bool {
        unsafe nghttp2_session_want_write(session) == 0 && nghttp2_session_want_read(session) == 0
    }

    /// Reopens the connection's flow-control window by a received part of a body, for any stream.
    public func consume(_ count: Int) { unsafe nghttp2_session_consume_connection(session, count) }

    // MARK: Streams

    /// Whether a client may send a further request: the server is not closing the connection, and identifiers are left.
    public var mayRequest: Bool { unsafe nghttp2_session_check_request_allowed(session) != 0 }

    /// The requests that the server allows at once; `UInt32.max` until it has sent its limit.
    public var streamLimit: UInt32 {
        unsafe nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
    }

    /// Queues a client's request, to which the stream is attached. Those above the server's limit wait.
    ///
    /// - Returns: the stream's identifier, or a negative number that says why there is none.
    public func request(_ fields: inout HTTP2Fields, hasBody: Bool, for stream: AnyObject) -> Int32 {
        let object = unsafe Unmanaged.passUnretained(stream).toOpaque()
        return unsafe fields.withPairs { pairs in
            guard hasBody else {
                return unsafe nghttp2_submit_request(session, nil, pairs.baseAddress, pairs.count, nil, object)
            }
            var body = unsafe nghttp2_data_provider(source: nghttp2_data_source(ptr: object), read_callback: sendBody)
            return unsafe nghttp2_submit_request(session, nil, pairs.baseAddress, pairs.count, &body, object)
        }
    }

    /// Queues a server's response.
    ///
    /// - Returns: whether it could be.
    public func respond(_ fields: inout HTTP2Fields, hasBody: Bool, to id: Int32) -> Bool {
        unsafe fields.withPairs { pairs in
            guard hasBody else {
                return unsafe nghttp2_submit_response(session, id, pairs.baseAddress, pairs.count, nil) == 0
            }
            var body = unsafe nghttp2_data_provider(source: nghttp2_data_source(ptr: nil), read_callback: sendBody)
            return unsafe nghttp2_submit_response(session, id, pairs.baseAddress, pairs.count, &body) == 0
        }
    }

    /// Attaches an object to a stream; nil: the stream is not reported any more.
    public func attach(_ stream: AnyObject?, to id: Int32) {
        let object = unsafe stream.map { unsafe Unmanaged.passUnretained($0).toOpaque() }
        unsafe nghttp2_session_set_stream_user_data(session, id, object)
    }

    /// Whether an object is attached to a stream whose header was sent or received.
    public func hasStream(_ id: Int32) -> Bool { unsafe nghttp2_session_get_stream_user_data(session, id) != nil }

    public func reset(_ id: Int32, _ code: HTTP2Code) {
        unsafe nghttp2_submit_rst_stream(session, Self.noFlags, id, code.rawValue)
    }

    // MARK: Connection

    /// Asks the other end for a sign of life; what it sends says nothing of any request.
    public func ping() { unsafe nghttp2_submit_ping(session, Self.noFlags, nil) }

    /// Says that no further stream is taken; those that there are go on.
    public func goAway() {
        unsafe nghttp2_submit_goaway(
            session, Self.noFlags, nghttp2_session_get_last_proc_stream_id(session), HTTP2Code.none.rawValue, nil, 0)
    }

    /// Ends the connection with all its streams once that is sent.
    public func terminate(_ code: HTTP2Code) { unsafe nghttp2_session_terminate_session(session, code.rawValue) }

    /// Why a stream ended, for people.
    public static func reason(_ code: HTTP2Code) -> String {
        unsafe "HTTP/2: the stream was reset (\(String(cString: nghttp2_http2_strerror(code.rawValue))))"
    }

    /// What one of the engine's negative numbers says.
    public static func text(_ code: Int32) -> String { unsafe "HTTP/2: \(String(cString: nghttp2_strerror(code)))" }
}

// nghttp2's callbacks, called inside our calls to it.

private func engine(_ userData: UnsafeMutableRawPointer?) -> HTTP2Engine? {
    unsafe userData.map { unsafe Unmanaged<HTTP2Engine>.fromOpaque($0).takeUnretainedValue() }
}

private func peer(_ userData: UnsafeMutableRawPointer?) -> (any HTTP2Peer)? {
    unsafe userData.flatMap { unsafe Unmanaged<HTTP2Engine>.fromOpaque($0)._withUnsafeGuaranteedRef { unsafe $0.peer } }
}

private func stream(in session: OpaquePointer?, _ id: Int32) -> AnyObject? {
    unsafe nghttp2_session_get_stream_user_data(session, id).map {
        unsafe Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue()
    }
}

extension HTTP2Frame {
    fileprivate init(_ header: nghttp2_frame_hd, isRequest: Bool = false) {
        switch header.type {
        case UInt8(NGHTTP2_DATA.rawValue): kind = .data
        case UInt8(NGHTTP2_HEADERS.rawValue): kind = .headers(isRequest: isRequest)
        case UInt8(NGHTTP2_PRIORITY.rawValue): kind = .priority
        default: kind = .other
        }
        (stream, length) = (header.stream_id, header.length)
        // Of other types this flag means something else.
        let mayEnd = header.type == UInt8(NGHTTP2_DATA.rawValue) || header.type == UInt8(NGHTTP2_HEADERS.rawValue)
        endsStream = mayEnd && header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
    }

    fileprivate init(_ frame: UnsafePointer<nghttp2_frame>) {
        let header = unsafe frame.pointee.hd
        // Only of this type there is a category.
        let isHeaders = header.type == UInt8(NGHTTP2_HEADERS.rawValue)
        self.init(header, isRequest: unsafe isHeaders && frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST)
    }
}

private func beginFrame(
    _ session: OpaquePointer?, _ header: UnsafePointer<nghttp2_frame_hd>?, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    if let header = unsafe header, let engine = unsafe engine(userData),
        let peer = unsafe engine.peer, unsafe !peer.allows(HTTP2Frame(header.pointee))
    {
        engine.terminate(.protocolError)
    }
    return 0
}

private func beginFields(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    if let frame = unsafe frame {
        let frame = unsafe HTTP2Frame(frame)
        unsafe peer(userData)?.beginFields(frame, of: stream(in: session, frame.stream))
    }
    return 0
}

private func receiveField(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?,
    _ nameLength: Int, _ value: UnsafePointer<UInt8>?, _ valueLength: Int, _ flags: UInt8,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let stream = unsafe stream(in: session, frame.pointee.hd.stream_id),
        let peer = unsafe peer(userData)
    else {
        return 0
    }
    let isTaken = unsafe peer.receiveField(
        UnsafeRawBufferPointer(start: name, count: nameLength),
        UnsafeRawBufferPointer(start: value, count: valueLength), of: stream)
    return isTaken ? 0 : Int32(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
}

private func receiveBody(
    _ session: OpaquePointer?, _ flags: UInt8, _ id: Int32, _ bytes: UnsafePointer<UInt8>?, _ count: Int,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    unsafe peer(userData)?.receiveBody(
        UnsafeRawBufferPointer(start: bytes, count: count), of: stream(in: session, id), id: id)
    return 0
}

private func receiveFrame(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let stream = unsafe stream(in: session, frame.pointee.hd.stream_id) else {
        return 0
    }
    unsafe peer(userData)?.receive(HTTP2Frame(frame), of: stream)
    return 0
}

private func sendBody(
    _ session: OpaquePointer?, _ id: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ length: Int,
    _ flags: UnsafeMutablePointer<UInt32>?, _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _ userData: UnsafeMutableRawPointer?
) -> Int {
    guard let stream = unsafe stream(in: session, id), let peer = unsafe peer(userData) else {
        return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }
    let part = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: length)
    let (count, isLast) = unsafe peer.nextBody(into: part, of: stream)
    if isLast { unsafe flags?.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
    return count
}

private func streamClosed(
    _ session: OpaquePointer?, _ id: Int32, _ code: UInt32, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    if let stream = unsafe stream(in: session, id) {
        unsafe peer(userData)?.close(stream, HTTP2Code(rawValue: code))
    }
    return 0
}
