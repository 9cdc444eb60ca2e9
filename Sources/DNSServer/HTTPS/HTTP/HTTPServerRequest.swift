import DNSWire

/// A complete request of an HTTP client, over either version. All of it is hostile input, within `HTTPServerLimits`.
public struct HTTPServerRequest: Sendable {
    /// What a client may ask for.
    public enum Method: Sendable {
        case get, head, post, other
    }

    /// What else is read of a header, over HTTP/2 `CDN-Loop` alone.
    public enum Field: String, CaseIterable, Sendable {
        case host
        case accept
        /// The site whose page asks, where a browser says it (RFC 6454 section 7).
        case origin
        /// `Sec-Fetch-Site`: how that site is related to this one (W3C Fetch Metadata section 2.4).
        case site = "sec-fetch-site"
        /// `CDN-Loop` (RFC 8586).
        case loop = "cdn-loop"
    }

    /// The media type of DNS messages (RFC 8484 section 6).
    static let dnsMessageType = "application/dns-message"

    public var method = Method.other
    /// Path and query as sent, percent-encoded: printable ASCII that begins with a slash. May contain a token or a
    /// signature: never logged.
    public var target: [UInt8] = []
    /// Whether the body's media type is that of DNS messages, whatever its parameters are; nil without `Content-Type`.
    public var isDNSMessage: Bool?
    /// Those that came, the values of one name separated by commas.
    public var fields: [Field: String] = [:]
    /// At most `HTTPServerLimits.body` bytes; empty without a body.
    public var body: [UInt8] = []

    /// The target up to the query.
    public var path: ArraySlice<UInt8> { target.prefix { $0 != UInt8(ascii: "?") } }

    /// The target after the first question mark; empty without one.
    public var query: ArraySlice<UInt8> { target[path.endIndex...].dropFirst() }

    /// The value of the first parameter of the query with this name, percent-encoded as sent; nil without one.
    public func parameter(_ name: StaticString) -> ArraySlice<UInt8>? {
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

/// What HTTP/1.1 and HTTP/2 read alike.
extension HTTPServerRequest {
    /// Bytes in memory.
    var held: Int {
        target.count + body.count + fields.reduce(0) { $0 + $1.value.utf8.count }
    }

    /// Takes the method's name.
    mutating func setMethod(_ name: some Collection<UInt8>) {
        method =
            name.elementsEqual("GET".utf8)
            ? .get : name.elementsEqual("POST".utf8) ? .post : name.elementsEqual("HEAD".utf8) ? .head : .other
    }

    /// Takes the target, unless it is anything but printable ASCII that begins with a slash.
    ///
    /// - Returns: whether it was taken.
    mutating func setTarget(_ text: some Collection<UInt8>) -> Bool {
        guard text.first == UInt8(ascii: "/"),
            text.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "#") })
        else { return false }
        target = Array(text)
        return true
    }

    /// Takes the value of `Content-Type`; what follows a semicolon are parameters.
    mutating func setContentType(_ value: some Collection<UInt8>) {
        var type = value.prefix { $0 != UInt8(ascii: ";") }[...]
        while let last = type.dropFirst(max(0, type.count - 1)).first, isBlank(last) { type = type.dropLast() }
        isDNSMessage = isEqual(type, to: Self.dnsMessageType)
    }

    /// Takes the value of a field; of several with one name all, separated by commas.
    mutating func take(_ field: Field, _ value: some Collection<UInt8>) {
        if fields[field] != nil { fields[field]? += ", " }
        fields[field, default: ""] += String(decoding: value, as: UTF8.self)
    }

    /// Takes a field of an HTTP/2 request; nghttp2 has checked that the pseudo-header fields come once and first, and that
    /// names are in lower case.
    ///
    /// - Returns: whether the request can still be answered.
    mutating func take(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        switch name.count {
        case 5 where unsafe isEqual(name, to: ":path"): return unsafe setTarget(value)
        case 7 where unsafe isEqual(name, to: ":method"): unsafe setMethod(value)
        case 8 where unsafe isEqual(name, to: "cdn-loop"): unsafe take(.loop, value)
        case 12 where unsafe isEqual(name, to: "content-type"): unsafe setContentType(value)
        case 14 where unsafe isEqual(name, to: "content-length"):
            return unsafe Self.length(value) ?? .max <= HTTPServerLimits.body
        default: break
        }
        return true
    }

    /// The value of `Content-Length`, at most a byte over the limit of bodies; nil when it is no number.
    static func length(_ value: some Collection<UInt8>) -> Int? {
        OutsideNumber(digits: value)?.clamped(to: 0...HTTPServerLimits.body + 1)
    }
}

/// Whether a byte is a space or a tab.
func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

/// Whether a text has these letters, in either case.
///
/// - Parameter letters: in lower case.
func isEqual(_ text: some Collection<UInt8>, to letters: String) -> Bool {
    text.count == letters.utf8.count
        && text.elementsEqual(letters.utf8) { byte, letter in
            byte == letter || (0x41...0x5a).contains(byte) && byte | 0x20 == letter
        }
}

/// The limits of one HTTP client, over either version.
public enum HTTPServerLimits {
    /// Bytes of a request's header: over HTTP/2 as counted by RFC 9113 section 6.5.2. A DNS message of 512 bytes takes
    /// some 700 in a target.
    public static let header = 8 << 10
    /// Bytes of a request's body: the longest DNS message.
    public static let body = 65_535
    /// Requests of one connection that are handled in one turn of the loop: a client may send hundreds at once, with
    /// responses that take as long to make as they are long.
    static let handled = 32

    // MARK: HTTP/2

    /// Requests of a connection at once.
    static let streams = 100
    /// The flow-control window of a stream, which is never reopened: with one byte more than the limit of a body, none
    /// of it is in transit when a body is found too long.
    static let streamWindow = body + 1
    /// The flow-control window of a connection: bytes of unfinished bodies that it holds at most.
    static let window = 256 << 10
    /// Bytes that a client may send beside whole requests before the connection ends.
    static let overhead = 64 << 10
    /// Bytes of these that each whole response gives back: PING, WINDOW_UPDATE, PRIORITY and SETTINGS of an honest
    /// client.
    static let overheadPerResponse = 256
    /// Bytes of these that a stream takes that ends without a whole response, whichever side resets it: 128 in a row end the
    /// connection.
    static let overheadPerReset = 512
    /// Bytes of a response's body in one frame, such that its memory in nghttp2 is in a page that the session has touched
    /// already (`HTTP2Memory`). Most responses are shorter.
    static let frame = 1_024
    /// Bytes that a stream takes beside its request and response, most of them in nghttp2.
    static let heldByStream = 512
    /// Frames that wait to be sent, above which the connection is not read.
    static let queuedFrames = 256
}
