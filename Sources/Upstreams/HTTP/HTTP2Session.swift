import DNSWire
import HTTPDNS
import Platform

/// What a connection speaks once it is made: requests and received bytes go in, bytes and ended streams come out.
protocol HTTPSession: AnyObject {
    /// A stream that has ended, and why.
    typealias Ended = (stream: HTTPStream, code: HTTP2Code)

    /// Whether a further request may be sent on this connection.
    var mayOpen: Bool { get }
    /// Whether the other end has said that it takes no further request (RFC 9113 section 6.8).
    var isClosing: Bool { get }

    /// Queues a stream's request. Requests above the server's limit of concurrent streams wait here.
    ///
    /// - Parameter stream: retained by the caller until it has ended or is reset.
    /// - Throws: `UpstreamFailure.network` without memory, `UpstreamFailure.unusable` for what cannot be sent.
    func open(_ stream: HTTPStream, path: String) throws(UpstreamFailure)

    /// Whether the other end can be asked for a sign of life, which says nothing of any request.
    var pings: Bool { get }
    func ping()

    /// Gives a stream up; it is not reported any more.
    func reset(_ stream: HTTPStream)

    /// Whether nothing is left to send or receive.
    var isOver: Bool { get }

    /// Whether more waits to be sent than if the other end were reading.
    var isStuffed: Bool { get }

    /// Appends what is to be sent, until there are at least `limit` bytes or no more.
    func takeFrames(into buffer: inout [UInt8], limit: Int) throws(UpstreamFailure)

    /// Processes received bytes. Throws `UpstreamFailure.network` when the connection cannot be used any more.
    func receive(_ bytes: UnsafeRawBufferPointer, at now: Instant) throws(UpstreamFailure)

    /// The other end sends no more, and has said so.
    func receiveEnd()

    /// Counts received bytes of TLS's own; a negative number takes bytes back that were counted before.
    ///
    /// - Throws: `UpstreamFailure.network` when there are too many: each costs little, but an endless sequence of PINGs,
    ///   empty frames or new keys keeps a core busy.
    func noteOverhead(_ count: Int) throws(UpstreamFailure)

    /// Whether the request's header was sent. A request queued in the turn in which the connection ends was not.
    func isSent(_ stream: HTTPStream) -> Bool

    /// Moves the streams that have ended into `buffer`, which is empty, in the order in which they are to be reported.
    func takeEnded(into buffer: inout [Ended])
}

/// HTTP/2 on one connection with a service (RFC 9113): requests and received bytes go in, frames and ended streams come out.
///
/// What the engine calls only fills streams and records their ends.
final class HTTP2Session: HTTPSession {
    /// The most frames that may wait to be sent: more than all requests need. Above that the other end does not read.
    private static let queueLimit = 1_024

    private let engine: HTTP2Engine
    /// The fields of the request being sent; the first ones are the same for all.
    private var fields = HTTP2Fields()
    private let fixedFields: Int
    private var ended: [Ended] = []
    /// The number of streams that have ended otherwise, reset by the server or by us.
    private var lost = 0
    /// Bytes that may yet be received that are not part of replies.
    private var overheadLeft = HTTPLimits.overhead
    /// When the bytes being processed were received.
    private var now = Instant(nanoseconds: 0)

    /// `authority` is host and port as in a URL, `bodyLimit` the most bytes of a reply's body. Throws without memory.
    init(authority: String, bodyLimit: Int = HTTPLimits.body) throws(UpstreamFailure) {
        // A stream's flow-control window is never updated: it is one byte more than the limit of a body, so that when a
        // body is found too long no more of it is in transit.
        let streamWindow = UInt32(bodyLimit + 1)
        // The connection's is the windows of all streams.
        let window = Int32(HTTPLimits.streams) * Int32(streamWindow)
        guard
            let engine = HTTP2Engine(
                .client,
                [
                    .enablePush: 0, .initialWindowSize: streamWindow, .maxHeaderListSize: UInt32(HTTPLimits.header),
                ],
                window: window)
        else { throw .network("no memory for HTTP/2") }
        self.engine = engine
        fields.add(":scheme", "https")
        fields.add(":authority", authority)
        fixedFields = fields.count
        unsafe engine.peer = self
    }

    // MARK: Requests

    /// Whether a further request may be sent: the other end is not closing the connection and has no reason to, stream
    /// identifiers are left, and enough of the received bytes are replies.
    var mayOpen: Bool {
        lost < HTTPLimits.lostStreams && overheadLeft >= HTTPLimits.overhead / 2 && engine.mayRequest
    }

    var isClosing: Bool { !engine.mayRequest }

    /// The requests that the server allows at once; `UInt32.max` until it has sent its limit.
    var streamLimit: UInt32 { engine.streamLimit }

