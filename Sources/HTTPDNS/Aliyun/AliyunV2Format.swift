package import DNSWire

/// Aliyun HTTPDNS, the interface of version 2: `/v2/d`, plain or encrypted.
///
/// A and AAAA come in one call, each with its own TTL, and an empty family may have a reason. Source:
/// help.aliyun.com/document_detail/2978980.html and the vendor's SDKs.
package struct AliyunV2Format: ProviderFormat {
    /// The encryption of requests and responses. Keys are 32 hexadecimal digits.
    package enum Encryption: Sendable {
        case none
        /// A response can be changed without the key.
        case cbc(key: Secret)
        /// A response cannot be made without the key, but it can be replayed at any time.
        case gcm(key: Secret)

        /// The parameter `m`, and the response's `mode`.
        fileprivate var mode: Int64 {
            switch self {
            case .none: 0
            case .cbc: 1
            case .gcm: 2
            }
        }
    }

    private let account: String
    private let secret: Secret?
    private let encryption: Encryption
    private let crypto: any Crypto

    /// - Parameters:
    ///   - account: the account's number, as text.
    ///   - secret: the key that signs requests, in hexadecimal digits; nil: they are not signed.
    package init(account: String, secret: Secret?, encryption: Encryption, crypto: any Crypto) {
        self.account = account
        self.secret = secret
        self.encryption = encryption
        self.crypto = crypto
    }

    private var box: PayloadBox? {
        switch encryption {
        case .none: nil
        case .cbc(let key): PayloadBox(cipher: .aes128CBC, key: key, keyForm: .hexadecimal, crypto: crypto)
        case .gcm(let key): PayloadBox(cipher: .aes128GCM, key: key, keyForm: .hexadecimal, crypto: crypto)
        }
    }

    package var answersBothFamilies: Bool { true }

    package func answers(_ type: RecordType) -> Bool { type.isAddress }

    package func request(for question: UpstreamQuestion, at time: Int64) throws(UpstreamFailure) -> HTTPRequest {
        let (host, families) = (try HostText.of(question.name), try AddressFamilies(question.types).aliyunText)
        // The service takes an address: the first one of the network is sent.
        let client = question.clientNetwork?.address.description
        var parameters: [AliyunV2Signature.Parameter] = [("id", account), ("m", String(encryption.mode))]
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
            parameters.append(
                ("s", try AliyunV2Signature.hexadecimal(of: parameters, secret: secret, crypto: crypto)))
        }
        let query = parameters.map { "\($0.name)=\(TextEncoding.percent($0.value))" }
        return HTTPRequest(target: "/v2/d?\(query.joined(separator: "&"))")
    }

    package func outcome(of response: HTTPResponse, to question: UpstreamQuestion) -> ProviderOutcome {
        let reply: AliyunV2Reply
        do {
            reply = try AliyunV2Reply(response.body)
        } catch {
            return .failure(AliyunError.unreadable(response, error))
        }
        guard response.isSuccess, reply.code == "success" else {
            return .failure(AliyunError(code: reply.code, response: response).failure)
        }
        do {
            let answers = try answers(in: reply)
            guard answers.allSatisfy({ HostText.matches($0.host, question.name) }) else {
                return .failure(.unusable("the reply is for another name"))
            }
            var results = UpstreamResults()
            for answer in answers {
                for type in question.types {
                    guard let family = answer.families[type] else { continue }
                    results.add(family.result(for: type, of: question.name), for: type)
                }
            }
            guard !results.isEmpty else {
                return .failure(.unusable("the reply contains nothing of what was asked"))
            }
            return .results(results)
        } catch {
            return .failure(error)
        }
    }

    /// The response's answers, decrypted. A response in another mode than the request's is refused: a plain one can be
    /// forged.
    private func answers(in reply: AliyunV2Reply) throws(UpstreamFailure) -> [AliyunV2Answer] {
        guard reply.mode == nil || reply.mode == OutsideNumber(encryption.mode) else {
            throw .unusable("the reply is not encrypted as it was asked for")
        }
        let text: [UInt8]
        switch (reply.data, box) {
        case (.plain(let answers), nil): return answers
        case (.text(let json), nil): text = Array(json.utf8)
        case (.text(let encrypted), let box?): text = try box.open(TextDecoding.base64(encrypted))
        case (.plain, _?): throw .unusable("the reply is not encrypted as it was asked for")
        case (nil, _): throw .unusable("the reply holds no data")
        }
        do {
            return try AliyunV2Answer.all(in: text)
        } catch {
            throw .unusable("unreadable reply: \(error)")
        }
    }
}

