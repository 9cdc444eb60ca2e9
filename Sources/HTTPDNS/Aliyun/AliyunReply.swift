import DNSWire

/// The body of Aliyun's response for one name, or of an error.
struct AliyunReply {
    private(set) var host: String?
    /// IPv4 addresses; `ipsv6` has the IPv6 addresses.
    private var ips: [String] = []
    private var ipsv6: [String] = []
    /// In seconds, for both families; 0 if there is none.
    private var ttl: OutsideNumber = 0
    /// The error code, if the body is an error.
    private(set) var code: String?

    init(_ body: [UInt8]) throws(JSONError) {
        var reply = AliyunReply()
        try JSONReader.read(body) { reader throws(JSONError) in
            try reader.object { reader, key throws(JSONError) in try reply.read(&reader, key) }
        }
        self = reply
    }

    private init() {}

    private mutating func read(_ reader: inout JSONReader, _ key: String) throws(JSONError) {
        // A null member counts as missing.
        guard try reader.kind() != .null else { return }
        switch key {
        case "host": host = try reader.string()
        case "ips": ips = try reader.strings()
        case "ipsv6": ipsv6 = try reader.strings()
        case "ttl": ttl = try reader.integer()
        case "code": code = try reader.stringIfAny()
        default: break
        }
    }

    /// The list of one family.
    func list(_ type: RecordType) -> AddressList { AddressList(texts: type == .a ? ips : ipsv6, ttl: ttl) }
}

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
            .refused(text)
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
