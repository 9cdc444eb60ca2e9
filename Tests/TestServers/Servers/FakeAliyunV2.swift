import Foundation
import TestSupport

/// The only account that a fake of Aliyun's v2 interface accepts.
package struct FakeAliyunV2Account: Sendable {
    package enum Mode: Int, Sendable, CaseIterable {
        case plain, cbc, gcm
    }

    package let id = DaemonConfiguration.account
    /// Hexadecimal digits; nil accepts only unsigned requests.
    package var secret: String?
    /// The only mode that is accepted.
    package var mode: Mode
    /// 32 hexadecimal digits.
    package let encryptionKey = "00112233445566778899aabbccddeeff"

    package init(secret: String? = "0123456789abcdef0123456789abcdef", mode: Mode = .plain) {
        self.secret = secret
        self.mode = mode
    }
}

/// The response of a `FakeHTTPDNS` to one request of Aliyun's v2 interface.
struct FakeAliyunV2 {
    /// The question of a request, in any of the modes.
    private struct Question: Decodable {
        let dn: String
        let q: String?

        /// As `FakeHTTPDNS.Call.types`.
        var families: String { q ?? "4" }
    }

    private let request: RecordedRequest
    private let account: FakeAliyunV2Account
    /// Nil when it cannot be read.
    private let question: Question?

    /// Nil when the request is for another service than this one.
    init?(_ request: RecordedRequest, _ account: FakeAliyunV2Account) {
        guard request.path == "/v2/d" else { return nil }
        self.request = request
        self.account = account
        question = Self.question(request.parameters, account)
    }

    private static func question(_ parameters: [String: String], _ account: FakeAliyunV2Account) -> Question? {
        guard let encrypted = parameters["enc"] else {
            return parameters["dn"].map { Question(dn: $0, q: parameters["q"]) }
        }
        guard encrypted == encrypted.lowercased(), let sealed = OpenSSLCommand.bytes(hexadecimal: encrypted),
            let key = OpenSSLCommand.bytes(hexadecimal: account.encryptionKey)
        else { return nil }
        let text: [UInt8]? =
            switch account.mode {
            case .plain: nil
            case .cbc:
                try? OpenSSLCommand.transform(
                    Array(sealed.dropFirst(16)), .decrypt, "aes-128-cbc", key: key, iv: Array(sealed.prefix(16)))
            case .gcm:
                try? OpenSSLCommand.openGCM(Array(sealed.dropFirst(12)), key: key, nonce: Array(sealed.prefix(12)))
            }
        return text.flatMap { try? JSONDecoder().decode(Question.self, from: Data($0)) }
    }

    /// The call that the request is.
    var call: FakeHTTPDNS.Call? { question.map { .init(.aliyunV2, $0.dn, $0.families) } }

    /// The proper response; with `renamed`, the one to a question for that name.
    func reply(_ zone: FakeZone, renamed: String?) -> HTTPReply {
        guard request.method == "GET" else { return error(405, "MethodNotAllowed") }
        guard request.parameters["id"] == account.id else { return error(403, "InvalidAccount") }
        if let code = signatureFault { return error(403, code) }
        guard request.parameters["m"] == String(account.mode.rawValue) else { return error(400, "MissingArgument") }
        // The service's response to a payload that it cannot decrypt is not published: this code is the fake's own.
        guard let question else { return error(400, "InvalidEncryption") }
        let (families, entry) = (question.families.split(separator: ","), zone.entry(question.dn))
        var members = ["\"dn\":\"\(renamed ?? question.dn)\""]
        if families.contains("4") { members.append("\"v4\":\(family(entry, entry?.a ?? [], zone))") }
        if families.contains("6") { members.append("\"v6\":\(family(entry, entry?.aaaa ?? [], zone))") }
        let data = "{\"cip\":\"203.0.113.7\",\"answers\":[{\(members.joined(separator: ","))}]}"
        guard let sealed = try? seal(data) else { return error(500, "InternalError") }
        return HTTPReply(
            contentType: "application/json",
            body: Array("{\"code\":\"success\",\"mode\":\(account.mode.rawValue),\"data\":\(sealed)}".utf8))
    }

    private func family(_ entry: FakeZone.Entry?, _ addresses: [String], _ zone: FakeZone) -> String {
        let list = addresses.map { "\"\($0)\"" }.joined(separator: ",")
        let ttl = entry?.ttl ?? zone.negativeTTL
        guard addresses.isEmpty else { return "{\"ips\":[\(list)],\"ttl\":\(ttl)}" }
        return "{\"ips\":[],\"ttl\":\(ttl),\"no_ip_code\":\"\(entry == nil ? "DomainNotExist" : "RRNotExist")\"}"
    }

    /// `data` in the form that it has in the response.
    private func seal(_ data: String) throws -> String {
        guard account.mode != .plain else { return data }
        guard let key = OpenSSLCommand.bytes(hexadecimal: account.encryptionKey) else {
            throw TestFailure("no key")
        }
        let iv = (0..<(account.mode == .cbc ? 16 : 12)).map { _ in UInt8.random(in: 0...255) }
        let sealed =
            account.mode == .cbc
            ? try OpenSSLCommand.transform(Array(data.utf8), .encrypt, "aes-128-cbc", key: key, iv: iv)
            : try OpenSSLCommand.sealGCM(Array(data.utf8), key: key, nonce: iv)
        return "\"\(Data(iv + sealed).base64EncodedString())\""
    }

    /// The fault of the signature, verified with the `openssl` command; nil: none.
    private var signatureFault: String? {
        let parameters = request.parameters
        guard let secret = account.secret else { return parameters["s"] == nil ? nil : "InvalidSignature" }
        guard let time = parameters["exp"], let signature = parameters["s"], time.count == 10,
            let expiry = TimeInterval(time)
        else { return "UnsignedInterfaceDisabled" }
        let left = expiry - Date().timeIntervalSince1970
        if left < 0 { return "SignatureExpired" }
        if left > 86_400 { return "InvalidDuration" }
        let signed = parameters.filter { $0.key != "s" && !$0.value.isEmpty }.sorted { $0.key < $1.key }
            .map { "\($0.key)=\($0.value)" }.joined(separator: "&")
        guard let code = try? OpenSSLCommand.hmacSHA256(signed, hexadecimalKey: secret) else { return "InternalError" }
        return code == signature ? nil : "InvalidSignature"
    }

    private func error(_ status: Int, _ code: String) -> HTTPReply {
        HTTPReply(status: status, contentType: "application/json", body: Array("{\"code\":\"\(code)\"}".utf8))
    }
}