    func open(_ stream: HTTPStream, path: String) throws(UpstreamFailure) {
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
        let id = engine.request(&fields, hasBody: request.body != nil, for: stream)
        guard id > 0 else { throw .network(HTTP2Engine.text(id)) }
        stream.id = id
        overheadLeft = min(overheadLeft + HTTPLimits.overheadPerRequest, HTTPLimits.overhead)
    }

    var pings: Bool { true }

    func ping() { engine.ping() }

    func reset(_ stream: HTTPStream) {
        lost += 1
        engine.attach(nil, to: stream.id)
        engine.reset(stream.id, .cancel)
    }

    // MARK: Bytes

    func receiveEnd() {}

    var isOver: Bool { engine.isOver }

    var isStuffed: Bool { engine.queued > Self.queueLimit }

    func takeFrames(into buffer: inout [UInt8], limit: Int) throws(UpstreamFailure) {
        let code = engine.takeFrames(into: &buffer, limit: limit)
        guard code == 0 else { throw .network(HTTP2Engine.text(code)) }
    }

    func receive(_ bytes: UnsafeRawBufferPointer, at now: Instant) throws(UpstreamFailure) {
        self.now = now
        overheadLeft -= bytes.count
        let code = unsafe engine.receive(bytes)
        guard code == 0 else { throw .network(HTTP2Engine.text(code)) }
        try noteOverhead(0)
    }

    func noteOverhead(_ count: Int) throws(UpstreamFailure) {
        overheadLeft -= count
        guard overheadLeft >= 0 else { throw .network("the server sends too much beside replies") }
    }

    func isSent(_ stream: HTTPStream) -> Bool { engine.hasStream(stream.id) }

    func takeEnded(into buffer: inout [Ended]) {
        swap(&ended, &buffer)
        if buffer.count > 1 { buffer.sort(by: Self.isReportedFirst) }
    }

    /// Refused requests are sent again before the requests that replace answered ones, and in their original order;
    /// otherwise some would be refused on one connection after another. nghttp2 reports streams in no order.
    private static func isReportedFirst(_ left: Ended, _ right: Ended) -> Bool {
        let wasLeftRefused = left.code == .refusedStream
        guard wasLeftRefused == (right.code == .refusedStream) else { return wasLeftRefused }
        return left.stream.id < right.stream.id
    }

    private func note(_ stream: HTTPStream, _ code: HTTP2Code) {
        if code != .none || !stream.isAnswered { lost += 1 }
        ended.append((stream, code))
    }

    /// Ends a stream whose reply is not acceptable; it has to be reset.
    private func refuse(_ stream: HTTPStream) {
        note(stream, .cancel)
        engine.attach(nil, to: stream.id)
    }
}

extension HTTP2Session: HTTP2Peer {
    func allows(_ frame: HTTP2Frame) -> Bool { true }

    /// Only a header has a status, with which it begins again.
    func beginFields(_ frame: HTTP2Frame, of stream: AnyObject?) { (stream as? HTTPStream)?.endHeader() }

    func receiveField(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, of stream: AnyObject) -> Bool {
        guard let stream = stream as? HTTPStream else { return false }
        // A response has this pseudo-header field only, which nghttp2 enforces (RFC 9113 section 8.3.2); of its value any
        // three digits.
        let isTaken =
            if unsafe name.first == UInt8(ascii: ":") {
                unsafe stream.begin(
                    status: UnsafeRawBufferPointer(rebasing: value.prefix(3)), length: name.count + value.count, at: now
                )
            } else {
                unsafe stream.receiveField(name, value)
            }
        if isTaken { return true }
        refuse(stream)
        return false
    }

    func receiveBody(_ part: UnsafeRawBufferPointer, of stream: AnyObject?, id: Int32) {
        engine.consume(part.count)
        guard let stream = stream as? HTTPStream else { return }
        if unsafe stream.receiveBody(part) {
            overheadLeft += part.count
        } else {
            refuse(stream)
            engine.reset(id, .cancel)
        }
    }

    func receive(_ frame: HTTP2Frame, of stream: AnyObject) {
        if frame.endsStream { (stream as? HTTPStream)?.isComplete = true }
        if case .headers = frame.kind { overheadLeft += frame.length }
    }

    func nextBody(into buffer: UnsafeMutableRawBufferPointer, of stream: AnyObject) -> (count: Int, isLast: Bool) {
        unsafe (stream as? HTTPStream)?.nextBody(into: buffer) ?? (0, true)
    }

    func close(_ stream: AnyObject, _ code: HTTP2Code) {
        if let stream = stream as? HTTPStream { note(stream, code) }
    }
}
