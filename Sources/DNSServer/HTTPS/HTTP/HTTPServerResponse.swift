import DNSWire

/// The response to an HTTP client's request.
public struct HTTPServerResponse: Sendable {
    /// A status code of RFC 9110 section 15, with the phrase after it over HTTP/1.1. That may be left out (RFC 9112 section 4), but
    /// Tencent's SDK of Android reads no body without `OK` before it.
    public enum Status: String, CaseIterable, Error, Sendable {
        case ok = "200 OK"
        case badRequest = "400 Bad Request"
        case unauthorized = "401 Unauthorized"
        case forbidden = "403 Forbidden"
        case notFound = "404 Not Found"
        case methodNotAllowed = "405 Method Not Allowed"
        case lengthRequired = "411 Length Required"
        case contentTooLarge = "413 Content Too Large"
        case targetTooLong = "414 URI Too Long"
        case unsupportedMediaType = "415 Unsupported Media Type"
        case expectationFailed = "417 Expectation Failed"
        case misdirected = "421 Misdirected Request"
        case unprocessable = "422 Unprocessable Content"
        case tooManyRequests = "429 Too Many Requests"
        case headerTooLarge = "431 Request Header Fields Too Large"
        case internalError = "500 Internal Server Error"
        case notImplemented = "501 Not Implemented"
        case unavailable = "503 Service Unavailable"
        case versionNotSupported = "505 HTTP Version Not Supported"
        case loopDetected = "508 Loop Detected"

        /// The three digits.
        public var code: Substring { rawValue.prefix(3) }
    }

    public var status: Status
    /// Nil without a body.
    public var contentType: String?
    /// For how many seconds a cache may use it; nil: not at all.
    public var maxAge: UInt32?
    /// Sent with every response, also when it is empty.
    public var body: [UInt8]
    /// Further fields, with names in lower case: a method's `allow`, for instance.
    public var fields: [(name: String, value: String)]
    /// The body, if it has no end: `body` is empty then. Only over HTTP/1.1.
    public var feed: HTTPServerFeed?

    public init(
        _ status: Status, contentType: String? = nil, maxAge: UInt32? = nil, body: [UInt8] = [],
        fields: [(name: String, value: String)] = []
    ) {
        self.status = status
        self.contentType = contentType
        self.maxAge = maxAge
        self.body = body
        self.fields = fields
    }

    /// The response to a method that is neither GET nor POST.
    static var methodNotAllowed: HTTPServerResponse {
        HTTPServerResponse(.methodNotAllowed, fields: [("allow", "GET, POST")])
    }

    var cacheControl: String { maxAge.map { "max-age=" + String($0) } ?? "no-store" }
}

extension HTTPServerResponse {
    /// 2025-01-01, in seconds since 1970: before this the clock is not set yet, as on a machine without a battery.
    private static let earliest: Int64 = 1_735_689_600
    /// The first second of the year 10000, which has too many digits.
    private static let end: Int64 = 253_402_300_800
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// HTTP's form of a date in seconds since 1970, such as `Thu, 01 Jan 2026 00:00:00 GMT` (RFC 9110 section 5.6.7); nil for
    /// what no clock shows that is set.
    static func date(of time: Int64) -> String? {
        guard (earliest..<end).contains(time) else { return nil }
        let (day, second) = time.floored(by: 86_400)
        let date = UTCDate(daysSince1970: day)
        // 1970 began on a Thursday.
        return "\(days[Int(day % 7)]), \(digits(date.day)) \(months[Int(date.month) - 1]) \(date.year) "
            + "\(digits(second / 3_600)):\(digits(second / 60 % 60)):\(digits(second % 60)) GMT"
    }

    private static func digits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

/// The body of a response without an end: a part at once, and one at each interval, unless the client has yet to receive the
/// one before. An object: few responses have one.
public final class HTTPServerFeed: Sendable {
    /// How long after one part the next is made.
    public let interval: Duration
    /// Whether the connection stays for as long as the client reads nothing. Else it is closed as one that reads no other
    /// response.
    public let isPatient: Bool
    /// Called when the client has received a piece of a part.
    public let wasRead: @Loop @Sendable () -> Void
    /// Makes the next part; empty: there is nothing to send; nil: there are no more.
    public let next: @Loop @Sendable () -> String?

    public init(
        every interval: Duration, isPatient: Bool, wasRead: @escaping @Loop @Sendable () -> Void = {},
        next: @escaping @Loop @Sendable () -> String?
    ) {
        self.interval = interval
        self.isPatient = isPatient
        self.wasRead = wasRead
        self.next = next
    }
}
