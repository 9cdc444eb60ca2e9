/// The only account that a fake of Tencent's service accepts.
package enum FakeTencentAccount: Sendable {
    /// - Parameter key: text.
    case des(id: String, key: String)
    case aes(id: String, key: String)
    case token(String)
}

/// The response of a `FakeHTTPDNS` to one request of Tencent's form.
struct FakeTencent {
    private let request: RecordedRequest
    private let account: FakeTencentAccount
    /// Empty when it cannot be decrypted.
    private let name: String

    /// Nil when the request is for another service than this one.
    init?(_ request: RecordedRequest, _ account: FakeTencentAccount) {
        guard request.path == "/d" else { return nil }
        self.request = request
        self.account = account
        let asked = request.parameters["dn"] ?? ""
        let text: String?
        if case .token = account {
            text = asked
        } else {
            let bytes = OpenSSLCommand.bytes(hexadecimal: asked).flatMap { try? Self.open($0, account) }
            text = bytes.flatMap { String(validating: $0, as: UTF8.self) }
        }
        name = text ?? ""
    }

    /// The call that the request is.
    var call: FakeHTTPDNS.Call? {
        name.isEmpty ? nil : .init(.tencent, name, request.parameters["type"] ?? "a")
    }

    /// The proper response; with `renamed`, the one to a question for that name.
    func reply(_ zone: FakeZone, renamed: String?) -> HTTPReply {
        guard request.method == "GET", Self.isAccount(account, request) else {
            return Self.text(request.method == "GET" ? 401 : 501, [])
        }
        // A key that is not the account's: the service responds as to a name that it does not have.
        guard !name.isEmpty else { return Self.text(200, []) }
        var line = request.parameters["query"] == "1" ? "\(renamed ?? name).:" : ""
        line += result(zone.entry(name))
        if request.parameters["clientip"] == "1" { line += "|203.0.113.7" }
        let body = Array(line.utf8)
        return Self.sealed(body, account)
    }

    /// The response to the scheduling call, `/conf`.
    static func reply(to request: RecordedRequest, _ account: FakeTencentAccount, _ schedule: FakeSchedule) -> HTTPReply
    {
        guard isAccount(account, request) else { return text(401, []) }
        let addresses = schedule.addresses.map(\.host).joined(separator: ";")
        return sealed(Array("log:0|domain:0|ip:\(addresses)|ttl:60".utf8), account)
    }

    private static func isAccount(_ account: FakeTencentAccount, _ request: RecordedRequest) -> Bool {
        let parameters = request.parameters
        return switch account {
        case .des(let id, _): parameters["id"] == id && parameters["alg"] == "des"
        case .aes(let id, _): parameters["id"] == id && parameters["alg"] == "aes"
        case .token(let token): parameters["token"] == token
        }
    }

    private func result(_ entry: FakeZone.Entry?) -> String {
        let parts =
            switch request.parameters["type"] {
            case "aaaa", "AAAA": [entry?.aaaa]
            case "addrs", "ADDRS": [entry?.a, entry?.aaaa]
            default: [entry?.a]
            }
        let ttl = request.parameters["ttl"] == "1" ? ",\(entry?.ttl ?? 0)" : ""
        return parts.map { list in
            guard let list, !list.isEmpty else { return "0" }
            return list.joined(separator: ";") + ttl
        }.joined(separator: "-")
    }

    private static func key(_ text: String, _ length: Int) -> [UInt8] { Array(text.utf8.prefix(length)) }

    private static func open(_ bytes: [UInt8], _ account: FakeTencentAccount) throws -> [UInt8] {
        switch account {
        case .des(_, let key):
            let key = Self.key(key, 8)
            return try OpenSSLCommand.transform(bytes, .decrypt, "des-ede3", key: key + key + key)
        case .aes(_, let key):
            return try OpenSSLCommand.transform(
                Array(bytes.dropFirst(16)), .decrypt, "aes-128-cbc", key: Self.key(key, 16), iv: Array(bytes.prefix(16))
            )
        case .token: return bytes
        }
    }

    private static func sealed(_ body: [UInt8], _ account: FakeTencentAccount) -> HTTPReply {
        if case .token = account { return text(200, body) }
        guard let sealed = try? seal(body, account) else { return text(500, []) }
        return text(200, Array(OpenSSLCommand.hexadecimal(sealed).utf8))
    }

    private static func seal(_ bytes: [UInt8], _ account: FakeTencentAccount) throws -> [UInt8] {
        switch account {
        case .des(_, let key):
            let key = Self.key(key, 8)
            return try OpenSSLCommand.transform(bytes, .encrypt, "des-ede3", key: key + key + key)
        case .aes(_, let key):
            let iv = (0..<16).map { _ in UInt8.random(in: 0...255) }
            return iv
                + (try OpenSSLCommand.transform(bytes, .encrypt, "aes-128-cbc", key: Self.key(key, 16), iv: iv))
        case .token: return bytes
        }
    }

    private static func text(_ status: Int, _ body: [UInt8]) -> HTTPReply {
        HTTPReply(status: status, contentType: "text/plain", body: body)
    }
}
