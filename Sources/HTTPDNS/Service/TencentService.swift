import DNSWire

/// Tencent's interface, served: `/d`, plain, encrypted or with a token, and `/conf`.
///
/// Source: cloud.tencent.com/document/product/379/54976, tencentcloud.com/document/product/1130/44469,
/// cloud.tencent.com/document/product/379/3530, and the vendor's SDKs.
struct TencentService {
    /// Minutes after which a client asks again for the addresses.
    private static let scheduleMinutes = 60

    let accounts: ServiceAccounts
    let crypto: any Crypto
    /// The addresses of this server, for `/conf`.
    let addresses: [IPAddress]

    func read(_ target: ServiceTarget, at time: Int64) throws(TencentServiceError) -> ServiceReading {
        let access = try access(target)
        guard let sent = target["dn"] else { throw .malformed }
        var names = try text(sent, access.box)[...]
        // Newer SDKs of iOS send an expiry with the names.
        if let mark = names.firstIndex(of: ";") {
            guard let expiry = Int64(names[names.index(after: mark)...]) else { throw .malformed }
            guard expiry >= time else { throw .denied }
            names = names[..<mark]
        }
        let texts = names.split(separator: ",", omittingEmptySubsequences: false)
        guard texts.count <= ServiceCall.mostNames else { throw .malformed }
        let hosts = texts.compactMap { ServiceHost($0, on: access.account) }
        // What a wrong key makes of the names is no name.
        guard hosts.count == texts.count else { throw access.box == nil ? .malformed : .denied }
        let types = try Self.types(target["type"])
        let form = TencentServiceForm(
            hosts: hosts, types: types, hasTTL: target["ttl"] == "1", hasClient: target["clientip"] == "1",
            hasNames: target["query"] == "1", box: access.box)
        return .call(
            ServiceCall(
                hosts.questions(types), on: access.account, isAuthenticated: access.account != nil,
                client: client(target["ip"], access.box), form: form))
    }

    /// The addresses of the service, encrypted if calls are.
    func schedule(_ target: ServiceTarget) throws(TencentServiceError) -> ServiceReading {
        let access = try access(target)
        guard !addresses.isEmpty else { throw .unavailable }
        let list = addresses.map(\.description).joined(separator: ";")
        return .reply(try access.box.reply("log:0|domain:0|ip:\(list)|ttl:\(Self.scheduleMinutes)"))
    }

    private static func types(_ text: String?) throws(TencentServiceError) -> [RecordType] {
        switch text?.lowercased() {
        case nil, "a": [.a]
        case "aaaa": [.aaaa]
        case "addrs": [.a, .aaaa]
        default: throw .malformed
        }
    }

    /// The account and the encryption of a call; neither for one without credentials.
    private func access(
        _ target: ServiceTarget
    ) throws(TencentServiceError) -> (account: ServiceAccount?, box: PayloadBox?) {
        if let token = target["token"] {
            guard let account = accounts.account(withToken: token) else { throw .denied }
            return (account, nil)
        }
        guard let id = target["id"] else { return (nil, nil) }
        guard let account = accounts[id] else { throw .denied }
        switch (target["alg"] ?? "des", account.encryption) {
        case ("des", .des(let key)):
            return (account, PayloadBox(cipher: .desECB, key: key, keyForm: .text, crypto: crypto))
        case ("aes", .aes(let key)):
            return (account, PayloadBox(cipher: .aes128CBC, key: key, keyForm: .text, crypto: crypto))
        default: throw .denied
        }
    }

    private func text(_ sent: String, _ box: PayloadBox?) throws(TencentServiceError) -> String {
        guard let box else { return sent }
        guard let bytes = try? box.open(TextDecoding.hexadecimal(sent)),
            let text = String(validating: bytes, as: UTF8.self)
        else { throw .denied }
        return text
    }

    /// The documentation demands that it is encrypted, the SDKs send it in the clear.
    private func client(_ sent: String?, _ box: PayloadBox?) -> String? {
        guard let sent, let box, IPAddress(sent) == nil else { return sent }
        return try? text(sent, box)
    }
}

/// An error of Tencent's. Its own service has only statuses, and hides a wrong key behind an empty reply; the SDKs take
/// 401 for it.
enum TencentServiceError: Int, Error {
    case malformed = 404
    case denied = 401
    case unavailable = 500

    var reading: ServiceReading {
        self == .denied ? .denied(ServiceReply(rawValue)) : .reply(ServiceReply(rawValue))
    }
}

extension PayloadBox? {
    /// A text as it is sent, encrypted where there is a box.
    fileprivate func reply(_ text: String) throws(TencentServiceError) -> ServiceReply {
        guard let box = self, !text.isEmpty else { return ServiceReply(200, text: text) }
        guard let sealed = try? box.seal(Array(text.utf8)) else { throw .unavailable }
        return ServiceReply(200, text: TextEncoding.hexadecimal(sealed))
    }
}

private struct TencentServiceForm: ServiceForm {
    let hosts: [ServiceHost]
    let types: [RecordType]
    let hasTTL: Bool
    let hasClient: Bool
    let hasNames: Bool
    let box: PayloadBox?

    func reply(_ refusal: ServiceRefusal) -> ServiceReply {
        switch refusal {
        case .notAllowed: ServiceReply(403)
        case .overQuota: ServiceReply(429)
        case .unavailable: ServiceReply(500)
        }
    }

    func reply(_ answers: ServiceAnswers, for client: IPAddress) -> ServiceReply {
        let found = hosts.map { host in (host, types.compactMap { answers.addresses(of: host, $0) }) }
        // A name without any answer is left out, which is no error where others have one.
        let lines = found.filter { !$0.1.isEmpty }
        guard !lines.isEmpty else { return reply(.unavailable) }
        let isNothing = lines.allSatisfy { $0.1.allSatisfy(\.addresses.isEmpty) }
        guard hasNames || !isNothing else {
            // Only a whole answer is an empty one.
            return lines.first?.1.count == types.count ? ServiceReply(200) : reply(.unavailable)
        }
        let text = lines.compactMap { line($0, $1, client) }.joined(separator: "\n")
        guard !text.isEmpty else { return reply(.unavailable) }
        do throws(TencentServiceError) {
            return try box.reply(text)
        } catch {
            return reply(.unavailable)
        }
    }

    /// With the client on each line: the pages have it on the last one alone, but Android's SDK wants it everywhere.
    ///
    /// - Returns: nil for a family without an answer beside an empty one, since one part without addresses covers both.
    private func line(_ host: ServiceHost, _ families: [ServiceAddresses], _ client: IPAddress) -> String? {
        guard families.count == types.count || families.contains(where: { !$0.addresses.isEmpty }) else { return nil }
        let result = families.map { found in
            guard !found.addresses.isEmpty else { return "0" }
            return found.texts.joined(separator: ";") + (hasTTL ? ",\(found.ttl)" : "")
        }
        return (hasNames ? "\(host.text).:" : "") + result.joined(separator: "-") + (hasClient ? "|\(client)" : "")
    }
}
