import DNSWire

// Tencent's interface, served: `/d`, plain, encrypted or with a token, and `/conf`.
//
// Source: cloud.tencent.com/document/product/379/54976, tencentcloud.com/document/product/1130/44469,
// cloud.tencent.com/document/product/379/3530, and the vendor's SDKs.

extension VendorService {
    /// Minutes after which a client asks again for the addresses.
    private static let scheduleMinutes = 60

    func tencentCall(
        _ target: RequestTarget, _ request: ServiceRequest, at time: Int64
    ) throws(ServiceError) -> ServiceCall {
        let access = try access(target)
        guard let sent = target["dn"] else { throw .malformed }
        let types = try Self.types(target["type"])
        let hosts: [ServiceHost]
        do throws(ServiceError) {
            hosts = try Self.hosts(try text(sent, access.box), at: time)
        } catch {
            // One error for all that may be wrong with what was encrypted: it is no oracle.
            throw access.box == nil ? error : .denied
        }
        let form = TencentServiceForm(
            hosts: hosts, types: types, hasTTL: target["ttl"] == "1", hasClient: target["clientip"] == "1",
            hasNames: target["query"] == "1" || hosts.count > 1, box: access.box)
        return ServiceCall(
            hosts.questions(types), on: access.account, proof: Self.proof(access.account, request),
            clients: [client(target["ip"], access.box)], form: form)
    }

    private static func hosts(_ text: String, at time: Int64) throws(ServiceError) -> [ServiceHost] {
        var names = text[...]
        // Newer SDKs of iOS send an expiry with the names.
        if let mark = names.firstIndex(of: ";") {
            guard let expiry = OutsideNumber(digits: names[names.index(after: mark)...]) else { throw .malformed }
            guard expiry - time >= 0 else { throw .denied }
            names = names[..<mark]
        }
        let texts = names.split(separator: ",", omittingEmptySubsequences: false)
        guard texts.count <= ServiceCall.mostNames else { throw .malformed }
        let hosts = texts.compactMap { ServiceHost($0) }
        guard hosts.count == texts.count else { throw .malformed }
        return hosts
    }

    /// In plain http a token can be read, and what is encrypted without a tag changed to ask for another name.
    private static func proof(_ account: ServiceAccount?, _ request: ServiceRequest) -> ServiceCall.Proof {
        guard let account else { return .none }
        return request.isEncrypted || account.isReplayable ? .valid : .doubtful
    }

    /// The addresses of the service, encrypted if calls are.
    func tencentSchedule(_ target: RequestTarget) throws(ServiceError) -> ServiceReply {
        let access = try access(target)
        guard !addresses.isEmpty else { throw .unavailable }
        let list = addresses.map(\.description).joined(separator: ";")
        return try access.box.reply("log:0|domain:0|ip:\(list)|ttl:\(Self.scheduleMinutes)")
    }

    private static func types(_ text: String?) throws(ServiceError) -> [RecordType] {
        switch text?.lowercased() {
        case nil, "a": [.a]
        case "aaaa": [.aaaa]
        case "addrs": [.a, .aaaa]
        default: throw .malformed
        }
    }

    /// The account and the encryption of a call; neither for one without credentials.
    private func access(_ target: RequestTarget) throws(ServiceError) -> (account: ServiceAccount?, box: PayloadBox?) {
        if let token = target["token"] {
            guard let account = account(withToken: token) else { throw .denied }
            return (account, nil)
        }
        guard let id = target["id"] else { return (nil, nil) }
        guard let account = account(id), let box = account.box, [.des, .aes].contains(box.encryption),
            target["alg"] ?? "des" == box.encryption.rawValue
        else { throw .denied }
        return (account, box)
    }

    private func text(_ sent: String, _ box: PayloadBox?) throws(ServiceError) -> String {
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

// Errors of Tencent's. Its own service has only statuses, and hides a wrong key behind an empty reply; the SDKs take 401
// for it.

extension ServiceError {
    fileprivate static let malformed = ServiceError(reply: ServiceReply(404))
    fileprivate static let denied = ServiceError(reply: ServiceReply(401), isGuess: true)
    fileprivate static let unavailable = ServiceError(reply: ServiceReply(500))
}

extension PayloadBox? {
    /// A text as it is sent, encrypted where there is a box.
    fileprivate func reply(_ text: String) throws(ServiceError) -> ServiceReply {
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
    /// Whether each line begins with its name: where that is asked for, and for several names always.
    let hasNames: Bool
    let box: PayloadBox?

    func reply(_ refusal: ServiceRefusal) -> ServiceReply {
        switch refusal {
        case .notAllowed: ServiceReply(403)
        case .doubtful: ServiceError.denied.reply
        case .overQuota: ServiceReply(429)
        case .unavailable: ServiceReply(500)
        }
    }

    func reply(_ parts: [(client: IPAddress, answers: ServiceAnswers)]) -> ServiceReply {
        guard let (client, answers) = parts.first else { return reply(.unavailable) }
        let found = hosts.map { host in (host: host, families: types.map { answers.addresses(of: host, $0) }) }
        guard found.contains(where: { Self.isAnswer($0.families) }) else { return reply(.unavailable) }
        guard hasNames || found.contains(where: { Self.hasAddresses($0.families) }) else { return ServiceReply(200) }
        let text = found.map { line($0.host, $0.families, client) }.joined(separator: "\n")
        do throws(ServiceError) {
            return try box.reply(text)
        } catch {
            return reply(.unavailable)
        }
    }

    private static func hasAddresses(_ families: [ServiceAddresses?]) -> Bool {
        families.contains { $0?.addresses.isEmpty == false }
    }

    /// Whether there is something to say of a name: without addresses it is empty only if every family is known to be.
    private static func isAnswer(_ families: [ServiceAddresses?]) -> Bool {
        hasAddresses(families) || !families.contains { $0 == nil }
    }

    /// With the client on each line: the pages have it on the last one alone, but Android's SDK wants it everywhere.
    ///
    /// A family that could not be resolved is written as an empty one: with a part less iOS's SDK reads neither family,
    /// and with a line less Android's takes the rest of a batch for the reply to one name. Both cache nothing for it.
    private func line(_ host: ServiceHost, _ families: [ServiceAddresses?], _ client: IPAddress) -> String {
        let result = families.map { found in
            guard let found, !found.addresses.isEmpty else { return "0" }
            return found.texts.joined(separator: ";") + (hasTTL ? ",\(found.ttl)" : "")
        }
        return (hasNames ? "\(host.text).:" : "") + result.joined(separator: "-") + (hasClient ? "|\(client)" : "")
    }
}
