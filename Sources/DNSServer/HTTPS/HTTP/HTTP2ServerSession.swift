import CNghttp2

/// HTTP/2 on one connection with a client (RFC 9113), by nghttp2.
///
/// nghttp2's callbacks only fill streams and record their ends. Every received byte that is not part of a whole request
/// comes out of a budget, and so does every stream that ends without a whole response: so streams that are reset at once
/// (CVE-2023-44487), headers without an end (CVE-2024-27316), SETTINGS, PING and empty frames all end the connection
/// before they cost anything. nghttp2 1.52 itself bounds only the SETTINGS and PING frames that wait to be acknowledged;
/// Debian's also the parts of a header (CVE-2024-28182).
@safe final class HTTP2ServerSession: HTTPServerSession {
    private let session: OpaquePointer
    /// Outlives nghttp2's session, which the deinitialiser deletes.
    private let memory: HTTP2SessionMemory.Part
    /// The streams that nghttp2 has, which holds no reference to them.
    private var streams: [HTTPServerStream] = []
    /// Whole requests that were not returned yet, in the order in which they became whole.
    private var requests: [HTTPServerStream] = []
    /// Bytes that may yet be received beside whole requests.
    private var overheadLeft = HTTPServerLimits.overhead
    /// The highest identifier of a request's stream so far, and the identifiers that the client has skipped for it.
    private var lastStream: Int32 = 0
    private var skipped: ClosedRange<Int32>?
    /// Whether nothing is read any more, since too much was received, or what no client may send.
    private var isBroken = false
    /// Whether nothing is sent any more either.
    private var isDead = false
    private(set) var held = 0
    private(set) var unsent = 0

