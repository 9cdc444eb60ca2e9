package import DNSWire

/// Aliyun HTTPDNS, the interface for one name: `/{account}/d`, or with a secret `/{account}/sign_d`.
///
/// A and AAAA come in one call and share one TTL. Source: help.aliyun.com/document_detail/52679.html (response),
/// /56810.html (signature, error codes).
package struct AliyunFormat: ProviderFormat {
    /// The usual bytes of a request's target apart from account and name.
    private static let usualParameters = 32

    /// The part of a request's target before the interface's name.
    private let base: String
    private let secret: Secret?
    private let crypto: any Crypto

    /// - Parameters:
    ///   - account: the account's number, as text.
    ///   - secret: the key that signs requests; nil: the interface for unsigned requests is used.
    package init(account: String, secret: Secret?, crypto: any Crypto) {
        base = "/\(TextEncoding.percent(account))/"
        self.secret = secret
        self.crypto = crypto
    }

    package var answersBothFamilies: Bool { true }

    package func answers(_ type: RecordType) -> Bool { type.isAddress }

    package func request(for question: UpstreamQuestion, at time: Int64) throws(UpstreamFailure) -> HTTPRequest {
        let host = try HostText.of(question.name)
        // Appended to one text: each interpolation would allocate.
        var target = ""
        target.reserveCapacity(base.utf8.count + host.utf8.count + Self.usualParameters)
        target += base
        target += secret == nil ? "d?host=" : "sign_d?host="
        target += host
        target += "&query="
        target += try AddressFamilies(question.types).aliyunText
        // Not signed. The service takes an address: the first one of the network is sent.
        if let client = question.clientNetwork?.address.description { target += "&ip=\(TextEncoding.percent(client))" }
        guard let secret else { return HTTPRequest(target: target) }
        let expiry = SignatureExpiry.text(at: time)
        guard let digest = crypto.md5(Array("\(host)-\(secret.value)-\(expiry)".utf8)) else {
            throw .unusable("no MD5 in this system's libcrypto, and requests are signed with it")
        }
        return HTTPRequest(target: "\(target)&t=\(expiry)&s=\(TextEncoding.hexadecimal(digest))")
    }

    package func outcome(of response: HTTPResponse, to question: UpstreamQuestion) -> ProviderOutcome {
        let reply: AliyunReply
        do {
            reply = try AliyunReply(response.body)
        } catch {
            return .failure(AliyunError.unreadable(response, error))
        }
        guard response.isSuccess, reply.code == nil || reply.host != nil else {
            return .failure(AliyunError(code: reply.code, response: response).failure)
        }
        guard let host = reply.host, HostText.matches(host, question.name) else {
            return .failure(.unusable("the reply is for another name"))
        }
        var results = UpstreamResults()
        for type in question.types { results.add(reply.list(type).result(for: type, of: question.name), for: type) }
        return .results(results)
    }
}

/// The account parameters of AliDNS's JSON interface of DoH.
///
/// Source: www.alibabacloud.com/help/en/dns/httpdns-doh-json-api. The page says only that `key` is a hash made with the
/// secret; the formula is that of public clients.
package struct AliDNSAccount: Sendable {
    private let id: String
    private let accessKeyID: String
    private let secret: Secret
    private let crypto: any Crypto

    /// - Parameters:
    ///   - id: the account ID of the DNS console, not that of the cloud account.
    ///   - accessKeyID: the AccessKey ID of the same console.
    ///   - secret: the AccessKey secret of that ID.
    package init(id: String, accessKeyID: String, secret: Secret, crypto: any Crypto) {
        self.id = id
        self.accessKeyID = accessKeyID
        self.secret = secret
        self.crypto = crypto
    }

    /// The parameters that sign a query for `host`, beginning with `&`.
    ///
    /// - Parameters:
    ///   - host: as it is sent, before percent-encoding.
    ///   - time: seconds since 1970.
    func parameters(for host: String, at time: Int64) throws(UpstreamFailure) -> String {
        let time = max(time, 0)
        guard let digest = crypto.sha256(Array("\(id)\(secret.value)\(time)\(host)\(accessKeyID)".utf8)) else {
            throw .unusable("no SHA-256 in this system's libcrypto, and requests are signed with it")
        }
        return "&uid=\(TextEncoding.percent(id))&ak=\(TextEncoding.percent(accessKeyID))&ts=\(time)"
            + "&key=\(TextEncoding.hexadecimal(digest))"
    }
}

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
