/// How a `FakeHTTPDNS` misbehaves.
package enum HTTPFault: Sendable, Equatable {
    /// Answers properly, so much later.
    case delay(Duration)
    /// Takes the request and answers once the fault is taken away, or never.
    case hang
    /// Closes the connection instead of answering.
    case closeBeforeReply
    /// Closes the connection in the middle of the body.
    case closeMidBody
    /// Writes bytes that are no HTTP, and closes.
    case garbage
    /// A status with a body, and perhaps `Retry-After` seconds.
    case status(Int, body: String = "", retryAfter: Int? = nil)
    /// A body of so many bytes that starts like the right one.
    case oversizedBody(Int)
    /// A body cut in half, whose length matches: HTTP is in order, its content is not.
    case truncatedBody
    /// `Content-Length` promises more than is sent before the connection closes.
    case lyingLength
    /// The right body under another content type.
    case contentType(String)
    /// This body, with status 200 and the right content type.
    case body([UInt8])
    /// Answers another name than was asked.
    case wrongName
    /// The head at once, then one byte of the body after each of these times.
    case drip(Duration)
    /// The first text instead of a reply, then the second one again and again until the client closes.
    case endless(String, String)
    /// A DNS message with this RCODE and nothing else; of `/dns-query` only.
    case rcode(Int)
    /// A DNS message whose ID is not the one that was sent.
    case wrongID
}
