import Platform

/// HTTP/2 on one connection with a client (RFC 9113).
///
/// What the engine calls only fills streams and records their ends. Every received byte that is not part of a whole request
/// comes out of a budget, and so does every stream that ends without a whole response: so streams that are reset at once
/// (CVE-2023-44487), headers without an end (CVE-2024-27316), SETTINGS, PING and empty frames all end the connection
/// before they cost anything. nghttp2 1.52 itself bounds only the SETTINGS and PING frames that wait to be acknowledged;
/// Debian's also the parts of a header (CVE-2024-28182).
final class HTTP2ServerSession: HTTPServerSession {
    private let engine: HTTP2Engine
    private let shared: HTTPSessionShare
    /// The streams that the engine has, which holds no reference to them.
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
    init?(in shared: HTTPSessionShare) {
        let made = HTTP2Engine(
            .server(in: shared.slots, queuedFrames: HTTPServerLimits.queuedFrames),
            [
                .maxConcurrentStreams: UInt32(HTTPServerLimits.streams),
                .initialWindowSize: UInt32(HTTPServerLimits.streamWindow),
                .maxHeaderListSize: UInt32(HTTPServerLimits.header),
                // Priorities make nghttp2 remember streams that do not exist.
                .noPriorities: 1,
            ],
            window: Int32(HTTPServerLimits.window))
        guard let made else { return nil }
        (engine, self.shared) = (made, shared)
        unsafe engine.peer = self
    }

    // MARK: Bytes

    func receive(_ bytes: ArraySlice<UInt8>) {
        guard !isBroken, !isDead else { return }
        overheadLeft -= bytes.count
        let code = unsafe bytes.withUnsafeBytes { unsafe engine.receive($0) }
        if code < 0 {
            // This is no HTTP/2, or too many frames wait to be acknowledged, or no memory is left.
            isDead = true
        } else if overheadLeft < 0 {
            isBroken = true
            engine.terminate(.enhanceYourCalm)
        }
    }

    var feed: HTTPServerFeed? { nil }

    func continueFeed(_ part: String?) {}

    func takeOutput(into buffer: inout [UInt8], limit: Int) {
        guard !isDead else { return }
        if engine.takeFrames(into: &buffer, limit: limit) < 0 { isDead = true }
    }

    func finish() { engine.goAway() }

    var hasRequest: Bool { !requests.isEmpty }

    var isSaturated: Bool { engine.queued > HTTPServerLimits.queuedFrames }

    var isOver: Bool { isDead || engine.isOver }

    // MARK: Requests

    func nextRequest() -> HTTPServerStream? { requests.isEmpty ? nil : requests.removeFirst() }

    func respond(_ response: HTTPServerResponse, to stream: HTTPServerStream) {
        guard stream.isOpen, !stream.isAnswered else { return }
        guard response.feed == nil else { return engine.reset(stream.id, .downgraded) }
        let body = stream.request.method == .head ? [] : response.body
        stream.answer(body)
        note(unsent: body.count)
        shared.fields.set(response, date: shared.date)
        guard !engine.respond(&shared.fields, hasBody: !body.isEmpty, to: stream.id) else { return }
        engine.reset(stream.id, .enhanceYourCalm)
    }

    /// Counts bytes of a response as waiting for the client's windows; a negative number: no more.
    private func note(unsent count: Int) {
        unsent += count
        held += count
    }

    private func open(_ id: Int32) {
        let stream = HTTPServerStream(id: id)
        stream.index = streams.count
        streams.append(stream)
        held += HTTPServerLimits.heldByStream
        engine.attach(stream, to: id)
    }

    /// Takes a part of a request's body.
    ///
    /// - Returns: whether the request is still acceptable.
    private func take(_ part: UnsafeRawBufferPointer, of stream: HTTPServerStream) -> Bool {
        guard stream.request.body.count + part.count <= HTTPServerLimits.body else { return false }
        unsafe stream.request.body.append(contentsOf: part)
        held += part.count
        // The frame's own header is not part of the request.
        overheadLeft += part.count
        return true
    }

