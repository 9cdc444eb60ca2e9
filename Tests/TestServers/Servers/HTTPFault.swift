/// How a `FakeHTTPDNS` misbehaves.
package enum HTTPFault: Sendable, Equatable {
    /// The proper response after this time.
    case delay(Duration)
    /// No response until the fault is removed.
    case hang
    /// Closes the connection instead of answering.
    case closeBeforeReply
    /// Closes the connection in the middle of the body.
    case closeMidBody
    /// Writes bytes that are not HTTP, and closes.
    case garbage
    /// A status with a body, and optionally `Retry-After` in seconds.
    case status(Int, body: String = "", retryAfter: Int? = nil)
    /// At most so many requests at once, each of which takes this time; further ones get this status.
    case atMost(Int, taking: Duration, else: Int, retryAfter: Int? = nil)
    /// A body of so many bytes that begins like the proper one.
    case oversizedBody(Int)
    /// This body, with status 200 and the right content type.
    case body([UInt8])
    /// An answer to another name than the one asked for, in a form of text.
    case wrongName
    /// The head at once, then one byte of the body after each of these times.
    case drip(Duration)
    /// The first text instead of a response, then the second one repeatedly until the client closes.
    case endless(String, String)
    /// A DNS message with only this RCODE, after this time; for `/dns-query` only.
    case rcode(Int, after: Duration = .zero)
}
