import Scheduling

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
    /// Whether the request is whole.
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

/// The body of a response without an end: a part at once, and one at each interval, unless the client has yet to receive the
/// one before. An object: few responses have one.
package final class HTTPServerFeed: Sendable {
    /// How long after one part the next is made.
    package let interval: Duration
    /// Whether the connection stays for as long as the client reads nothing. Else it is closed as one that reads no other
    /// response.
    package let isPatient: Bool
    /// Called when the client has received a piece of a part.
    package let wasRead: @Loop @Sendable () -> Void
    /// Makes the next part; empty: there is nothing to send; nil: there are no more.
    package let next: @Loop @Sendable () -> String?

    package init(
        every interval: Duration, isPatient: Bool, wasRead: @escaping @Loop @Sendable () -> Void = {},
        next: @escaping @Loop @Sendable () -> String?
    ) {
        self.interval = interval
        self.isPatient = isPatient
        self.wasRead = wasRead
        self.next = next
    }
}

/// The limits of one HTTP client, over either version.
package enum HTTPServerLimits {
    /// Bytes of a request's header: over HTTP/2 as counted by RFC 9113 section 6.5.2. A DNS message of 512 bytes takes
    /// some 700 in a target.
    package static let header = 8 << 10
    /// Bytes of a request's body: the longest DNS message.
    package static let body = 65_535
    /// Requests of one connection that are handled in one turn of the loop: a client may send hundreds at once, with
    /// responses that take as long to make as they are long.
    static let handled = 32

    // MARK: HTTP/2

    /// Requests of a connection at once.
    static let streams = 100
    /// The flow-control window of a stream, which is never reopened: with one byte more than the limit of a body, none
    /// of it is in transit when a body is found too long.
    static let streamWindow = body + 1
    /// The flow-control window of a connection: bytes of unfinished bodies that it holds at most.
    static let window = 256 << 10
    /// Bytes that a client may send beside whole requests before the connection ends.
    static let overhead = 64 << 10
    /// Bytes of these that each whole response gives back: PING, WINDOW_UPDATE, PRIORITY and SETTINGS of an honest
    /// client.
    static let overheadPerResponse = 256
    /// Bytes of these that a stream takes that ends without a whole response, whichever side resets it: 128 in a row end the
    /// connection.
    static let overheadPerReset = 512
    /// Bytes of a response's body in one frame, such that its memory in nghttp2 is in a page that the session has touched
    /// already (`HTTP2SessionMemory`). Most responses are shorter.
    static let frame = 1_024
    /// Bytes that a stream takes beside its request and response, most of them in nghttp2.
    static let heldByStream = 512
    /// Frames that wait to be sent, above which the connection is not read.
    static let queuedFrames = 256
}
