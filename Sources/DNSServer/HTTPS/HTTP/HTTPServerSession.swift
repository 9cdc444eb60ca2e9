import Platform

/// HTTP on one connection with a client: received bytes and responses go in, requests and bytes to send come out. It
/// does no input or output.
protocol HTTPServerSession: AnyObject {
    /// Processes received bytes.
    func receive(_ bytes: ArraySlice<UInt8>)

    /// Removes and returns the next whole request.
    func nextRequest() -> HTTPServerStream?

    /// Queues the response to a request, once; without a body it ends at once. One to HEAD is sent without its body.
    func respond(_ response: HTTPServerResponse, to stream: HTTPServerStream)

    /// Appends what is to be sent, until there are at least `limit` bytes or no more.
    func takeOutput(into buffer: inout [UInt8], limit: Int)

    /// The body without an end that is sent now; over HTTP/1.1 alone.
    var feed: HTTPServerFeed? { get }

    /// Queues its next part; nil ends it.
    func continueFeed(_ part: String?)

    /// Takes no further request; those received are still answered.
    func finish()

    /// Whether there is a request for `nextRequest()`.
    var hasRequest: Bool { get }

    /// Whether what has been received is to be handled before more is read.
    var isSaturated: Bool { get }

    /// Whether nothing more is received, and all output has been taken.
    var isOver: Bool { get }

    /// Bytes held for requests and responses.
    var held: Int { get }

    /// Bytes of responses that have not been taken, such as those which the client's windows do not let through yet.
    var unsent: Int { get }
}

/// One request of an HTTP client, as far as it has been received, and the response as far as it has been sent.
final class HTTPServerStream {
    /// The stream identifier of HTTP/2 (RFC 9113 section 5.1.1); 0 over HTTP/1.1.
    let id: Int32
    /// Its index among its session's streams.
    var index = 0
    /// Whether a response can still be sent: the client has not reset it.
    var isOpen = true
    var request = HTTPServerRequest()
    /// Bytes of the request's fields, as RFC 9113 section 6.5.2 counts.
    var header = 0
    var isWhole = false
    /// Whether there is a response.
    var isFinished = false
    /// Whether the response was passed to the session.
    var isAnswered = false
    /// The response's body.
    private var body: [UInt8] = []
    private var sent = 0

    init(id: Int32 = 0) { self.id = id }

    /// Bytes of the response that are not in frames yet.
    var unsent: Int { body.count - sent }

    /// Sets the response's body.
    func answer(_ body: [UInt8]) {
        self.body = body
        isAnswered = true
    }

    /// Copies the next part of the response's body, at most as much as a frame has.
    ///
    /// - Returns: the number of bytes, and whether these are the last.
    func nextBody(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isLast: Bool) {
        let part = body[sent...].prefix(min(buffer.count, HTTPServerLimits.frame))
        unsafe buffer.copyBytes(from: part)
        sent += part.count
        return (part.count, sent == body.count)
    }
}

/// What the sessions of a site share.
final class HTTPSessionShare {
    /// The value of `Date` in their responses (RFC 9110 section 6.6.1): they read no clock. Empty while none is set: the field is
    /// not sent then.
    var date = ""
    /// Memory of nghttp2's.
    private(set) lazy var slots = HTTP2Memory()
    /// Of one response at a time over HTTP/2.
    var fields = HTTP2Fields()
}
