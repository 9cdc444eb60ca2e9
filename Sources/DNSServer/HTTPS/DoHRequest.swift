import DNSWire

/// What DNS over HTTPS makes of an HTTP request (RFC 8484).
enum DoHRequest {
    /// A message, and the token in the path, if there is one.
    case query([UInt8], token: ArraySlice<UInt8>?)
    /// A request for its path that has no message.
    case refused(HTTPServerResponse, token: ArraySlice<UInt8>?)
    /// A request for another path.
    case other

    /// The media type of messages.
    static let messageType: StaticString = "application/dns-message"

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
        switch Self.message(of: request) {
        case .success(let message): self = .query(message, token: token)
        case .failure(let refusal): self = .refused(refusal.response, token: token)
        }
    }

    fileprivate struct Refusal: Error {
        let response: HTTPServerResponse
    }

    private static func message(of request: HTTPServerRequest) -> Result<[UInt8], Refusal> {
        switch request.method {
        case .get:
            guard let message = request.parameter("dns").flatMap(Base64URL.decode) else { return .refused(.badRequest) }
            return .success(message)
        case .post:
            guard request.contentType == .dnsMessage else { return .refused(.unsupportedMediaType) }
            return .success(request.body)
        case .head, .other: return .failure(Refusal(response: .methodNotAllowed))
        }
    }
}

extension Result where Failure == DoHRequest.Refusal {
    fileprivate static func refused(_ status: HTTPServerResponse.Status) -> Self {
        .failure(.init(response: HTTPServerResponse(status)))
    }
}

extension HTTPServerResponse {
    /// The response with a DNS message, which is status 200 whatever its response code is.
    init(message: [UInt8]) {
        self.init(
            .ok, contentType: DoHRequest.messageType, maxAge: ReplyLifetime.seconds(message.span), body: message)
    }
}
