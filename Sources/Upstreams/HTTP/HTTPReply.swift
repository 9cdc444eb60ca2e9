import CCurl
import DNSWire
import Glibc
import HTTPDNS

/// One HTTP reply as far as it has been received, filled by the callbacks of libcurl and nghttp2.
///
/// Of the header it stores the fields that services use, the first of each name; trailers are ignored.
final class HTTPReply {
    private(set) var body: [UInt8] = []
    /// The `Content-Type` field as text.
    private(set) var contentType: String?
    /// The `Age` field in seconds, at most `UInt32.max`.
    private(set) var age: UInt32?
    /// The `Date` field, seconds since 1970.
    private(set) var date: Int64?
    /// The `Retry-After` field in seconds from now.
    private(set) var retryAfter: UInt32?
    /// The `ETag` field (RFC 9110 section 8.8.3), of a document only.
    private(set) var entityTag: String?
    /// The compression of the body, by the `Content-Encoding` fields; nil: none.
    private(set) var compression: HTTPCompression?
    private let isDocument: Bool
    private var headerSize = 0
    private var isHeaderComplete = false

    /// - Parameter isDocument: whether the body may be as long as a document.
    init(isDocument: Bool = false) { self.isDocument = isDocument }

    /// Clears everything for the next reply.
    func reset() {
        body = []
        headerSize = 0
        beginHeader()
    }

    /// - Returns: whether the body is still within its limit.
    func receiveBody(_ part: UnsafeRawBufferPointer) -> Bool {
        guard body.count + part.count <= (isDocument ? HTTPLimits.document : HTTPLimits.body) else { return false }
        unsafe body.append(contentsOf: part)
        return true
    }

    /// Takes one line of an HTTP/1.1 header or trailer, including its line end.
    ///
    /// - Returns: whether the header is still within its limit.
    func receiveLine(_ line: UnsafeRawBufferPointer) -> Bool {
        if line.count <= 2 {
            endHeader()
        } else if unsafe Self.isEqual(UnsafeRawBufferPointer(rebasing: line.prefix(5)), "http/") {
            beginHeader()
        } else if let colon = unsafe line.firstIndex(of: UInt8(ascii: ":")) {
            let name = unsafe UnsafeRawBufferPointer(rebasing: line[..<colon])
            return unsafe receiveField(name, UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]))
        }
        return count(line.count)
    }

    /// Starts a header: an earlier one was informational (RFC 9110 section 15.2).
    func beginHeader() {
        (contentType, age, date, retryAfter, entityTag, compression) = (nil, nil, nil, nil, nil, nil)
        isHeaderComplete = false
    }

    /// Ends the header: further fields are a trailer.
    func endHeader() { isHeaderComplete = true }

    /// Takes one field of a header or trailer.
    ///
    /// - Returns: whether the header is still within its limit.
    func receiveField(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        guard count(name.count + value.count) else { return false }
        guard !isHeaderComplete, let initial = unsafe name.first else { return true }
        switch initial | 0x20 {
        case UInt8(ascii: "c"):
            if contentType == nil, unsafe Self.isEqual(name, "content-type") {
                contentType = unsafe String(decoding: Self.trimmed(value), as: UTF8.self)
            } else if compression == nil, unsafe Self.isEqual(name, "content-encoding") {
                compression = unsafe Self.compression(value)
            }
        case UInt8(ascii: "a"):
            if age == nil, unsafe Self.isEqual(name, "age") { age = unsafe Self.seconds(Self.trimmed(value)) }
        case UInt8(ascii: "d"):
            if date == nil, unsafe Self.isEqual(name, "date") { date = unsafe Self.date(Self.trimmed(value)) }
        case UInt8(ascii: "e") where isDocument:
            if entityTag == nil, unsafe Self.isEqual(name, "etag") { entityTag = unsafe Self.tag(Self.trimmed(value)) }
        case UInt8(ascii: "r"):
            if retryAfter == nil, unsafe Self.isEqual(name, "retry-after") {
                retryAfter = unsafe Self.wait(Self.trimmed(value))
            }
        default: break
        }
        return true
    }

    /// Counts bytes of the header. Returns whether they are still within the limit.
    private func count(_ bytes: Int) -> Bool {
        headerSize += bytes
        return headerSize <= HTTPLimits.header
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
    private static func compression(_ list: UnsafeRawBufferPointer) -> HTTPCompression? {
        let text = unsafe String(decoding: list, as: UTF8.self).lowercased()
        return text.split { $0 == "," || $0.isWhitespace }.lazy.compactMap { HTTPCompression(rawValue: String($0)) }
            .first
    }

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

    /// Seconds since 1970 of dates whose year has four digits.
    private static let years: ClosedRange<Int64> = 0...253_402_300_799

    /// An HTTP date in seconds since 1970; nil if invalid.
    private static func date(_ text: UnsafeRawBufferPointer) -> Int64? {
        if let time = unsafe HTTPDate.seconds(text.assumingMemoryBound(to: UInt8.self).span) { return time }
        // One of the two obsolete formats, which a recipient must accept (RFC 9110 section 5.6.7).
        // libcurl accepts years of any length.
        return unsafe OutsideNumber(curl_getdate(String(decoding: text, as: UTF8.self), nil)).within(years)
    }
}
