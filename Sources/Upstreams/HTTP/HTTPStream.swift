import DNSWire
import Glibc
import HTTPDNS

/// One request on a connection, and its reply as far as it has been received.
///
/// Of the header it stores the fields that services use, the first of each name; trailers are ignored.
final class HTTPStream {
    /// HTTP/2's stream identifier (RFC 9113 section 5.1.1); 0 before the request is given to nghttp2.
    var id: Int32 = 0
    /// Its index among its connection's streams.
    var index = 0
    let request: HTTPRequest
    /// The reply, which is whole once it is complete; of status 0 before it has come.
    private(set) var response = HTTPResponse(status: 0)
    private let isDocument: Bool
    private var headerSize = 0
    private var isHeaderComplete = false
    private let sent: Instant
    private var sentBody = 0
    /// Whether the server has ended its side: a stream may end without that.
    var isComplete = false
    /// Why the reply cannot be used, found before its end.
    private(set) var failure: UpstreamFailure?

    /// - Parameter isDocument: whether the reply's body may be as long as a document.
    init(_ request: HTTPRequest, isDocument: Bool = false, at now: Instant) {
        self.request = request
        self.isDocument = isDocument
        sent = now
    }

    /// Whether the reply is complete and may be used.
    var isAnswered: Bool { isComplete && failure == nil }

    var status: Int { response.status }

    // MARK: From its session. Each returns whether the reply is still acceptable

    /// A header begins, with three digits or what is no status, after `length` bytes; one before it was informational (RFC
    /// 9110 section 15.2).
    func begin(status: UnsafeRawBufferPointer, length: Int, at now: Instant) -> Bool {
        guard let code = unsafe OutsideNumber(digits: status)?.within(100...999) else {
            return fail(.unusable("the reply is not HTTP"))
        }
        response = HTTPResponse(status: code, timeToFirstByte: response.timeToFirstByte ?? now - sent)
        isHeaderComplete = false
        return receiveHeader(length)
    }

    /// The header has ended: further fields are a trailer.
    func endHeader() { isHeaderComplete = true }

    func receiveHeader(_ count: Int) -> Bool {
        headerSize += count
        return headerSize <= HTTPLimits.header || fail(.tooLarge)
    }

    func receiveBody(_ part: UnsafeRawBufferPointer) -> Bool {
        let limit = isDocument ? HTTPLimits.document : HTTPLimits.body
        guard response.body.count + part.count <= limit else { return fail(.tooLarge) }
        unsafe response.body.append(contentsOf: part)
        return true
    }

    /// - Returns: false.
    func fail(_ failure: UpstreamFailure) -> Bool {
        self.failure = failure
        return false
    }

    /// Copies the next part of the request's body. Returns the number of bytes, and whether these are the last.
    func nextBody(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isLast: Bool) {
        let body = request.body ?? []
        let part = body[sentBody...].prefix(buffer.count)
        unsafe buffer.copyBytes(from: part)
        sentBody += part.count
        return (part.count, sentBody == body.count)
    }
}

extension HTTPResponse {
    /// Itself, if its body can be read. One that reports an error tells enough by its status.
    var readable: Result<HTTPResponse, UpstreamFailure> {
        guard let compression, isSuccess, !body.isEmpty else { return .success(self) }
        return .failure(.unusable("the reply is compressed (\(compression)), which the request forbids"))
    }
}

extension UpstreamFailure {
    /// A header or body above its limit.
    static let tooLarge = UpstreamFailure.unusable("the reply is larger than the limit")
}

extension HTTPStream {
    /// Takes one field of a header or trailer. Returns whether the header is still within its limit.
    func receiveField(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        guard receiveHeader(name.count + value.count) else { return false }
        guard !isHeaderComplete, let initial = unsafe name.first else { return true }
        switch initial | 0x20 {
        case UInt8(ascii: "c"):
            if response.contentType == nil, unsafe Self.isEqual(name, "content-type") {
                response.contentType = unsafe String(decoding: Self.trimmed(value), as: UTF8.self)
            } else if response.compression == nil, unsafe Self.isEqual(name, "content-encoding") {
                response.compression = unsafe Self.compression(value)
            }
        case UInt8(ascii: "a"):
            if response.age == nil, unsafe Self.isEqual(name, "age") {
                response.age = unsafe Self.seconds(Self.trimmed(value))
            }
        case UInt8(ascii: "d"):
            if response.date == nil, unsafe Self.isEqual(name, "date") {
                response.date = unsafe Self.date(Self.trimmed(value))
            }
        case UInt8(ascii: "e") where isDocument:
            if response.entityTag == nil, unsafe Self.isEqual(name, "etag") {
                response.entityTag = unsafe Self.tag(Self.trimmed(value))
            }
        case UInt8(ascii: "r"):
            if response.retryAfter == nil, unsafe Self.isEqual(name, "retry-after") {
                response.retryAfter = unsafe Self.wait(Self.trimmed(value))
            }
        default: break
        }
        return true
    }

