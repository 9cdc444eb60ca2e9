import DNSWire

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
