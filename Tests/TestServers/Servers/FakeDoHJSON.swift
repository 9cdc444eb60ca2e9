import Foundation
import TestSupport

/// The vendor whose JSON form of DoH a `FakeHTTPDNS` uses.
package enum FakeJSONDialect: Sendable {
    /// `/resolve`; names end with a dot, `Comment` is a text.
    case google
    /// `/dns-query`, only with `Accept: application/dns-json`; owners have no final dot, `Comment` is a list.
    case cloudflare
    /// `/resolve`; `Question` is an object, its name without the final dot. With an account every request must be
    /// signed.
    case alidns(FakeAliDNSAccount?)
    /// `/resolve`, and `/dns-query` for requests with a `name`.
    case dnspod

    /// The path in its documentation, or that its users configure.
    package var path: String {
        switch self {
        case .google, .alidns, .dnspod: "/resolve"
        case .cloudflare: "/dns-query"
        }
    }
}

/// The only account that a fake AliDNS accepts.
package struct FakeAliDNSAccount: Sendable {
    package var id: String
    package var accessKeyID: String
    package var secret: String

    package init(id: String, accessKeyID: String, secret: String) {
        self.id = id
        self.accessKeyID = accessKeyID
        self.secret = secret
    }
}

/// The response of a `FakeHTTPDNS` to one request in the JSON form of DoH.
struct FakeDoHJSON {
    let request: RecordedRequest
    let dialect: FakeJSONDialect

    /// Seconds by which a timestamp may differ.
    private static let clockTolerance: TimeInterval = 300

    /// Nil when the request is for another service than this one.
    init?(_ request: RecordedRequest, _ dialect: FakeJSONDialect) {
        let isHere =
            switch dialect {
            case .google, .alidns: request.path == "/resolve"
            case .cloudflare:
                request.path == "/dns-query" && request.header("accept") == "application/dns-json"
            case .dnspod:
                request.path == "/resolve" || request.path == "/dns-query" && request.parameters["name"] != nil
            }
        guard isHere else { return nil }
        self.request = request
        self.dialect = dialect
    }

    /// The question of the request; nil when a parameter is missing or invalid.
    var question: TestMessage.Question? {
        guard let name = request.parameters["name"], !name.isEmpty else { return nil }
        let type: UInt16? =
            switch request.parameters["type"]?.uppercased() {
            case nil, "A": TestRecordType.a
            case "AAAA": TestRecordType.aaaa
            case let text?: UInt16(text)
            }
        return type.map { TestMessage.Question(name.hasSuffix(".") ? String(name.dropLast()) : name, $0) }
    }

    /// The proper response; with `renamed`, the one to a question for that name.
    func reply(_ zone: FakeZone, renamed: String?) -> HTTPReply {
        guard request.method == "GET" else { return error(501, "<html>") }
        if case .alidns(let account?) = dialect, let code = refusal(account) {
            // The vendor publishes no codes: these are the fake's own.
            return HTTPReply(
                status: 403, contentType: "application/json", body: Array("{\"code\":\"\(code)\"}".utf8))
        }
        guard let question else { return error(400, "<html>bad request</html>") }
        var query = TestMessage(id: 0, flags: 0x0100)
        query.questions = [question]
        var message = zone.reply(to: query)
        if let renamed {
            message.questions[0].name = renamed
            for index in message.answers.indices { message.answers[index].name = renamed }
        }
        let type = if case .cloudflare = dialect { "application/dns-json" } else { "application/json" }
        return HTTPReply(contentType: type, body: Array(text(of: message).utf8))
    }

    private func error(_ status: Int, _ body: String) -> HTTPReply {
        if case .cloudflare = dialect {
            return HTTPReply(
                status: status, contentType: "application/json", body: Array("{\"error\":\"Invalid query.\"}".utf8))
        }
        return HTTPReply(status: status, contentType: "text/html", body: Array(body.utf8))
    }

