public import DNSWire

/// Aliyun HTTPDNS, the interface of version 2: `/v2/d`, plain or encrypted.
///
/// A and AAAA come in one call, each with its own TTL, and an empty family may have a reason. Source:
/// help.aliyun.com/document_detail/2978980.html and the vendor's SDKs.
public struct AliyunV2Format: ProviderFormat {
    private let account: String
    private let secret: Secret?
    private let box: PayloadBox?
    private let crypto: any Crypto

    /// For the account of this number, as text. Requests are signed by a secret of hexadecimal digits, and both ways are
    /// encrypted by a box with CBC or GCM, where there is one.
    public init(account: String, secret: Secret?, box: PayloadBox?, crypto: any Crypto) {
        self.account = account
        self.secret = secret
        self.box = box
        self.crypto = crypto
    }

    /// The parameter `m`, and the response's `mode`.
    private var mode: Int {
        switch box?.encryption {
        case .cbc?: 1
        case .gcm?: 2
        default: 0
        }
    }

    public func request(for question: UpstreamQuestion, at time: Int64) throws(UpstreamFailure) -> HTTPRequest {
        let (host, families) = (try question.name.hostText(), try AddressFamilies(question.types).aliyunText)
        // The service takes an address: the first one of the network is sent.
        let client = question.clientNetwork?.address.description
        var parameters: [AliyunV2Signature.Parameter] = [("id", account), ("m", String(mode))]
        if let box {
            let text = JSONWriter.object { writer in
                writer.member("dn", host)
                writer.member("q", families)
                if let client { writer.member("cip", client) }
            }
            parameters.append(("enc", TextEncoding.hexadecimal(try box.seal(Array(text.utf8)))))
        } else {
            parameters += [("dn", host), ("q", families)]
            if let client { parameters.append(("cip", client)) }
        }
        parameters.append(("v", "1.0"))
        if let secret {
            parameters.append(("exp", SignatureExpiry.text(at: time)))
            // Not signed itself: the last one.
            parameters.append(("s", try AliyunV2Signature.hexadecimal(of: parameters, secret: secret, crypto: crypto)))
        }
        let query = parameters.map { "\($0.name)=\(TextEncoding.percent($0.value))" }
        return HTTPRequest(target: "/v2/d?\(query.joined(separator: "&"))")
    }

    public func results(
        in response: HTTPResponse, to question: UpstreamQuestion
    ) throws(UpstreamFailure) -> UpstreamResults {
        let (code, mode, data) = try response.json(or: response.failure()) { json throws(JSONError) in
            let mode = json["mode"]?.integer
            if mode == nil, let text = json["mode"], text.string != nil { throw text.fault(.badValue) }
            return (json["code"]?.string, mode, json["data"])
        }
        guard response.isSuccess, code == "success" else { throw response.aliyunFailure(code: code) }
        let answers = try answers(in: data, mode, for: question.name)
        guard answers.allSatisfy({ question.name.isHost($0.host) }) else {
            throw .unusable("the reply is for another name")
        }
        var results = UpstreamResults()
        for answer in answers {
            for type in question.types {
                if let result = answer.families[type] { results.add(result, for: type) }
            }
        }
        guard !results.isEmpty else { throw .unusable("the reply contains nothing of what was asked") }
        return results
    }

    /// The answers in a response's data: an object, or a text of it, of JSON or Base64 of encrypted data. One in another mode
    /// than the request's is refused: a plain one can be forged.
    private func answers(
        in data: JSONNode?, _ stated: OutsideNumber?, for name: Name
    ) throws(UpstreamFailure) -> [AliyunV2Answer] {
        guard stated == nil || stated == OutsideNumber(mode) else {
            throw .unusable("the reply is not encrypted as it was asked for")
        }
        var text: [UInt8]?
        switch (data?.content, box) {
        case (.object?, nil): break
        case (.string(let json)?, nil): text = Array(json.utf8)
        case (.string(let encrypted)?, let box?): text = try box.open(TextDecoding.base64(encrypted))
        case (.object?, _?): throw .unusable("the reply is not encrypted as it was asked for")
        default: throw .unusable("the reply holds no data")
        }
        do throws(JSONError) {
            let json = try text.map { text throws(JSONError) in try JSONReader.read(text) } ?? data
            return try json?.aliyunAnswers(for: name) ?? []
        } catch {
            throw .unreadable(error)
        }
    }
}

/// The signature of Aliyun's v2 interface: HMAC-SHA256 over the parameters in the order of their names.
///
/// Source: help.aliyun.com/document_detail/2978980.html.
public enum AliyunV2Signature {
    /// A parameter before percent-encoding.
    public typealias Parameter = (name: String, value: String)

    /// The text that is signed. Parameters without a value are left out; names are sorted by their bytes, upper case
    /// before lower.
    public static func text(of parameters: [Parameter]) -> String {
        parameters.filter { !$0.value.isEmpty }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            .map { "\($0.name)=\($0.value)" }
            .joined(separator: "&")
    }

    /// - Parameter secret: hexadecimal digits.
    /// - Returns: 64 hexadecimal digits in lower case.
    public static func hexadecimal(
        of parameters: [Parameter], secret: Secret, crypto: any Crypto
    ) throws(UpstreamFailure) -> String {
        guard let key = TextDecoding.hexadecimal(secret.value),
            let code = crypto.hmacSHA256(Array(text(of: parameters).utf8), key: key)
        else { throw type(of: crypto).missing("HMAC-SHA256") }
        return TextEncoding.hexadecimal(code)
    }
}

/// One name of such a response: a type that was not queried is missing.
private typealias AliyunV2Answer = (host: String, families: [RecordType: UpstreamResult])

extension JSONNode {
    /// Those of `{"answers":[…]}`, as results for a name.
    fileprivate func aliyunAnswers(for name: Name) throws(JSONError) -> [AliyunV2Answer] {
        _ = try members()
        var answers: [AliyunV2Answer] = []
        for answer in try self["answers"]?.elements() ?? [] {
            _ = try answer.members()
            var families: [RecordType: UpstreamResult] = [:]
            let host = try answer["dn"]?.text() ?? ""
            for (key, type) in [("v4", RecordType.a), ("v6", .aaaa)] {
                if let family = answer[key] { families[type] = try family.aliyunResult(type, name) }
            }
            answers.append((host, families))
        }
        return answers
    }

    /// The result of one family. Two codes are known; with any other, or none, an empty list is indeterminate.
    private func aliyunResult(_ type: RecordType, _ name: Name) throws(JSONError) -> UpstreamResult {
        _ = try members()
        let list = try AddressList(self["ips"], of: type, ttl: try self["ttl"]?.number() ?? 0)
        let hasList = try self["ips"]?.elements().isEmpty == false
        return switch hasList ? nil : self["no_ip_code"]?.string {
        case "DomainNotExist": list.negative(.nameError, name)
        case "RRNotExist": list.negative(.noError, name)
        default: list.result(of: name)
        }
    }
}
