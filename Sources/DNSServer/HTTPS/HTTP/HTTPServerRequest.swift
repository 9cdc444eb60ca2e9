/// A complete request of an HTTP client, over either version. All of it is hostile input, within `HTTPServerLimits`.
package struct HTTPServerRequest: Sendable {
    /// What a client may ask for.
    package enum Method: String, CaseIterable, Sendable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
        case other = ""
    }

    /// What else is read of a header over HTTP/1.1.
    package enum Field: Sendable {
        case host
        case accept
        /// The site whose page asks, where a browser says it (RFC 6454 section 7).
        case origin
        /// `Sec-Fetch-Site`: how that site is related to this one (W3C Fetch Metadata section 2.4).
        case site
    }

    /// The media type of a body; its parameters are ignored.
    package enum MediaType: Sendable {
        /// `application/dns-message` (RFC 8484 section 6).
        case dnsMessage
        case other
    }

    package var method: Method
    /// Path and query as sent, percent-encoded: printable ASCII that begins with a slash. May contain a token or a
    /// signature: never logged.
    package var target: [UInt8]
    /// Nil without the field `Content-Type`.
    package var contentType: MediaType?
    /// The values of `CDN-Loop` (RFC 8586), separated by commas; nil without that field.
    package var loop: String?
    /// Those that came, over HTTP/1.1.
    package var fields: [Field: String] = [:]
    /// At most `HTTPServerLimits.body` bytes; empty without a body.
    package var body: [UInt8]

    package init(
        method: Method = .other, target: [UInt8] = [], contentType: MediaType? = nil, loop: String? = nil,
        fields: [Field: String] = [:], body: [UInt8] = []
    ) {
        self.method = method
        self.target = target
        self.contentType = contentType
        self.loop = loop
        self.fields = fields
        self.body = body
    }

    /// The target up to the query.
    package var path: ArraySlice<UInt8> { target.prefix { $0 != UInt8(ascii: "?") } }

    /// The target after the first question mark; empty without one.
    package var query: ArraySlice<UInt8> { target[path.endIndex...].dropFirst() }

    /// The value of the first parameter of the query with this name, percent-encoded as sent; nil without one.
    package func parameter(_ name: StaticString) -> ArraySlice<UInt8>? {
        var rest = query
        while !rest.isEmpty {
            let pair = rest.prefix { $0 != UInt8(ascii: "&") }
            rest = rest[pair.endIndex...].dropFirst()
            let value = pair.dropFirst(name.utf8CodeUnitCount)
            guard value.first == UInt8(ascii: "="), name.withUTF8Buffer({ unsafe pair.starts(with: $0) }) else {
                continue
            }
            return value.dropFirst()
        }
        return nil
    }
}
