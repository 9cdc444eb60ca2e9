/// The limits of one HTTP client, over either version.
package enum HTTPServerLimits {
    /// Bytes of a request's header: over HTTP/2 as counted by RFC 9113 section 6.5.2. A DNS message of 512 bytes takes
    /// some 700 in a target.
    package static let header = 8 << 10
    /// Bytes of a request's body: the longest DNS message.
    package static let body = 65_535
}
