import Scheduling

/// The response to an HTTP client's request.
public struct HTTPServerResponse: Sendable {
    /// A status code of RFC 9110 section 15.
    public enum Status: Int, Error, Sendable {
        case ok = 200
        case badRequest = 400
        case unauthorized = 401
        case forbidden = 403
        case notFound = 404
        case methodNotAllowed = 405
        case lengthRequired = 411
        case contentTooLarge = 413
        case targetTooLong = 414
        case unsupportedMediaType = 415
        case expectationFailed = 417
        case misdirected = 421
        case unprocessable = 422
        case tooManyRequests = 429
        case headerTooLarge = 431
        case internalError = 500
        case notImplemented = 501
        case unavailable = 503
        case versionNotSupported = 505
        case loopDetected = 508

        /// The phrase after the code over HTTP/1.1. It may be left out (RFC 9112 section 4), but Tencent's SDK of Android
        /// reads no body without `OK` before it.
        var reason: StaticString {
            switch self {
            case .ok: "OK"
            case .badRequest: "Bad Request"
            case .unauthorized: "Unauthorized"
            case .forbidden: "Forbidden"
            case .notFound: "Not Found"
            case .methodNotAllowed: "Method Not Allowed"
            case .lengthRequired: "Length Required"
            case .contentTooLarge: "Content Too Large"
            case .targetTooLong: "URI Too Long"
            case .unsupportedMediaType: "Unsupported Media Type"
            case .expectationFailed: "Expectation Failed"
            case .misdirected: "Misdirected Request"
            case .unprocessable: "Unprocessable Content"
            case .tooManyRequests: "Too Many Requests"
            case .headerTooLarge: "Request Header Fields Too Large"
            case .internalError: "Internal Server Error"
            case .notImplemented: "Not Implemented"
            case .unavailable: "Service Unavailable"
            case .versionNotSupported: "HTTP Version Not Supported"
            case .loopDetected: "Loop Detected"
            }
        }
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

/// The value of `Date` in the responses of a site (RFC 9110 section 6.6.1), which its sessions share: they read no clock.
final class ResponseDate {
    /// Empty while no clock is set: the field is not sent then.
    var text = ""

    /// 2025-01-01, in seconds since 1970: before this the clock is not set yet, as on a machine without a battery.
    private static let earliest: Int64 = 1_735_689_600
    /// The first second of the year 10000, which has too many digits.
    private static let end: Int64 = 253_402_300_800
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// HTTP's form of a date: `Thu, 01 Jan 2026 00:00:00 GMT` (RFC 9110 section 5.6.7); nil for what no clock shows that is set.
    ///
    /// - Parameter time: seconds since 1970.
    static func text(of time: Int64) -> String? {
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
