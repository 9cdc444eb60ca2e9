import CNghttp2
import DNSWire
import HTTPDNS
import Scheduling

/// HTTP/2 on one connection (RFC 9113), by nghttp2: requests and received bytes go in, frames and ended streams come
/// out.
///
/// nghttp2's callbacks only fill streams and record their ends.
@safe final class HTTP2Session {
    /// A stream that has ended, and its error code (RFC 9113 section 7), 0 for none.
    typealias Ended = (stream: HTTP2Stream, code: UInt32)

    /// The most frames that may wait to be sent: more than all requests need. Above that the other end does not read.
    private static let queueLimit = 1_024

    private let session: OpaquePointer
    /// The fields of the request being sent; the first ones are the same for all.
    private var fields = HTTP2Fields()
    private let fixedFields: Int
    /// The streams that have ended since the last `takeEnded()`.
    private var ended: [Ended] = []
    /// Room for them, which was given back.
    private var room: [Ended] = []
    /// The number of streams that have ended otherwise, reset by the server or by us.
    private var lost = 0
    /// Bytes that may yet be received that are not part of replies.
    private var overheadLeft = HTTPLimits.overhead
    /// When the bytes being processed were received.
    fileprivate var now = Instant(nanoseconds: 0)

    /// - Parameters:
    ///   - authority: host and port as in a URL.
    ///   - bodyLimit: the most bytes of a reply's body, at most `HTTPLimits.document`.
    /// - Throws: `UpstreamFailure.network` without memory.
    init(authority: String, bodyLimit: Int = HTTPLimits.body) throws(UpstreamFailure) {
        // A stream's flow-control window is never updated: it is one byte more than the limit of a body, so that when a
        // body is found too long no more of it is in transit.
        let streamWindow = UInt32(bodyLimit + 1)
        // The connection's is the windows of all streams.
        let window = Int32(HTTPLimits.streams) * Int32(streamWindow)
        fields.add(":scheme", "https")
        fields.add(":authority", authority)
        fixedFields = fields.count
        var callbacks: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks = unsafe callbacks else {
            throw Self.noMemory
        }
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, http2BeginFields)
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, http2ReceiveField)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, http2ReceiveBody)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, http2ReceiveFrame)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, http2StreamClosed)
        var session: OpaquePointer?
        var options: OpaquePointer?
        guard unsafe nghttp2_option_new(&options) == 0, let options = unsafe options else { throw Self.noMemory }
        defer { unsafe nghttp2_option_del(options) }
        unsafe nghttp2_option_set_no_auto_window_update(options, 1)
        guard unsafe nghttp2_session_client_new2(&session, callbacks, nil, options) == 0, let session = unsafe session
        else {
            throw Self.noMemory
        }
        unsafe self.session = unsafe session
        unsafe nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
        let settings = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: streamWindow),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: UInt32(HTTPLimits.header)),
        ]
        let none = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        guard unsafe nghttp2_submit_settings(session, none, settings, settings.count) == 0,
            unsafe nghttp2_session_set_local_window_size(session, none, 0, window) == 0
        else { throw Self.noMemory }
    }

    private static let noMemory = UpstreamFailure.network("no memory for HTTP/2")

    deinit { unsafe nghttp2_session_del(session) }

    // MARK: Requests

    /// Whether a further request may be sent: the other end is not closing the connection and has no reason to, stream
    /// identifiers are left, and enough of the received bytes are replies.
    var mayOpen: Bool {
        unsafe lost < HTTPLimits.lostStreams && overheadLeft >= HTTPLimits.overhead / 2
            && nghttp2_session_check_request_allowed(session) != 0
    }

    /// The requests that the server allows at once; `UInt32.max` until it has sent its limit.
    var streamLimit: UInt32 {
        unsafe nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
    }

    /// Queues a stream's request. Requests above the server's limit of concurrent streams wait here.
    ///
    /// - Parameter stream: retained by the caller until it has ended or is reset.
    func open(_ stream: HTTP2Stream, path: String) throws(UpstreamFailure) {
        let request = stream.request
        fields.removeAll(after: fixedFields)
        fields.add(":method", request.body == nil ? "GET" : "POST")
        fields.add(":path", path)
        fields.add("user-agent", "httpdnsd")
        // Nothing is decompressed here: so no reply grows beyond the limit of its body.
        fields.add("accept-encoding", "identity")
        var isAnythingAccepted = true
        for field in request.headers {
            let name = field[0].lowercased()
            if name == "accept" { isAnythingAccepted = false }
            fields.add(name, field[1])
        }
        if isAnythingAccepted { fields.add("accept", "*/*") }
        if let body = request.body { fields.add("content-length", "\(body.count)") }
        let object = unsafe Unmanaged.passUnretained(stream).toOpaque()
        let id = unsafe fields.withPairs { pairs in
            guard request.body != nil else {
                return unsafe nghttp2_submit_request(session, nil, pairs.baseAddress, pairs.count, nil, object)
            }
            var body = unsafe nghttp2_data_provider(
                source: nghttp2_data_source(ptr: object), read_callback: http2SendBody)
            return unsafe nghttp2_submit_request(session, nil, pairs.baseAddress, pairs.count, &body, object)
        }
        guard id > 0 else { throw .network(Self.text(id)) }
        stream.id = id
        overheadLeft = min(overheadLeft + HTTPLimits.overheadPerRequest, HTTPLimits.overhead)
    }

    /// Asks the other end for a sign of life; what it sends says nothing of any request.
    func ping() { unsafe nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil) }

    /// Resets a stream; it is not reported any more.
    func reset(_ stream: HTTP2Stream) {
        lost += 1
        forget(stream)
        cancel(stream)
    }

    fileprivate func cancel(_ stream: HTTP2Stream) {
        unsafe nghttp2_submit_rst_stream(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.id, UInt32(NGHTTP2_CANCEL.rawValue))
    }

    /// Stops all reports about a stream.
    private func forget(_ stream: HTTP2Stream) { unsafe nghttp2_session_set_stream_user_data(session, stream.id, nil) }

    // MARK: Bytes

    /// Whether nothing is left to send or receive.
    var isOver: Bool { unsafe nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0 }

    /// Whether more frames wait to be sent than if the other end were reading.
    var isStuffed: Bool { unsafe nghttp2_session_get_outbound_queue_size(session) > Self.queueLimit }

    /// Appends the frames to be sent, until there are at least `limit` bytes or no more frames.
    func takeFrames(into buffer: inout [UInt8], limit: Int) throws(UpstreamFailure) {
        while buffer.count < limit {
            var bytes: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(session, &bytes)
            guard count >= 0 else { throw .network(Self.text(Int32(clamping: count))) }
            if count == 0 { return }
            unsafe buffer.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
        }
    }

    /// Processes received bytes.
    ///
    /// - Throws: `UpstreamFailure.network` when they are not HTTP/2, or too many that are not part of replies; the
    ///   connection cannot be used any more then.
    func receive(_ bytes: UnsafeRawBufferPointer, at now: Instant) throws(UpstreamFailure) {
        self.now = now
        overheadLeft -= bytes.count
        let count = unsafe nghttp2_session_mem_recv(
            session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        guard count >= 0 else { throw .network(Self.text(Int32(clamping: count))) }
        try noteOverhead(0)
    }

    /// Counts received bytes of TLS's own; a negative number takes bytes back that were counted before.
    ///
    /// - Throws: `UpstreamFailure.network` when there are too many: each costs little, but an endless sequence of PINGs,
    ///   empty frames or new keys keeps a core busy.
    func noteOverhead(_ count: Int) throws(UpstreamFailure) {
        overheadLeft -= count
        guard overheadLeft >= 0 else { throw .network("the server sends too much beside replies") }
    }

    /// Whether the request's header was sent. A request queued in the turn in which the connection ends was not.
    func isSent(_ stream: HTTP2Stream) -> Bool {
        unsafe nghttp2_session_get_stream_user_data(session, stream.id) != nil
    }

    /// The streams that have ended since the last call.
    func takeEnded() -> [Ended] {
        defer {
            ended = room
            room = []
        }
        return ended
    }

    /// Takes back the room of what `takeEnded()` returned, to be used again.
    func giveBack(_ taken: inout [Ended]) {
        swap(&room, &taken)
        room.removeAll(keepingCapacity: room.capacity <= Self.mostRoom)
    }

    /// The most ends for which room is retained.
    private static let mostRoom = 256

    fileprivate func note(_ stream: HTTP2Stream, _ code: UInt32) {
        if code != 0 || !stream.isAnswered { lost += 1 }
        ended.append((stream, code))
    }

    /// Counts received bytes that belong to a reply.
    fileprivate func noteReply(_ count: Int) { overheadLeft += count }

    /// Reopens the connection's flow-control window by a received part of a body, for any stream.
    fileprivate func noteTaken(_ count: Int) { unsafe nghttp2_session_consume_connection(session, count) }

    /// Ends a stream whose reply is not acceptable; the caller has to reset it.
    fileprivate func refuse(_ stream: HTTP2Stream) {
        note(stream, UInt32(NGHTTP2_CANCEL.rawValue))
        forget(stream)
    }

    /// The code of a stream that the server has not processed.
    static let refusedStream = UInt32(NGHTTP2_REFUSED_STREAM.rawValue)
    /// The code of a stream whose request must be sent over HTTP/1.1.
    static let downgradedStream = UInt32(NGHTTP2_HTTP_1_1_REQUIRED.rawValue)

    /// An error code as text.
    static func reason(_ code: UInt32) -> String {
        unsafe "HTTP/2: the stream was reset (\(String(cString: nghttp2_http2_strerror(code))))"
    }

    private static func text(_ code: Int32) -> String { unsafe "HTTP/2: \(String(cString: nghttp2_strerror(code)))" }
}

