import Foundation
import TestSupport

/// The response of a `FakeHTTPDNS` to one request when it has no fault.
struct FakeHTTPService {
    let request: RecordedRequest
    let secret: String?
    let dialect: FakeJSONDialect
    /// Seconds by which its clock is ahead of the true time.
    var clockError: TimeInterval = 0
    var schedule: FakeSchedule?
    private let account: FakeAccount?
    private let aliyunV2: FakeAliyunV2?
    private let tencent: FakeTencent?

    init(request: RecordedRequest, secret: String?, dialect: FakeJSONDialect, account: FakeAccount?) {
        self.request = request
        self.secret = secret
        self.dialect = dialect
        self.account = account
        switch account {
        case .aliyunV2(let account): (aliyunV2, tencent) = (FakeAliyunV2(request, account), nil)
        case .tencent(let account): (aliyunV2, tencent) = (nil, FakeTencent(request, account))
        case nil: (aliyunV2, tencent) = (nil, nil)
        }
    }

    /// The path below the account: `d`, or `sign_d` for a signed request.
    private var aliyunPath: Substring? {
        let parts = request.path.split(separator: "/")
        guard parts.count == 2, parts[0].allSatisfy(\.isNumber), ["d", "sign_d"].contains(parts[1]) else { return nil }
        return parts[1]
    }

    private var json: FakeDoHJSON? { FakeDoHJSON(request, dialect) }

    private var dnsQuery: TestMessage? {
        guard request.path == "/dns-query" else { return nil }
        let bytes =
            request.method == "POST" ? request.body : request.parameters["dns"].flatMap(Self.decodeBase64URL) ?? []
        return try? TestMessage(decoding: bytes)
    }

    /// The call that the request is; nil when it is not a known one.
    var call: FakeHTTPDNS.Call? {
        if let path = aliyunPath, let host = request.parameters["host"] {
            return FakeHTTPDNS.Call(
                path.hasPrefix("sign_") ? .aliyunSigned : .aliyun, host, request.parameters["query"] ?? "4")
        }
        if let aliyunV2 { return aliyunV2.call }
        if let tencent { return tencent.call }
        if let json {
            return json.question.map { FakeHTTPDNS.Call(.dohJSON, $0.name, request.parameters["type"] ?? "") }
        }
        guard let question = dnsQuery?.questions.first else { return nil }
        return FakeHTTPDNS.Call(.doh, question.name, String(question.type))
    }

    /// The proper response; with `renamed`, the one to a question for that name.
    func reply(_ zone: FakeZone, renamed: String? = nil) -> HTTPReply {
        if let schedule, request.path.hasSuffix("/ss") {
            return schedule.reply(
                to: request, secret: secret, at: Date().timeIntervalSince1970 + clockError)
        }
        if let schedule, request.path == "/conf", case .tencent(let account)? = account {
            return FakeTencent.reply(to: request, account, schedule)
        }
        if let path = aliyunPath { return aliyun(zone, path, renamed) }
        if let aliyunV2 { return aliyunV2.reply(zone, renamed: renamed) }
        if let tencent { return tencent.reply(zone, renamed: renamed) }
        if let json { return json.reply(zone, renamed: renamed) }
        guard request.path == "/dns-query" else {
            return HTTPReply(status: 404, contentType: "text/plain", body: Array("not here".utf8))
        }
        if request.method == "POST", request.header("content-type") != "application/dns-message" {
            return HTTPReply(status: 415, contentType: "text/plain", body: [])
        }
        guard let query = dnsQuery, query.questions.count == 1, !query.isResponse else {
            return HTTPReply(status: 400, contentType: "text/plain", body: [])
        }
        var reply = zone.reply(to: query)
        if let renamed {
            reply.questions[0].name = renamed
            for index in reply.answers.indices { reply.answers[index].name = renamed }
        }
        return HTTPReply(contentType: "application/dns-message", body: reply.encoded)
    }

    /// The response of a DNS server that fails this question.
    func failure(_ code: Int) -> HTTPReply {
        guard let query = dnsQuery else { return HTTPReply(status: 404, contentType: "text/plain", body: []) }
        var reply = TestMessage(id: query.id, flags: 0x8180 | UInt16(code & 15))
        reply.questions = query.questions
        return HTTPReply(contentType: "application/dns-message", body: reply.encoded)
    }

    private func aliyun(_ zone: FakeZone, _ path: Substring, _ renamed: String?) -> HTTPReply {
        guard request.method == "GET" else { return Self.error(405, "MethodNotAllowed") }
        guard let host = request.parameters["host"] else { return Self.error(400, "MissingArgument") }
        if path.hasPrefix("sign_"), let code = signatureFault(host) { return Self.error(403, code) }
        let entry = zone.entry(host)
        let query = (request.parameters["query"] ?? "4").split(separator: ",")
        var members = ["\"host\":\"\(renamed ?? host)\""]
        // Without a 4 in `query` there are no IPv4 addresses, but `ips` is present.
        members.append("\"ips\":\(Self.list(query.contains("4") ? entry?.a ?? [] : []))")
        if query.contains("6") { members.append("\"ipsv6\":\(Self.list(entry?.aaaa ?? []))") }
        let ttl = entry?.ttl ?? zone.negativeTTL
        members += ["\"ttl\":\(ttl)", "\"origin_ttl\":\(ttl)", "\"client_ip\":\"203.0.113.7\""]
        return HTTPReply(
            contentType: "application/json", body: Array("{\(members.joined(separator: ","))}".utf8))
    }

    /// The fault of the signature, verified with the `openssl` command; nil: none.
    private func signatureFault(_ host: String) -> String? {
        guard let secret, let time = request.parameters["t"], let signature = request.parameters["s"] else {
            return "InvalidSignature"
        }
        guard time.count == 10, let expiry = TimeInterval(time) else { return "InvalidSignature" }
        let left = expiry - Date().timeIntervalSince1970 - clockError
        if left < 0 { return "SignatureExpired" }
        if left > 86_400 { return "InvalidDuration" }
        guard let directory = try? TemporaryDirectory(),
            let file = try? directory.write("\(host)-\(secret)-\(time)", to: "signed"),
            let output = try? ChildProcess.succeed(["openssl", "md5", "-r", file])
        else { return "InternalError" }
        return output.prefix(32) == signature ? nil : "InvalidSignature"
    }

    private static func error(_ status: Int, _ code: String) -> HTTPReply {
        HTTPReply(status: status, contentType: "application/json", body: Array("{\"code\":\"\(code)\"}".utf8))
    }

    private static func list(_ addresses: [String]) -> String {
        "[" + addresses.map { "\"\($0)\"" }.joined(separator: ",") + "]"
    }

    /// Without padding, as RFC 8484 demands: a `=` is refused.
    private static func decodeBase64URL(_ text: String) -> [UInt8]? {
        guard !text.contains("=") else { return nil }
        var text = text.replacing("-", with: "+").replacing("_", with: "/")
        while text.count % 4 != 0 { text += "=" }
        return Data(base64Encoded: text).map { Array($0) }
    }
}
