import DNSWire
import HTTPDNS
import Scheduling

/// One request on an HTTP/2 connection, and its reply as far as it has been received.
final class HTTP2Stream {
    /// The stream identifier (RFC 9113 section 5.1.1); 0 before the request is given to nghttp2.
    var id: Int32 = 0
    /// Its index among its connection's streams.
    var index = 0
    let request: HTTPRequest
    let reply: HTTPReply
    private let sent: Instant
    private var firstByte: Instant?
    private var sentBody = 0
    private(set) var status = 0
    /// Whether the server has ended its side (END_STREAM): a stream may end without that.
    var isComplete = false
    /// Whether the reply is complete and may be used.
    var isAnswered: Bool { isComplete && failure == nil }
    /// Why the reply cannot be used, found before its end.
    private(set) var failure: UpstreamFailure?

    init(_ request: HTTPRequest, isDocument: Bool = false, at now: Instant) {
        self.request = request
        reply = HTTPReply(isDocument: isDocument)
        sent = now
    }

    // MARK: From nghttp2

    /// Takes one field of the header or trailer.
    ///
    /// - Returns: whether the header is still acceptable.
    func receiveField(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, at now: Instant) -> Bool {
        if firstByte == nil { firstByte = now }
        if unsafe name.first == UInt8(ascii: ":") {
            // A response has this pseudo-header field only, which nghttp2 enforces (RFC 9113 section 8.3.2).
            reply.beginHeader()
            // nghttp2 accepts any three digits.
            guard let code = unsafe OutsideNumber(digits: value.prefix(3))?.within(100...999) else {
                failure = .unusable("the reply is not HTTP")
                return false
            }
            status = code
        }
        return unsafe isWithinLimit(reply.receiveField(name, value))
    }

    /// Called when a header or trailer begins; only a header has a status.
    func beginFields() { reply.endHeader() }

    /// - Returns: whether the body is still within its limit.
    func receiveBody(_ part: UnsafeRawBufferPointer) -> Bool {
        unsafe isWithinLimit(reply.receiveBody(part))
    }

    private func isWithinLimit(_ isWithin: Bool) -> Bool {
        if !isWithin { failure = .tooLarge }
        return isWithin
    }

    /// Copies the next part of the request's body.
    ///
    /// - Returns: the number of bytes, and whether these are the last.
    func nextBody(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isLast: Bool) {
        let body = request.body ?? []
        let part = body[sentBody...].prefix(buffer.count)
        unsafe buffer.copyBytes(from: part)
        sentBody += part.count
        return (part.count, sentBody == body.count)
    }

    /// The reply, once it is complete.
    var response: HTTPResponse {
        HTTPResponse(
            status: status, contentType: reply.contentType, age: reply.age, retryAfter: reply.retryAfter,
            date: reply.date, entityTag: reply.entityTag, compression: reply.compression, body: reply.body,
            timeToFirstByte: firstByte.map { $0 - sent })
    }
}
