import DNSWire

/// What DNS over HTTPS makes of an HTTP request (RFC 8484).
enum DoHRequest {
    /// A message, and the token in the path, if there is one.
    case query([UInt8], token: ArraySlice<UInt8>?)
    /// A request for its path that has no message.
    case refused(HTTPServerResponse, token: ArraySlice<UInt8>?)
    /// A request for another path.
    case other

    /// - Parameter path: as configured; a token follows it behind a slash.
    init(_ request: HTTPServerRequest, path: [UInt8]) {
        let rest = request.path
        guard rest.starts(with: path) else {
            self = .other
            return
        }
        var token: ArraySlice<UInt8>?
        let tail = rest.dropFirst(path.count)
        if !tail.isEmpty {
            guard tail.first == UInt8(ascii: "/"), tail.count > 1 else {
                self = .other
                return
            }
            token = tail.dropFirst()
        }
        switch request.method {
        case .get:
            let message = request.parameter("dns").flatMap(Self.decodeBase64URL)
            self =
                message.map { .query($0, token: token) } ?? .refused(HTTPServerResponse(.badRequest), token: token)
        case .post:
            self =
                request.contentType == .dnsMessage
                ? .query(request.body, token: token)
                : .refused(HTTPServerResponse(.unsupportedMediaType), token: token)
        case .head, .other: self = .refused(.methodNotAllowed, token: token)
        }
    }

    /// Decodes base64 with the URL alphabet and without padding (RFC 4648 section 5), in which a message comes in a target
    /// (RFC 8484 section 6): hostile text; nil when it is anything else, or its last bits are not zero.
    static func decodeBase64URL(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3 + 2)
        var (bits, count): (UInt32, Int) = (0, 0)
        for byte in text {
            guard let value = sextet(byte) else { return nil }
            bits = bits << 6 | value
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            bits &= 1 << UInt32(count) - 1
        }
        return bits == 0 ? bytes : nil
    }

    private static func sextet(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte &- UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte &- UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte &- UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}

extension HTTPServerResponse {
    /// The response with a DNS message, which is status 200 whatever its response code is.
    init(message: [UInt8]) {
        self.init(
            .ok, contentType: HTTPServerRequest.MediaType.dnsMessageName, maxAge: ReplyLifetime.seconds(message.span),
            body: message)
    }
}