    /// Returns nil without memory.
    init?(in memory: HTTP2SessionMemory) {
        var callbacks: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks = unsafe callbacks else {
            return nil
        }
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        unsafe nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, serverBeginFrame)
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, serverBeginFields)
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, serverReceiveField)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, serverReceiveBody)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, serverReceiveFrame)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, serverStreamClosed)
        var options: OpaquePointer?
        guard unsafe nghttp2_option_new(&options) == 0, let options = unsafe options else { return nil }
        defer { unsafe nghttp2_option_del(options) }
        unsafe nghttp2_option_set_no_auto_window_update(options, 1)
        unsafe nghttp2_option_set_no_closed_streams(options, 1)
        unsafe nghttp2_option_set_max_outbound_ack(options, HTTPServerLimits.queuedFrames)
        var session: OpaquePointer?
        self.memory = HTTP2SessionMemory.Part(of: memory)
        var allocator = unsafe self.memory.allocator
        guard unsafe nghttp2_session_server_new3(&session, callbacks, nil, options, &allocator) == 0,
            let session = unsafe session
        else {
            return nil
        }
        unsafe self.session = unsafe session
        unsafe nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
        let settings = [
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue),
                value: UInt32(HTTPServerLimits.streams)),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue),
                value: UInt32(HTTPServerLimits.streamWindow)),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
                value: UInt32(HTTPServerLimits.header)),
            // Priorities make nghttp2 remember streams that do not exist.
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES.rawValue), value: 1),
        ]
        let none = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        let window = Int32(HTTPServerLimits.window)
        guard unsafe nghttp2_submit_settings(session, none, settings, settings.count) == 0,
            unsafe nghttp2_session_set_local_window_size(session, none, 0, window) == 0
        else { return nil }
    }

    deinit { unsafe nghttp2_session_del(session) }

    // MARK: Bytes

    func receive(_ bytes: ArraySlice<UInt8>) {
        guard !isBroken, !isDead else { return }
        overheadLeft -= bytes.count
        let count = unsafe bytes.withUnsafeBufferPointer {
            unsafe nghttp2_session_mem_recv(session, $0.baseAddress, $0.count)
        }
        if count < 0 {
            // This is no HTTP/2, or too many frames wait to be acknowledged, or no memory is left.
            isDead = true
        } else if overheadLeft < 0 {
            isBroken = true
            unsafe nghttp2_session_terminate_session(session, UInt32(NGHTTP2_ENHANCE_YOUR_CALM.rawValue))
        }
    }

    var feed: HTTPServerFeed? { nil }

    func continueFeed(_ part: String?) {}

    func takeOutput(into buffer: inout [UInt8], limit: Int) {
        while buffer.count < limit, !isDead {
            var bytes: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(session, &bytes)
            if count == 0 { return }
            if count < 0 { isDead = true }
            unsafe buffer.append(contentsOf: UnsafeBufferPointer(start: bytes, count: max(0, count)))
        }
    }

    func finish() {
        unsafe nghttp2_submit_goaway(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nghttp2_session_get_last_proc_stream_id(session),
            UInt32(NGHTTP2_NO_ERROR.rawValue), nil, 0)
    }

    var hasRequest: Bool { !requests.isEmpty }

    var isSaturated: Bool { unsafe nghttp2_session_get_outbound_queue_size(session) > HTTPServerLimits.queuedFrames }

    var isOver: Bool {
        unsafe isDead || nghttp2_session_want_write(session) == 0 && nghttp2_session_want_read(session) == 0
    }

    // MARK: Requests

    func nextRequest() -> HTTPServerStream? { requests.isEmpty ? nil : requests.removeFirst() }

    func respond(_ response: HTTPServerResponse, to stream: HTTPServerStream) {
        guard stream.isOpen, !stream.isAnswered else { return }
        guard response.feed == nil else { return reset(stream.id, NGHTTP2_HTTP_1_1_REQUIRED) }
        let body = stream.request.method == .head ? [] : response.body
        stream.answer(body)
        note(unsent: body.count)
        let result = unsafe memory.memory.fields.withPairs(of: response, date: memory.memory.date.text) { pairs in
            guard !body.isEmpty else {
                return unsafe nghttp2_submit_response(session, stream.id, pairs.baseAddress, pairs.count, nil)
            }
            var provider = unsafe nghttp2_data_provider(
                source: nghttp2_data_source(ptr: Unmanaged.passUnretained(stream).toOpaque()),
                read_callback: serverSendBody)
            return unsafe nghttp2_submit_response(session, stream.id, pairs.baseAddress, pairs.count, &provider)
        }
        if result != 0 { reset(stream.id) }
    }

    /// Counts bytes of a response as waiting for the client's windows; a negative number: no more.
    fileprivate func note(unsent count: Int) {
        unsent += count
        held += count
    }

    fileprivate func reset(_ id: Int32, _ code: nghttp2_error_code = NGHTTP2_ENHANCE_YOUR_CALM) {
        unsafe nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, code.rawValue)
    }

    // MARK: From nghttp2

    /// Looks at a frame that begins: nghttp2 ignores two that end a connection.
    ///
    /// - Returns: whether the rules allow it.
    fileprivate func accepts(_ frame: nghttp2_frame_hd) -> Bool {
        switch frame.type {
        // RFC 9113 section 6.3.
        case UInt8(NGHTTP2_PRIORITY.rawValue): return frame.stream_id != 0
        case UInt8(NGHTTP2_HEADERS.rawValue):
            // RFC 9113 section 5.1.1. What is lower and was not skipped has been a stream, and may come late.
            if skipped?.contains(frame.stream_id) == true { return false }
            guard frame.stream_id > lastStream else { return true }
            if frame.stream_id &- lastStream > 2 { skipped = lastStream &+ 1...frame.stream_id &- 1 }
            lastStream = frame.stream_id
            return true
        default: return true
        }
    }

    /// Ends the connection with an error of the client's.
    fileprivate func refuse() {
        isBroken = true
        unsafe nghttp2_session_terminate_session(session, UInt32(NGHTTP2_PROTOCOL_ERROR.rawValue))
    }

    fileprivate func open(_ id: Int32) {
        let stream = HTTPServerStream(id: id)
        stream.index = streams.count
        streams.append(stream)
        held += HTTPServerLimits.heldByStream
        unsafe nghttp2_session_set_stream_user_data(session, id, Unmanaged.passUnretained(stream).toOpaque())
    }

    /// Takes a field of a request's header, or of what follows its body, which only counts.
    ///
    /// - Returns: whether the request is still acceptable.
    fileprivate func receiveField(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, of stream: HTTPServerStream
    ) -> Bool {
        // As RFC 9113 section 6.5.2 counts.
        stream.header += name.count + value.count + 32
        guard stream.header <= HTTPServerLimits.header else { return false }
        let before = stream.request.held
        defer { held += stream.request.held - before }
        return unsafe stream.request.take(name, value)
    }

    /// Takes a part of a request's body.
    ///
    /// - Returns: whether the request is still acceptable.
    fileprivate func receiveBody(_ part: UnsafeBufferPointer<UInt8>, of stream: HTTPServerStream) -> Bool {
        guard stream.request.body.count + part.count <= HTTPServerLimits.body else { return false }
        unsafe stream.request.body.append(contentsOf: part)
        held += part.count
        // The frame's own header is not part of the request.
        overheadLeft += part.count
        return true
    }

    /// Counts the bytes of a request's header, now that it is whole.
    fileprivate func note(header bytes: Int) { overheadLeft += bytes }

    /// Takes a request that is whole.
    fileprivate func complete(_ stream: HTTPServerStream) {
        // Reopens the connection's window by the body.
        unsafe nghttp2_session_consume_connection(session, stream.request.body.count)
        stream.isWhole = true
        requests.append(stream)
    }

    /// Drops a stream that nghttp2 has ended.
    fileprivate func close(_ stream: HTTPServerStream) {
        let isServed = stream.isAnswered && stream.unsent == 0
        overheadLeft += isServed ? HTTPServerLimits.overheadPerResponse : -HTTPServerLimits.overheadPerReset
        overheadLeft = min(overheadLeft, HTTPServerLimits.overhead)
        if !stream.isWhole { unsafe nghttp2_session_consume_connection(session, stream.request.body.count) }
        held -= HTTPServerLimits.heldByStream + stream.request.held + stream.unsent
        unsent -= stream.unsent
        stream.isOpen = false
        requests.removeAll { $0 === stream }
        let last = streams.removeLast()
        guard stream.index < streams.count else { return }
        streams[stream.index] = last
        last.index = stream.index
    }

    /// Reopens the connection's window by a part of a body that belongs to no stream any more.
    fileprivate func skip(_ count: Int) { unsafe nghttp2_session_consume_connection(session, count) }
}

