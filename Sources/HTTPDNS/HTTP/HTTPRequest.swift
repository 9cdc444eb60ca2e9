/// An HTTP request without scheme, host and port, which belong to the address.
package struct HTTPRequest: Hashable, Sendable {
    /// Path and query, percent-encoded, beginning with a slash. May contain a signature: never logged.
    package var target: String
    /// Names and values in the order in which they are sent.
    package var headers: [[String]]
    /// Sent with POST; nil: GET.
    package var body: [UInt8]?

    package init(target: String, headers: [[String]] = [], body: [UInt8]? = nil) {
        self.target = target
        self.headers = headers
        self.body = body
    }
}
