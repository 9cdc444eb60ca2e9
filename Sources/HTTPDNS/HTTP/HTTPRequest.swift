import DNSWire

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

/// A complete HTTP reply: the status, the header fields that services use, and the body.
package struct HTTPResponse: Hashable, Sendable {
    package var status: Int
    package var contentType: String?
    /// The `Age` header: seconds that the response has been in an HTTP cache.
    package var age: UInt32?
    /// The `Retry-After` header, in seconds.
    package var retryAfter: UInt32?
    /// The `Date` header, in seconds since 1970.
    package var date: Int64?
    /// The `ETag` header, of a document only.
    package var entityTag: String?
    /// The compression of the body, from the `Content-Encoding` header; nil: none.
    package var compression: HTTPCompression?
    /// At most 64 KiB, of a document 4 MiB; the transport enforces it.
    package var body: [UInt8]
    /// The time from the request to the first byte of its response; nil: not measured.
    package var timeToFirstByte: Duration?

    package init(
        status: Int, contentType: String? = nil, age: UInt32? = nil, retryAfter: UInt32? = nil, date: Int64? = nil,
        entityTag: String? = nil, compression: HTTPCompression? = nil, body: [UInt8] = [],
        timeToFirstByte: Duration? = nil
    ) {
        self.status = status
        self.contentType = contentType
        self.age = age
        self.retryAfter = retryAfter
        self.date = date
        self.entityTag = entityTag
        self.compression = compression
        self.body = body
        self.timeToFirstByte = timeToFirstByte
    }

    /// Whether the status is 2xx.
    package var isSuccess: Bool { (200..<300).contains(status) }
}

/// Maps an HTTP status other than 2xx to a failure, where the service gives no more details.
enum HTTPStatusFailure {
    /// The most bytes of an error code that are shown; the longest known one has 25.
    private static let longestCode = 31

    static func failure(of response: HTTPResponse, text: String? = nil) -> UpstreamFailure {
        let text = text ?? "HTTP \(response.status)"
        return switch response.status {
        case 401, 403: .authentication(text)
        default: unavailable(response, text)
        }
    }

    /// The failure of a service that cannot answer now.
    static func unavailable(_ response: HTTPResponse, _ text: String) -> UpstreamFailure {
        response.retryAfter.map { .busy(text, retryAfter: .seconds(Int64($0))) } ?? .unusable(text)
    }

    /// The status, and the service's own error code if it is safe to show.
    static func text(of response: HTTPResponse, code: String?) -> String {
        guard let code, (1...longestCode).contains(code.utf8.count),
            code.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isASCIIWord })
        else { return "HTTP \(response.status)" }
        return "\(code) (HTTP \(response.status))"
    }
}

extension Character {
    /// Whether this is an ASCII letter, digit, hyphen, dot or underscore.
    fileprivate var isASCIIWord: Bool { isASCII && (isLetter || isNumber || self == "-" || self == "." || self == "_") }
}

/// A content coding that compresses (IANA's registry of HTTP content codings, RFC 9110 section 8.4.1).
package enum HTTPCompression: String, Sendable {
    case br
    case compress
    case deflate
    case gzip
    case xCompress = "x-compress"
    case xGzip = "x-gzip"
    case zstd
}
