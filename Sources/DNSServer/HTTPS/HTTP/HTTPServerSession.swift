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
