import CCurl
import HTTPDNS

/// What has come of one reply: libcurl's callbacks fill it, inside our calls to libcurl.
///
/// Of the header it keeps what services use: of equal fields the first one, and nothing of trailers.
final class HTTPReply {
    private(set) var body: [UInt8] = []
    /// The `Content-Type` field as text.
    private(set) var contentType: String?
    /// The `Age` field, as far as 32 bits go.
    private(set) var age: UInt32?
    /// The `Date` field, seconds since 1970.
    private(set) var date: Int64?
    /// Whether there is a `Retry-After` field, which libcurl reads.
    private(set) var hasRetryAfter = false
    private var headerSize = 0
    private var isHeaderComplete = false
    /// The last reply's, which the next one's most often is too.
    private var lastContentType = ""

    /// Makes ready for the next reply.
    func reset() {
        body = []
        headerSize = 0
        forgetFields()
    }

    private func forgetFields() {
        contentType = nil
        age = nil
        date = nil
        hasRetryAfter = false
        isHeaderComplete = false
    }

    /// - Returns: whether the body still is within its limit.
    func receiveBody(_ part: UnsafeRawBufferPointer) -> Bool {
        guard body.count + part.count <= HTTPLimits.body else { return false }
        body.append(contentsOf: part)
        return true
    }

    /// Takes one line of a header or trailer, its end included.
    ///
    /// - Returns: whether the header still is within its limit.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        headerSize += line.count
        guard headerSize <= HTTPLimits.header else { return false }
        if line.count <= 2 {
            isHeaderComplete = true
        } else if Self.begins(line, with: "http/") {
            // What came before was informational (RFC 9110 section 15.2).
            forgetFields()
        } else if !isHeaderComplete {
            receiveField(line)
        }
        return true
    }

    private func receiveField(_ line: UnsafeRawBufferPointer) {
        switch line[0] | 0x20 {
        case UInt8(ascii: "c"):
            guard contentType == nil, let value = Self.value(of: "content-type:", in: line) else { return }
            if !lastContentType.utf8.elementsEqual(value) { lastContentType = String(decoding: value, as: UTF8.self) }
            contentType = lastContentType
        case UInt8(ascii: "a"):
            if age == nil, let value = Self.value(of: "age:", in: line) { age = Self.seconds(value) }
        case UInt8(ascii: "d"):
            if date == nil, let value = Self.value(of: "date:", in: line) { date = Self.date(value) }
        case UInt8(ascii: "r"):
            if Self.value(of: "retry-after:", in: line) != nil { hasRetryAfter = true }
        default: break
        }
    }

    /// Whether a line begins with `prefix`, which is in lower case.
    private static func begins(_ line: UnsafeRawBufferPointer, with prefix: StaticString) -> Bool {
        guard line.count >= prefix.utf8CodeUnitCount else { return false }
        for index in 0..<prefix.utf8CodeUnitCount {
            let (byte, wanted) = (line[index], prefix.utf8Start[index])
            guard byte == wanted || (byte | 0x20 == wanted && byte >= UInt8(ascii: "A")) else { return false }
        }
        return true
    }

    /// The value of a line's field without the blanks around it, if the line begins with `name`.
    private static func value(of name: StaticString, in line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard begins(line, with: name) else { return nil }
        var (start, end) = (name.utf8CodeUnitCount, line.count)
        while start < end, line[start] <= 0x20 { start += 1 }
        while end > start, line[end - 1] <= 0x20 { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: line[start..<end])
    }

    /// A count of seconds, as far as 32 bits go; nil for anything but digits.
    private static func seconds(_ text: UnsafeRawBufferPointer) -> UInt32? {
        guard !text.isEmpty else { return nil }
        var seconds: UInt32 = 0
        for byte in text {
            guard (48...57).contains(byte) else { return nil }
            let (tenfold, isOver) = seconds.multipliedReportingOverflow(by: 10)
            let (sum, isFar) = tenfold.addingReportingOverflow(UInt32(byte - 48))
            seconds = isOver || isFar ? .max : sum
        }
        return seconds
    }

    /// An HTTP date in seconds since 1970; nil for what is none.
    private static func date(_ text: UnsafeRawBufferPointer) -> Int64? {
        if let time = HTTPDate.seconds(text) { return time }
        // One of the two older forms, which a recipient must know (RFC 9110 section 5.6.7).
        let time = curl_getdate(String(decoding: text, as: UTF8.self), nil)
        return time < 0 ? nil : Int64(time)
    }
}
