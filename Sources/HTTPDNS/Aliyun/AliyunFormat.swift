public import DNSWire

/// Aliyun HTTPDNS, the interface for one name: `/{account}/d`, or with a secret `/{account}/sign_d`.
///
/// A and AAAA come in one call and share one TTL. Source: help.aliyun.com/document_detail/52679.html (response),
/// /56810.html (signature, error codes).
public struct AliyunFormat: ProviderFormat {
    /// The usual bytes of a request's target apart from account and name.
    private static let usualParameters = 32

    /// The part of a request's target before the interface's name.
    private let base: String
    private let secret: Secret?
    private let crypto: any Crypto

    /// For the account of this number, as text. Without a secret the interface for unsigned requests is used.
    public init(account: String, secret: Secret?, crypto: any Crypto) {
        base = "/\(TextEncoding.percent(account))/"
        self.secret = secret
        self.crypto = crypto
    }

    public func request(for question: UpstreamQuestion, at time: Int64) throws(UpstreamFailure) -> HTTPRequest {
        let host = try question.name.hostText()
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
        let signature = try crypto.md5Digits("\(host)-\(secret.value)-\(expiry)")
        return HTTPRequest(target: "\(target)&t=\(expiry)&s=\(signature)")
    }

    public func results(
        in response: HTTPResponse, to question: UpstreamQuestion
    ) throws(UpstreamFailure) -> UpstreamResults {
        let (host, ipv4, ipv6, code) = try response.json(or: response.failure()) { json throws(JSONError) in
            let ttl = try json["ttl"]?.number() ?? 0
            return (
                try json["host"]?.text(), try AddressList(json["ips"], of: .a, ttl: ttl),
                try AddressList(json["ipsv6"], of: .aaaa, ttl: ttl), json["code"]?.string
            )
        }
        guard response.isSuccess, code == nil || host != nil else { throw response.aliyunFailure(code: code) }
        guard let host, question.name.isHost(host) else { throw .unusable("the reply is for another name") }
        var results = UpstreamResults()
        for type in question.types { results.add((type == .a ? ipv4 : ipv6).result(of: question.name), for: type) }
        return results
    }
}

/// The account parameters of AliDNS's JSON interface of DoH.
///
/// Source: www.alibabacloud.com/help/en/dns/httpdns-doh-json-api. The page says only that `key` is a hash made with the
/// secret; the formula is that of public clients.
public struct AliDNSAccount: Sendable {
    private let id: String
    private let accessKeyID: String
    private let secret: Secret
    private let crypto: any Crypto

    /// The account ID is that of the DNS console, not of the cloud account; the AccessKey ID with its secret is of the same
    /// console.
    public init(id: String, accessKeyID: String, secret: Secret, crypto: any Crypto) {
        self.id = id
        self.accessKeyID = accessKeyID
        self.secret = secret
        self.crypto = crypto
    }

    /// The parameters that sign a query for `host`, as it is sent before percent-encoding, at a time in seconds since 1970;
    /// they begin with `&`.
    func parameters(for host: String, at time: Int64) throws(UpstreamFailure) -> String {
        let time = max(time, 0)
        let key = try crypto.sha256Digits("\(id)\(secret.value)\(time)\(host)\(accessKeyID)")
        return "&uid=\(TextEncoding.percent(id))&ak=\(TextEncoding.percent(accessKeyID))&ts=\(time)"
            + "&key=\(key)"
    }
}

extension HTTPResponse {
    /// The failure that an error of Aliyun's means: by its code, or else by the HTTP status.
    ///
    /// The code takes precedence, since the same one comes with 400 or 403 (help.aliyun.com/document_detail/56810.html
    /// section 3.3).
    func aliyunFailure(code: String?) -> UpstreamFailure {
        let text =
            code == nil && isSuccess ? "the reply is neither an answer nor an error" : self.text(code: code)
        return switch code {
        case "SignatureExpired", "InvalidDuration":
            .clockSkew(text, serverTime: date)
        case "InvalidSignature", "UnsignedInterfaceDisabled", "InvalidAccount", "AccountNotExists":
            .authentication(text)
        case "MissingArgument", "InvalidHost", "TooManyHosts", "SdnsNotSupported", "MethodNotAllowed":
            .refused(text)
        case "ServiceLevelDeny", "InternalError":
            unavailable(text)
        default:
            failure(text)
        }
    }
}

/// Aliyun's scheduling call, `/{account}/ss`, signed if there is a secret.
///
/// Source: help.aliyun.com/document_detail/111585.html, /2868209.html, and the vendor's SDKs, from which the format of
/// the response is known.
public struct AliyunScheduleFormat: ScheduleFormat {
    /// Seconds from the service's time to the signature's: one page calls that the service's time, within 150 s,
    /// another an expiry 30 to 300 s ahead.
    private static let lead: Int64 = 60
    /// Bytes of the nonce, which is sent in hexadecimal digits.
    private static let nonceLength = 6

    private let path: String
    private let secret: Secret?
    private let crypto: any Crypto

    /// For the account of this number, as text, and the service's name of the region, such as `cn`. Without a secret
    /// requests are not signed.
    public init(account: String, region: String, secret: Secret?, crypto: any Crypto) {
        path = "/\(TextEncoding.percent(account))/ss?region=\(TextEncoding.percent(region))"
        self.secret = secret
        self.crypto = crypto
    }

    public func request(at time: Int64) throws(UpstreamFailure) -> HTTPRequest {
        guard let secret else { return HTTPRequest(target: path) }
        let text = SignatureExpiry.text(at: time, lifetime: Self.lead)
        guard let nonce = crypto.randomBytes(Self.nonceLength).map(TextEncoding.hexadecimal) else {
            throw .unusable("no random bytes from this system's libcrypto, and requests are signed with some")
        }
        let signature = try crypto.md5Digits("\(nonce)-\(secret.value)-\(text)")
        return HTTPRequest(target: "\(path)&n=\(nonce)&t=\(text)&s=\(signature)")
    }

    public func schedule(in response: HTTPResponse) throws(UpstreamFailure) -> AddressSchedule? {
        let (places, isDisabled, code) = try response.json(or: response.failure()) { json throws(JSONError) in
            (try Self.places(json), json["service_status"]?.string == "disable", json["code"]?.string)
        }
        guard response.isSuccess else { throw response.aliyunFailure(code: code) }
        if isDisabled { return nil }
        guard !places.isEmpty else {
            throw code == nil ? .unusable("the reply names no address") : response.aliyunFailure(code: code)
        }
        return AddressSchedule(places)
    }

    /// The valid addresses with their ports, without duplicates.
    private static func places(_ json: JSONNode) throws(JSONError) -> [AddressAndPort] {
        var places: [AddressAndPort] = []
        for (key, type) in [("service_ip", RecordType.a), ("service_ipv6", .aaaa)] {
            // Parallel to the addresses.
            let ports = try json[key + "_port"]?.elements() ?? []
            for (index, text) in try (json[key]?.elements() ?? []).enumerated() {
                guard let address = text.string.flatMap({ IPAddress($0) }), address.recordType == type else { continue }
                var place = AddressAndPort(address, port: 0)
                if index < ports.count, case .number(let stated) = ports[index].content {
                    guard let port = stated.within(1...UInt16.max) else { continue }
                    place.port = port
                }
                if places.count < AddressSchedule.limit, !places.contains(place) { places.append(place) }
            }
        }
        return places
    }
}