// nghttp2's callbacks, called inside our calls to it.

/// The stream of a frame; nil for one that is not reported any more.
private func stream(in session: OpaquePointer?, _ id: Int32) -> HTTP2Stream? {
    unsafe nghttp2_session_get_stream_user_data(session, id).map {
        unsafe Unmanaged<HTTP2Stream>.fromOpaque($0).takeUnretainedValue()
    }
}

private func owner(_ userData: UnsafeMutableRawPointer?) -> HTTP2Session? {
    unsafe userData.map { unsafe Unmanaged<HTTP2Session>.fromOpaque($0).takeUnretainedValue() }
}

/// Called when a header or trailer begins.
private func http2BeginFields(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    if let frame = unsafe frame { unsafe stream(in: session, frame.pointee.hd.stream_id)?.beginFields() }
    return 0
}

/// Called with one field of it.
private func http2ReceiveField(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?,
    _ nameLength: Int, _ value: UnsafePointer<UInt8>?, _ valueLength: Int, _ flags: UInt8,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let stream = unsafe stream(in: session, frame.pointee.hd.stream_id),
        let owner = unsafe owner(userData)
    else {
        return 0
    }
    let isTaken = unsafe stream.receiveField(
        UnsafeRawBufferPointer(start: name, count: nameLength),
        UnsafeRawBufferPointer(start: value, count: valueLength), at: owner.now)
    if isTaken { return 0 }
    owner.refuse(stream)
    // nghttp2 resets the stream and ignores the rest of the header: a field of one byte may be expanded to thousands.
    return Int32(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
}

/// Called with a part of a body.
private func http2ReceiveBody(
    _ session: OpaquePointer?, _ flags: UInt8, _ id: Int32, _ bytes: UnsafePointer<UInt8>?, _ count: Int,
    _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let owner = unsafe owner(userData) else { return 0 }
    owner.noteTaken(count)
    guard let stream = unsafe stream(in: session, id) else { return 0 }
    if unsafe stream.receiveBody(UnsafeRawBufferPointer(start: bytes, count: count)) {
        owner.noteReply(count)
    } else {
        owner.refuse(stream)
        owner.cancel(stream)
    }
    return 0
}

/// Called when a frame is complete; the bytes of a body were passed before.
private func http2ReceiveFrame(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let header = unsafe frame?.pointee.hd, header.stream_id != 0,
        let stream = unsafe stream(in: session, header.stream_id)
    else {
        return 0
    }
    if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 { stream.isComplete = true }
    if header.type == UInt8(NGHTTP2_HEADERS.rawValue) { unsafe owner(userData)?.noteReply(header.length) }
    return 0
}

/// Called for the next part of a request's body.
private func http2SendBody(
    _ session: OpaquePointer?, _ id: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ length: Int,
    _ flags: UnsafeMutablePointer<UInt32>?, _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _ userData: UnsafeMutableRawPointer?
) -> Int {
    guard let stream = unsafe stream(in: session, id) else {
        return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }
    let (count, isLast) = unsafe stream.nextBody(into: UnsafeMutableRawBufferPointer(start: buffer, count: length))
    if isLast { unsafe flags?.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
    return count
}

/// Called when a stream has ended.
private func http2StreamClosed(
    _ session: OpaquePointer?, _ id: Int32, _ code: UInt32, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    if let stream = unsafe stream(in: session, id), let owner = unsafe owner(userData) { owner.note(stream, code) }
    return 0
}
