import HTTPDNS
import Scheduling

/// One request on an HTTP/2 connection, and what has come of its reply.
final class HTTP2Stream {
    /// RFC 9113 section 5.1.1; 0 before the request is handed to nghttp2.
    var id: Int32 = 0
    /// Its place among its connection's.
    var index = 0
    let transfer: HTTPTransfer
    let reply = HTTPReply()
    /// How many replies had come on the connection when the request was sent.
    let repliesBefore: Int
    /// Whether the request waited until the connection was ready: before it there was none.
    let hasWaited: Bool
    private let sent: Instant
    private var firstByte: Instant?
    private var sentBody = 0
    private(set) var status = 0
    /// Whether the server has said that this is all (END_STREAM): a stream may end without.
    var isComplete = false
    /// Whether all of a reply has come, and may be used.
    var isAnswered: Bool { isComplete && failure == nil }
    /// Why the reply cannot be used, found before its end.
    private(set) var failure: HTTPFailure?

    init(_ transfer: HTTPTransfer, repliesBefore: Int, hasWaited: Bool, at now: Instant) {
        self.transfer = transfer
        self.repliesBefore = repliesBefore
        self.hasWaited = hasWaited
        sent = now
    }

    // MARK: From nghttp2

    /// Takes one field of the header or trailer.
    ///
    /// - Returns: whether the header still is acceptable.
    func receiveField(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, at now: Instant) -> Bool {
        if firstByte == nil { firstByte = now }
        if name.first == UInt8(ascii: ":") {
            // Of pseudo-fields a response has just this one, and nghttp2 sees to it (RFC 9113 section 8.3.2).
            status = value.prefix(3).reduce(0) { $0 * 10 + Int($1 &- 48) }
            reply.beginHeader()
            // nghttp2 takes any three digits.
            if status < 100 {
                failure = .unusable("the reply is not HTTP")
                return false
            }
        }
        return isWithinLimit(reply.receiveField(name, value))
    }

    /// A header or trailer begins; only a header has a status.
    func beginFields() { reply.endHeader() }

    /// - Returns: whether the body still is within its limit.
    func receiveBody(_ part: UnsafeRawBufferPointer) -> Bool {
        isWithinLimit(reply.receiveBody(part))
    }

    private func isWithinLimit(_ isWithin: Bool) -> Bool {
        if !isWithin { failure = .tooLarge }
        return isWithin
    }

    /// Copies the next part of the request's body.
    ///
    /// - Returns: how many bytes, and whether these are the last.
    func nextBody(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isLast: Bool) {
        let body = transfer.request.body ?? []
        let part = body[sentBody...].prefix(buffer.count)
        buffer.copyBytes(from: part)
        sentBody += part.count
        return (part.count, sentBody == body.count)
    }

    /// The reply, once it is complete.
    var response: HTTPResponse {
        HTTPResponse(
            status: status, contentType: reply.contentType, age: reply.age, retryAfter: reply.retryAfter,
            date: reply.date, body: reply.body, timeToFirstByte: firstByte.map { $0 - sent })
    }
}
