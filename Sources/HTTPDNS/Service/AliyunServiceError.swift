import DNSWire

/// An error of Aliyun's, as our service returns it: a code, and the HTTP status that the vendor gives it.
///
/// Source: help.aliyun.com/document_detail/56810.html section 3.3 and /2978980.html section 6.2.
enum AliyunServiceError: String, Error {
    case missingArgument = "MissingArgument"
    case invalidHost = "InvalidHost"
    case tooManyHosts = "TooManyHosts"
    case customParameters = "SdnsNotSupported"
    case methodNotAllowed = "MethodNotAllowed"
    case signatureExpired = "SignatureExpired"
    case invalidSignature = "InvalidSignature"
    case invalidDuration = "InvalidDuration"
    case unsigned = "UnsignedInterfaceDisabled"
    case noAccount = "AccountNotExists"
    case denied = "ServiceLevelDeny"
    case internalError = "InternalError"

    private var status: Int {
        switch self {
        case .missingArgument, .invalidHost, .tooManyHosts, .customParameters: 400
        case .methodNotAllowed: 405
        case .internalError: 500
        default: 403
        }
    }

    /// - Parameter status: instead of the usual one.
    func reply(_ status: Int? = nil) -> ServiceReply {
        ServiceReply(status ?? self.status, json: JSONWriter.object { $0.member("code", rawValue) })
    }

    /// Whether a credential was wrong.
    private var isGuess: Bool { self == .invalidSignature || self == .noAccount }

    var reading: ServiceReading { isGuess ? .denied(reply(), nil) : .reply(reply()) }

    /// The error for a call without an answer. The vendor's code for a quota is not public: the one that its SDKs answer
    /// with another server comes with the status that all of them take for "later".
    static func reply(_ refusal: ServiceRefusal) -> ServiceReply {
        switch refusal {
        case .notAllowed, .doubtful: denied.reply()
        case .overQuota: denied.reply(429)
        case .unavailable: internalError.reply()
        }
    }
}

/// The expiry time of a request's signature.
enum AliyunExpiry {
    /// Seconds that a signature may be valid.
    private static let longest: Int64 = 86_400
    private static let digits = 10

    /// - Throws: unless the time is in the coming day.
    static func check(_ text: String, at time: Int64) throws(AliyunServiceError) {
        guard text.utf8.count == digits, let expiry = OutsideNumber(digits: text)?.within(SignatureExpiry.times)
        else { throw .invalidSignature }
        if expiry < time { throw .signatureExpired }
        if expiry - time > longest { throw .invalidDuration }
    }
}

/// Aliyun's parameters in both of its interfaces.
enum AliyunParameters {
    /// The most names of one request.
    private static let mostHosts = 5

    static func hosts(_ text: String, isBatch: Bool) throws(AliyunServiceError) -> [ServiceHost] {
        let texts = isBatch ? text.split(separator: ",", omittingEmptySubsequences: false) : [text[...]]
        guard texts.count <= mostHosts else { throw .tooManyHosts }
        let hosts = texts.compactMap { ServiceHost($0) }
        guard hosts.count == texts.count else { throw .invalidHost }
        return hosts
    }

    static func types(_ text: String?) throws(AliyunServiceError) -> [RecordType] {
        switch text {
        case nil, "4": [.a]
        case "6": [.aaaa]
        case "4,6", "6,4": [.a, .aaaa]
        default: throw .missingArgument
        }
    }
}
