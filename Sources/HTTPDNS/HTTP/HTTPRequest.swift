import DNSWire

/// An HTTP request without scheme, host and port, which belong to the address.
public struct HTTPRequest: Hashable, Sendable {
    /// Path and query, percent-encoded, beginning with a slash. May contain a signature: never logged.
    public var target: String
    /// Names and values in the order in which they are sent.
    public var headers: [[String]]
    /// Sent with POST; nil: GET.
    public var body: [UInt8]?

    public init(target: String, headers: [[String]] = [], body: [UInt8]? = nil) {
        self.target = target
        self.headers = headers
        self.body = body
    }
}

/// A complete HTTP reply: the status, the header fields that services use, and the body.
public struct HTTPResponse: Hashable, Sendable {
    public var status: Int
    public var contentType: String?
    /// The `Age` header: seconds that the response has been in an HTTP cache.
    public var age: UInt32?
    /// The `Retry-After` header, in seconds.
    public var retryAfter: UInt32?
    /// The `Date` header, in seconds since 1970.
    public var date: Int64?
    /// The `ETag` header, of a document only.
    public var entityTag: String?
    /// The content coding that compresses the body, from the `Content-Encoding` header; nil: none.
    public var compression: String?
    /// At most 64 KiB, of a document 4 MiB; the transport enforces it.
    public var body: [UInt8]
    /// The time from the request to the first byte of its response; nil: not measured.
    public var timeToFirstByte: Duration?

    public init(
        status: Int, contentType: String? = nil, age: UInt32? = nil, retryAfter: UInt32? = nil, date: Int64? = nil,
        entityTag: String? = nil, compression: String? = nil, body: [UInt8] = [],
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
    public var isSuccess: Bool { (200..<300).contains(status) }
}

// What a service's response means that is no answer.

extension HTTPResponse {
    /// The most bytes of an error code that are shown; the longest known one has 25.
    private static let longestCode = 31

    /// The failure of a status other than 2xx, where the service gives no more details, not even a text.
    func failure(_ text: String? = nil) -> UpstreamFailure {
        let text = text ?? "HTTP \(status)"
        return switch status {
        case 401, 403: .authentication(text)
        default: unavailable(text)
        }
    }

    /// The failure of a service that cannot answer now.
    func unavailable(_ text: String) -> UpstreamFailure {
        retryAfter.map { .busy(text, retryAfter: .seconds(Int64($0))) } ?? .unusable(text)
    }

    /// The status, and the service's own error code if it is safe to show.
    func text(code: String?) -> String {
        guard let code, (1...Self.longestCode).contains(code.utf8.count),
            code.utf8.allSatisfy({ $0.isWordByte || $0 == UInt8(ascii: ".") })
        else { return "HTTP \(status)" }
        return "\(code) (HTTP \(status))"
    }

    /// Reads the body, an object of JSON. Where that of an error cannot be read, only the status makes the failure: it may
    /// come from a proxy on the path, or from a service in trouble.
    func json<Reply>(
        or failure: @autoclosure () -> UpstreamFailure, _ read: (JSONNode) throws(JSONError) -> Reply
    ) throws(UpstreamFailure) -> Reply {
        do throws(JSONError) {
            let json = try JSONReader.read(body)
            _ = try json.members()
            return try read(json)
        } catch {
            throw isSuccess ? .unreadable(error) : failure()
        }
    }
}

extension UpstreamFailure {
    /// Of a response that is not in the service's form.
    static func unreadable(_ reason: some CustomStringConvertible) -> UpstreamFailure {
        .unusable("unreadable reply: \(reason)")
    }
}

// Names in the form of the proprietary services: letters, digits, hyphens and underscores between dots. Aliyun's SDKs check
// the same before a request; for any other byte the service would return `InvalidHost`.

extension Name {
    /// The text without the final dot; throws for the root, for other bytes, and for text that is an address.
    func hostText() throws(UpstreamFailure) -> String {
        guard !isRoot else { throw .rejected("the root is no host name") }
        var bytes = Array(wire[1..<(wire.count - 1)])
        var length = Int(wire[0])
        for index in bytes.indices {
            if index == length {
                length += 1 + Int(bytes[index])
                bytes[index] = UInt8(ascii: ".")
            } else if !bytes[index].isWordByte {
                throw .rejected("a name with other bytes than letters, digits, hyphens and underscores")
            }
        }
        let text = String(decoding: bytes, as: UTF8.self)
        // An address without colons ends with a digit.
        let mayBeAddress = bytes.last.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
        guard !mayBeAddress || IPAddress(text) == nil else { throw .rejected("an address is no host name") }
        return text
    }

    /// Whether a service's text is this name, regardless of letter case and a final dot.
    func isHost(_ text: String) -> Bool { isRepeated(by: text) || (try? Name(text)) == self }

    /// Whether a text is identical to the name, the usual case.
    private func isRepeated(by text: String) -> Bool {
        guard text.utf8.count == wire.count - 2 else { return false }
        var (index, length) = (1, 1 + Int(wire[0]))
        for byte in text.utf8 {
            if index == length {
                guard byte == UInt8(ascii: ".") else { return false }
                length += 1 + Int(wire[index])
            } else {
                guard byte == wire[index], byte.isWordByte else { return false }
            }
            index += 1
        }
        return true
    }
}

/// Path and parameters of an HTTP request, decoded.
public struct RequestTarget {
    /// The most parameters of a request, and parts of a path: vendors' SDKs send up to 16.
    private static let mostParameters = 64
    private static let mostParts = 4

    /// What stands between the slashes.
    public let path: [String]
    /// In the order in which they were sent.
    public let parameters: [(name: String, value: String)]

    /// Reads path and query as sent, and more parameters as a form encodes them. Nil for what cannot be decoded: a percent
    /// sign without two digits, text that is not UTF-8, control characters, and for more parameters than any client sends.
    public init?(_ target: [UInt8], form: [UInt8] = []) {
        let end = target.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        let parts = target[..<end].split(separator: UInt8(ascii: "/"), maxSplits: Self.mostParts)
        let path = parts.compactMap(Self.decoded)
        var pairs = target[end...].dropFirst().split(separator: UInt8(ascii: "&"), maxSplits: Self.mostParameters)
        pairs += form.split(separator: UInt8(ascii: "&"), maxSplits: Self.mostParameters)
        let parameters = pairs.compactMap(Self.parameter)
        guard path.count == parts.count, parameters.count == pairs.count, pairs.count <= Self.mostParameters else {
            return nil
        }
        (self.path, self.parameters) = (path, parameters)
    }

    /// The value of the first parameter of this name; nil without one, and for one without a value.
    subscript(name: String) -> String? {
        parameters.first { $0.name == name }.flatMap { $0.value.isEmpty ? nil : $0.value }
    }

    private static func parameter(_ pair: ArraySlice<UInt8>) -> (name: String, value: String)? {
        let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
        guard let name = decoded(pair[..<end]), let value = decoded(pair[end...].dropFirst()) else { return nil }
        return (name, value)
    }

    private static func decoded(_ text: ArraySlice<UInt8>) -> String? {
        guard let bytes = TextDecoding.percent(text), !bytes.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
            return nil
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