// nghttp2's callbacks, called inside our calls to it.

private func stream(in session: OpaquePointer?, _ id: Int32) -> HTTPServerStream? {
    unsafe nghttp2_session_get_stream_user_data(session, id).map {
        unsafe Unmanaged<HTTPServerStream>.fromOpaque($0).takeUnretainedValue()
    }
}

private func owner(_ userData: UnsafeMutableRawPointer?) -> HTTP2ServerSession? {
    unsafe userData.map { unsafe Unmanaged<HTTP2ServerSession>.fromOpaque($0).takeUnretainedValue() }
}

/// Called when a frame begins that nghttp2 will process.
private func serverBeginFrame(
    _ session: OpaquePointer?, _ header: UnsafePointer<nghttp2_frame_hd>?, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    if let header = unsafe header, let owner = unsafe owner(userData), unsafe !owner.accepts(header.pointee) {
        owner.refuse()
    }
    return 0
}

/// Called when a request's header begins, or what follows its body.
private func serverBeginFields(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    if let frame = unsafe frame, unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST {
        unsafe owner(userData)?.open(frame.pointee.hd.stream_id)
    }
    return 0
}

/// Called with one field of it.
private func serverReceiveField(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?,
    _ nameLength: Int, _ value: UnsafePointer<UInt8>?, _ valueLength: Int, _ flags: UInt8,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let stream = unsafe stream(in: session, frame.pointee.hd.stream_id),
        let owner = unsafe owner(userData)
    else {
        return 0
    }
    let isTaken = unsafe owner.receiveField(
        UnsafeBufferPointer(start: name, count: nameLength), UnsafeBufferPointer(start: value, count: valueLength),
        of: stream)
    // nghttp2 resets the stream and ignores the rest of the header: a field of one byte may be expanded to thousands.
    return isTaken ? 0 : Int32(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
}

/// Called with a part of a body.
private func serverReceiveBody(
    _ session: OpaquePointer?, _ flags: UInt8, _ id: Int32, _ bytes: UnsafePointer<UInt8>?, _ count: Int,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let owner = unsafe owner(userData) else { return 0 }
    guard let stream = unsafe stream(in: session, id),
        unsafe owner.receiveBody(UnsafeBufferPointer(start: bytes, count: count), of: stream)
    else {
        owner.skip(count)
        owner.reset(id)
        return 0
    }
    return 0
}

/// Called when a frame is whole and obeys the rules; the bytes of a body were passed before.
private func serverReceiveFrame(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let owner = unsafe owner(userData),
        let stream = unsafe stream(in: session, frame.pointee.hd.stream_id)
    else {
        return 0
    }
    let header = unsafe frame.pointee.hd
    if header.type == UInt8(NGHTTP2_HEADERS.rawValue), unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST {
        owner.note(header: header.length)
    } else if header.type != UInt8(NGHTTP2_HEADERS.rawValue), header.type != UInt8(NGHTTP2_DATA.rawValue) {
        // Of other types this flag means something else.
        return 0
    }
    if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 { owner.complete(stream) }
    return 0
}

/// Called for the next part of a response's body.
private func serverSendBody(
    _ session: OpaquePointer?, _ id: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ length: Int,
    _ flags: UnsafeMutablePointer<UInt32>?, _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _ userData: UnsafeMutableRawPointer?
) -> Int {
    guard let stream = unsafe stream(in: session, id) else {
        return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }
    let (count, isLast) = unsafe stream.nextBody(into: UnsafeMutableRawBufferPointer(start: buffer, count: length))
    if isLast { unsafe flags?.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
    unsafe owner(userData)?.note(unsent: -count)
    return count
}

/// Called when a stream has ended.
private func serverStreamClosed(
    _ session: OpaquePointer?, _ id: Int32, _ code: UInt32, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    if let stream = unsafe stream(in: session, id) { unsafe owner(userData)?.close(stream) }
    return 0
}