/// The signature of Aliyun's v2 interface: HMAC-SHA256 over the parameters in the order of their names.
///
/// Source: help.aliyun.com/document_detail/2978980.html.
package enum AliyunV2Signature {
    /// A parameter before percent-encoding.
    package typealias Parameter = (name: String, value: String)

    /// The text that is signed. Parameters without a value are left out; names are sorted by their bytes, upper case
    /// before lower.
    package static func text(of parameters: [Parameter]) -> String {
        parameters.filter { !$0.value.isEmpty }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            .map { "\($0.name)=\($0.value)" }
            .joined(separator: "&")
    }

    /// - Parameter secret: hexadecimal digits.
    /// - Returns: 64 hexadecimal digits in lower case.
    package static func hexadecimal(
        of parameters: [Parameter], secret: Secret, crypto: any Crypto
    ) throws(UpstreamFailure) -> String {
        guard let key = TextDecoding.hexadecimal(secret.value),
            let code = crypto.hmacSHA256(Array(text(of: parameters).utf8), key: key)
        else { throw .unusable("no HMAC-SHA256 in this system's libcrypto, and requests are signed with it") }
        return TextEncoding.hexadecimal(code)
    }
}

/// The body of a response of Aliyun's v2 interface, or of an error.
struct AliyunV2Reply {
    enum Data {
        case plain([AliyunV2Answer])
        /// Base64 of encrypted data, or JSON as text.
        case text(String)
    }

    /// `success`, or an error code.
    private(set) var code: String?
    /// Nil when it is missing.
    private(set) var mode: OutsideNumber?
    private(set) var data: Data?

    init(_ body: [UInt8]) throws(JSONError) {
        var reply = AliyunV2Reply()
        try JSONReader.read(body) { reader throws(JSONError) in
            try reader.object { reader, key throws(JSONError) in try reply.read(&reader, key) }
        }
        self = reply
    }

    private init() {}

    private mutating func read(_ reader: inout JSONReader, _ key: String) throws(JSONError) {
        switch (key, try reader.kind()) {
        case ("code", .string): code = try reader.string()
        case ("mode", .number): mode = try reader.integer()
        case ("mode", .string):
            guard let number = OutsideNumber(digits: try reader.string()) else { throw reader.fault(.badValue) }
            mode = number
        case ("data", .string): data = .text(try reader.string())
        case ("data", .object): data = .plain(try AliyunV2Answer.all(&reader))
        default: break
        }
    }
}

/// One name of such a response.
struct AliyunV2Answer {
    /// One family of its addresses.
    struct Family {
        fileprivate(set) var list = AddressList()
        /// Why there are no addresses, if the service gave a reason.
        fileprivate(set) var emptyCode: String?

        /// The result for `type`. Two codes are known; with any other, or none, an empty list is indeterminate.
        func result(for type: RecordType, of name: Name) -> UpstreamResult {
            guard list.texts.isEmpty else { return list.result(for: type, of: name) }
            return switch emptyCode {
            case "DomainNotExist": list.negative(.nameError, name)
            case "RRNotExist": list.negative(.noError, name)
            default: list.result(for: type, of: name)
            }
        }
    }

    fileprivate(set) var host = ""
    /// By type; a type that was not queried is missing.
    fileprivate(set) var families: [RecordType: Family] = [:]

    /// Parses the text of `{"answers":[…]}`.
    static func all(in text: [UInt8]) throws(JSONError) -> [AliyunV2Answer] {
        try JSONReader.read(text) { reader throws(JSONError) in try all(&reader) }
    }

    /// Parses such an object.
    static func all(_ reader: inout JSONReader) throws(JSONError) -> [AliyunV2Answer] {
        var answers: [AliyunV2Answer] = []
        try reader.object { reader, key throws(JSONError) in
            guard key == "answers", try reader.kind() != .null else { return }
            try reader.array { reader throws(JSONError) in answers.append(try one(&reader)) }
        }
        return answers
    }

    private static func one(_ reader: inout JSONReader) throws(JSONError) -> AliyunV2Answer {
        var answer = AliyunV2Answer()
        try reader.object { reader, key throws(JSONError) in
            guard try reader.kind() != .null else { return }
            switch key {
            case "dn": answer.host = try reader.string()
            case "v4": answer.families[.a] = try family(&reader)
            case "v6": answer.families[.aaaa] = try family(&reader)
            default: break
            }
        }
        return answer
    }

    private static func family(_ reader: inout JSONReader) throws(JSONError) -> Family {
        var family = Family()
        try reader.object { reader, key throws(JSONError) in
            guard try reader.kind() != .null else { return }
            switch key {
            case "ips": family.list.texts = try reader.strings()
            case "ttl": family.list.ttl = try reader.integer()
            case "no_ip_code": family.emptyCode = try reader.stringIfAny()
            default: break
            }
        }
        return family
    }
}
