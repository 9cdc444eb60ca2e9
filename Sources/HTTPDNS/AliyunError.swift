/// An error of Aliyun's: what its code, or else the HTTP status, asks to be done.
///
/// The code decides, since the same one comes with 400 or 403 (help.aliyun.com/document_detail/56810.html section 3.3).
struct AliyunError {
    let code: String?
    let response: HTTPResponse

    var failure: ServiceFailure {
        switch code {
        case "SignatureExpired", "InvalidDuration":
            .clockSkew(text, serverTime: response.date)
        case "InvalidSignature", "UnsignedInterfaceDisabled", "InvalidAccount", "AccountNotExists":
            .authentication(text)
        case "MissingArgument", "InvalidHost", "TooManyHosts", "SdnsNotSupported", "MethodNotAllowed":
            .rejected(text)
        case "ServiceLevelDeny", "InternalError":
            .unavailable(text, retryAfter: response.retryAfter)
        default:
            HTTPStatusFailure.failure(of: response, text: text)
        }
    }

    /// The code as far as it is safe to show, and the status.
    private var text: String {
        let isPlain = code?.utf8.allSatisfy { Character(Unicode.Scalar($0)).isASCIIWord } ?? false
        guard let code, isPlain, (1...Self.longestCode).contains(code.utf8.count) else {
            return "HTTP \(response.status)"
        }
        return "\(code) (HTTP \(response.status))"
    }

    /// Bytes of a code that is shown; the longest known one has 25.
    private static let longestCode = 31
}

extension Character {
    /// Whether this is an ASCII letter, digit, hyphen, dot or underscore.
    fileprivate var isASCIIWord: Bool { isASCII && (isLetter || isNumber || self == "-" || self == "." || self == "_") }
}