    /// Takes a request that is whole.
    private func complete(_ stream: HTTPServerStream) {
        engine.consume(stream.request.body.count)
        stream.isWhole = true
        requests.append(stream)
    }

    private func drop(_ stream: HTTPServerStream) {
        let isServed = stream.isAnswered && stream.unsent == 0
        overheadLeft += isServed ? HTTPServerLimits.overheadPerResponse : -HTTPServerLimits.overheadPerReset
        overheadLeft = min(overheadLeft, HTTPServerLimits.overhead)
        if !stream.isWhole { engine.consume(stream.request.body.count) }
        held -= HTTPServerLimits.heldByStream + stream.header + stream.request.body.count + stream.unsent
        unsent -= stream.unsent
        stream.isOpen = false
        requests.removeAll { $0 === stream }
        let last = streams.removeLast()
        guard stream.index < streams.count else { return }
        streams[stream.index] = last
        last.index = stream.index
    }
}

extension HTTP2ServerSession: HTTP2Peer {
    /// nghttp2 ignores two frames that end a connection.
    func allows(_ frame: HTTP2Frame) -> Bool {
        switch frame.kind {
        // RFC 9113 section 6.3.
        case .priority: if frame.stream != 0 { return true }
        case .headers:
            // RFC 9113 section 5.1.1. What is lower and was not skipped has been a stream, and may come late.
            if skipped?.contains(frame.stream) == true { break }
            guard frame.stream > lastStream else { return true }
            if frame.stream &- lastStream > 2 { skipped = lastStream &+ 1...frame.stream &- 1 }
            lastStream = frame.stream
            return true
        default: return true
        }
        isBroken = true
        return false
    }

    func beginFields(_ frame: HTTP2Frame, of stream: AnyObject?) {
        if case .headers(isRequest: true) = frame.kind { open(frame.stream) }
    }

    /// Of what follows a body each field only counts.
    func receiveField(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, of stream: AnyObject) -> Bool {
        guard let stream = stream as? HTTPServerStream else { return false }
        // As RFC 9113 section 6.5.2 counts.
        let size = name.count + value.count + 32
        stream.header += size
        held += size
        guard stream.header <= HTTPServerLimits.header else { return false }
        return unsafe stream.request.take(
            name.assumingMemoryBound(to: UInt8.self), value.assumingMemoryBound(to: UInt8.self))
    }

    func receiveBody(_ part: UnsafeRawBufferPointer, of stream: AnyObject?, id: Int32) {
        if let stream = stream as? HTTPServerStream, unsafe take(part, of: stream) { return }
        engine.consume(part.count)
        engine.reset(id, .enhanceYourCalm)
    }

    func receive(_ frame: HTTP2Frame, of stream: AnyObject) {
        guard let stream = stream as? HTTPServerStream else { return }
        if case .headers(isRequest: true) = frame.kind { overheadLeft += frame.length }
        if frame.endsStream { complete(stream) }
    }

    func nextBody(into buffer: UnsafeMutableRawBufferPointer, of stream: AnyObject) -> (count: Int, isLast: Bool) {
        guard let stream = stream as? HTTPServerStream else { return (0, true) }
        let part = unsafe stream.nextBody(into: buffer)
        note(unsent: -part.count)
        return part
    }

    func close(_ stream: AnyObject, _ code: HTTP2Code) {
        if let stream = stream as? HTTPServerStream { drop(stream) }
    }
}

extension HTTP2Fields {
    /// Replaces all by those of a response.
    ///
    /// - Parameter date: as in the field `date`; empty: none.
    mutating func set(_ response: HTTPServerResponse, date: String) {
        removeAll(after: 0)
        add(":status", String(response.status.code))
        if let type = response.contentType { add("content-type", type) }
        add("content-length", String(response.body.count))
        add("cache-control", response.cacheControl, isIndexed: false)
        if !date.isEmpty { add("date", date, isIndexed: false) }
        for field in response.fields { add(field.name, field.value) }
    }
}