    /// Whether a field's name is `wanted`, which is in lower case.
    private static func isEqual(_ name: UnsafeRawBufferPointer, _ wanted: StaticString) -> Bool {
        guard name.count == wanted.utf8CodeUnitCount else { return false }
        for index in 0..<name.count {
            let (byte, wanted) = unsafe (name[index], wanted.utf8Start[index])
            guard byte == wanted || (byte | 0x20 == wanted && byte >= UInt8(ascii: "A")) else { return false }
        }
        return true
    }

    /// A value without leading and trailing white space and control characters.
    private static func trimmed(_ value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var (start, end) = (0, value.count)
        while start < end, unsafe value[start] <= 0x20 { start += 1 }
        while end > start, unsafe value[end - 1] <= 0x20 { end -= 1 }
        return unsafe UnsafeRawBufferPointer(rebasing: value[start..<end])
    }

    /// The first compression in a list of content codings (RFC 9110 section 8.4); nil without one. A word that is no
    /// coding, such as `utf-8`, is a slip of a server that sends the body as it is.
    private static func compression(_ list: UnsafeRawBufferPointer) -> String? {
        let text = unsafe String(decoding: list, as: UTF8.self).lowercased()
        return text.split { $0 == "," || $0.isWhitespace }.map(String.init).first(where: compressions.contains)
    }

    /// Content codings that compress (IANA's registry of HTTP content codings, RFC 9110 section 8.4.1).
    private static let compressions = ["br", "compress", "deflate", "gzip", "x-compress", "x-gzip", "zstd"]

    /// An entity tag that can be sent back; nil for any other text.
    private static func tag(_ text: UnsafeRawBufferPointer) -> String? {
        guard (1...HTTPLimits.entityTag).contains(text.count), unsafe text.allSatisfy({ (0x20...0x7e).contains($0) })
        else {
            return nil
        }
        return unsafe String(decoding: text, as: UTF8.self)
    }

    /// Seconds to wait, given as seconds or as a date (RFC 9110 section 10.2.3); nil if invalid or not in the future.
    private static func wait(_ text: UnsafeRawBufferPointer) -> UInt32? {
        let seconds = unsafe seconds(text) ?? date(text).map { UInt32(clamping: $0 - Int64(time(nil))) }
        return seconds == 0 ? nil : seconds
    }

    /// A number of seconds, at most `UInt32.max`; nil for anything but digits.
    private static func seconds(_ text: UnsafeRawBufferPointer) -> UInt32? {
        unsafe OutsideNumber(digits: text)?.clamped(to: 0...UInt32.max)
    }

    /// An HTTP date in seconds since 1970; nil if invalid.
    private static func date(_ text: UnsafeRawBufferPointer) -> Int64? {
        if let time = unsafe HTTPDate.seconds(text.assumingMemoryBound(to: UInt8.self).span) { return time }
        // The two obsolete formats, which a recipient must accept (RFC 9110 section 5.6.7): `Sunday, 06-Nov-94 08:49:37 GMT`
        // and `Sun Nov  6 08:49:37 1994`.
        let words = unsafe String(decoding: text, as: UTF8.self).split { $0 == " " || $0 == "," || $0 == "-" }
        let (day, month, year, time): (Substring, Substring, String, Substring)
        switch words.count {
        case 6: (day, month, year, time) = (words[1], words[2], (words[3] < "70" ? "20" : "19") + words[3], words[4])
        case 5: (day, month, year, time) = (words[2], words[1], String(words[4]), words[3])
        default: return nil
        }
        let usual = Array("Day, \(day.count == 1 ? "0" : "")\(day) \(month) \(year) \(time) GMT".utf8)
        return HTTPDate.seconds(usual.span)
    }
}
