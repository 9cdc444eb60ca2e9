import DNSWire

/// An error of Aliyun's: maps its code, or else the HTTP status, to a failure.
///
/// The code takes precedence, since the same one comes with 400 or 403 (help.aliyun.com/document_detail/56810.html
/// section 3.3).
struct AliyunError {
    let code: String?
    let response: HTTPResponse

    var failure: UpstreamFailure {
        switch code {
        case "SignatureExpired", "InvalidDuration":
            .clockSkew(text, serverTime: response.date)
        case "InvalidSignature", "UnsignedInterfaceDisabled", "InvalidAccount", "AccountNotExists":
            .authentication(text)
        case "MissingArgument", "InvalidHost", "TooManyHosts", "SdnsNotSupported", "MethodNotAllowed":
            .rejected(text)
        case "ServiceLevelDeny", "InternalError":
            HTTPStatusFailure.unavailable(response, text)
        default:
            HTTPStatusFailure.failure(of: response, text: text)
        }
    }

    /// The failure of a response whose body cannot be read. For an error status only the status is used: it may come
    /// from a proxy on the path, or from a service in trouble.
    static func unreadable(_ response: HTTPResponse, _ error: JSONError) -> UpstreamFailure {
        response.isSuccess
            ? .unusable("unreadable reply: \(error)") : AliyunError(code: nil, response: response).failure
    }

    private var text: String {
        code == nil && response.isSuccess
            ? "the reply is neither an answer nor an error" : HTTPStatusFailure.text(of: response, code: code)
    }
}
