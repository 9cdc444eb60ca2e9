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