    /// The fault of the account or the signature, verified with the `openssl` command; nil: none.
    private func refusal(_ account: FakeAliDNSAccount) -> String? {
        let parameters = request.parameters
        guard parameters["uid"] == account.id, parameters["ak"] == account.accessKeyID else { return "InvalidAccount" }
        guard let name = parameters["name"], let time = parameters["ts"], let key = parameters["key"],
            let seconds = TimeInterval(time)
        else { return "MissingParameter" }
        guard abs(seconds - Date().timeIntervalSince1970) <= Self.clockTolerance else { return "InvalidTimestamp" }
        guard let directory = try? TemporaryDirectory(),
            let file = try? directory.write(
                "\(account.id)\(account.secret)\(time)\(name)\(account.accessKeyID)", to: "signed"),
            let output = try? ChildProcess.succeed(["openssl", "dgst", "-sha256", "-r", file])
        else { return "InternalError" }
        return output.prefix(64) == key ? nil : "InvalidKey"
    }

    private func text(of message: TestMessage) -> String {
        let flag = { (bit: UInt16) in message.flags & bit != 0 ? "true" : "false" }
        var members = [
            "\"Status\":\(message.flags & 15)", "\"TC\":\(flag(0x0200))", "\"RD\":\(flag(0x0100))",
            "\"RA\":\(flag(0x0080))", "\"AD\":\(flag(0x0020))", "\"CD\":\(flag(0x0010))",
        ]
        let questions = message.questions.map { "{\"name\":\"\(questionName($0.name))\",\"type\":\($0.type)}" }
        if case .alidns = dialect {
            members += questions.map { "\"Question\":\($0)" }
        } else {
            members.append("\"Question\":[\(questions.joined(separator: ","))]")
        }
        for (name, records) in [("Answer", message.answers), ("Authority", message.authorities)]
        where !records.isEmpty { members.append("\"\(name)\":[\(records.map(text).joined(separator: ","))]") }
        switch dialect {
        case .google: members.append("\"Comment\":\"Response from 192.0.2.53.\"")
        case .cloudflare: members.append("\"Comment\":[\"EDE(29): Synthesized\",\"EDE(0): Other\"]")
        case .alidns: break
        case .dnspod: members.append("\"edns_client_subnet\":\"203.0.113.0/24\"")
        }
        return "{\(members.joined(separator: ","))}"
    }

    private func text(_ record: TestMessage.Record) -> String {
        let name = "\"name\":\"\(owner(record.name))\""
        let data = "\"data\":\"\(Self.data(of: record))\""
        if case .alidns = dialect {
            return "{\(name),\"TTL\":\(record.ttl),\"type\":\(record.type),\(data)}"
        }
        return "{\(name),\"type\":\(record.type),\"TTL\":\(record.ttl),\(data)}"
    }

    private func questionName(_ name: String) -> String {
        switch dialect {
        case .cloudflare, .alidns: name
        case .google, .dnspod: name + "."
        }
    }

    private func owner(_ name: String) -> String {
        if case .cloudflare = dialect { name } else { name + "." }
    }

    private static func data(of record: TestMessage.Record) -> String {
        if let address = record.address { return address }
        var rest = record.data[...]
        switch record.type {
        case TestRecordType.cname: return name(&rest)
        case TestRecordType.soa:
            let names = [name(&rest), name(&rest)]
            let numbers = stride(from: rest.startIndex, to: rest.endIndex - 3, by: 4).map { start in
                String(rest[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) })
            }
            return (names + numbers).joined(separator: " ")
        default: return record.data.map { String($0, radix: 16) }.joined()
        }
    }

    /// Removes a name from the front of rdata.
    ///
    /// - Returns: the name with its final dot.
    private static func name(_ bytes: inout ArraySlice<UInt8>) -> String {
        var text = ""
        while let length = bytes.popFirst(), length > 0 {
            text += String(decoding: bytes.prefix(Int(length)), as: UTF8.self) + "."
            bytes = bytes.dropFirst(Int(length))
        }
        return text.isEmpty ? "." : text
    }
}
