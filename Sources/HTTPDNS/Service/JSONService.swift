import DNSWire

/// The JSON interface of Google and of AliDNS, served: `/resolve?name=`.
///
/// Source: developers.google.com/speed/public-dns/docs/doh/json; the account's parameters are those of
/// `AliDNSAccount`.
struct JSONService {
    /// Seconds by which the time of a signed request may be off.
    private static let longestSkew: Int64 = 600

    let accounts: ServiceAccounts
    let crypto: any Crypto
    /// The rdata of a record in presentation form.
    let dataText: @Sendable (Record) -> String

    func read(_ target: RequestTarget, _ request: ServiceRequest, at time: Int64) -> ServiceReading {
        guard request.method == .get else { return .reply(Self.error(501, "only GET is known")) }
        guard let text = target["name"], let name = try? Name(text) else {
            return .reply(Self.error(400, "name is missing, or is no name"))
        }
        guard let type = target["type"].map({ RecordType($0) }) ?? .a, !type.isMeta else {
            return .reply(Self.error(400, "type is no type of records"))
        }
        var account: ServiceAccount?
        if let id = target["uid"] {
            guard let found = accounts[id], isSigned(target, text, found, at: time) else {
                return .denied(Self.error(403, "InvalidSignature"), nil)
            }
            account = found
        }
        let question = Question(name: name, type: type)
        let form = JSONServiceForm(
            question: question, isCheckingDisabled: Self.isOn(target["cd"]), isShort: Self.isOn(target["short"]),
            dataText: dataText)
        var call = ServiceCall(
            [question], on: account, proof: account == nil ? .none : .valid,
            client: target["edns_client_subnet"], form: form)
        call.dnssecOK = Self.isOn(target["do"])
        call.checkingDisabled = form.isCheckingDisabled
        return .call(call)
    }

    private func isSigned(_ target: RequestTarget, _ name: String, _ account: ServiceAccount, at time: Int64) -> Bool {
        guard let secret = account.secret?.value, let key = target["key"], let stated = target["ts"],
            let seconds = OutsideNumber(digits: stated)?.within(SignatureExpiry.times),
            abs(seconds - time) <= Self.longestSkew, target["ak"] ?? "" == account.accessKeyID,
            let digest = crypto.sha256(Array("\(account.id)\(secret)\(stated)\(name)\(account.accessKeyID)".utf8))
        else { return false }
        return areEqual(TextEncoding.hexadecimal(digest), key)
    }

    private static func isOn(_ text: String?) -> Bool { text == "1" || text == "true" }

    fileprivate static func error(_ status: Int, _ code: String) -> ServiceReply {
        ServiceReply(status, json: JSONWriter.object { $0.member("code", code) })
    }
}

private struct JSONServiceForm: ServiceForm {
    let question: Question
    let isCheckingDisabled: Bool
    /// AliDNS's short form: an array of what the records of the type hold, without TTL and status.
    let isShort: Bool
    let dataText: @Sendable (Record) -> String

    func reply(_ refusal: ServiceRefusal) -> ServiceReply {
        switch refusal {
        case .notAllowed, .doubtful: JSONService.error(403, "ServiceLevelDeny")
        case .overQuota: JSONService.error(429, "ServiceLevelDeny")
        case .unavailable: reply(Message(flags: HeaderFlags(rawValue: ResponseCode.serverFailure.rawValue)))
        }
    }

    func reply(_ answers: ServiceAnswers, for client: IPAddress) -> ServiceReply {
        // As a resolver refuses it.
        guard !answers.isEmpty else {
            return reply(Message(flags: HeaderFlags(rawValue: ResponseCode.refused.rawValue)))
        }
        return answers.only.map(reply) ?? reply(.unavailable)
    }

    private func reply(_ message: Message) -> ServiceReply {
        if isShort {
            let found = message.answers.filter { $0.type == question.type }.map(dataText)
            return ServiceReply(200, json: JSONWriter.array(strings: found))
        }
        let body = JSONWriter.object { writer in
            writer.member("Status", message.responseCode.rawValue)
            writer.member("TC", message.flags.contains(.truncated))
            writer.member("RD", true)
            writer.member("RA", true)
            writer.member("AD", message.flags.contains(HeaderFlags(rawValue: 0x20)))
            writer.member("CD", isCheckingDisabled)
            writer.member("Question", array: { $0.object(writeQuestion) })
            if !message.answers.isEmpty { writer.member("Answer", array: { write(message.answers, to: &$0) }) }
            if !message.authorities.isEmpty {
                writer.member("Authority", array: { write(message.authorities, to: &$0) })
            }
        }
        return ServiceReply(200, json: body)
    }

    private func writeQuestion(_ writer: inout JSONWriter) {
        writer.member("name", Self.text(question.name))
        writer.member("type", question.type.rawValue)
    }

    private func write(_ records: [Record], to writer: inout JSONWriter) {
        for record in records {
            writer.object { writer in
                writer.member("name", Self.text(record.name))
                writer.member("type", record.type.rawValue)
                writer.member("TTL", record.ttl)
                writer.member("data", dataText(record))
            }
        }
    }

    private static func text(_ name: Name) -> String { name.isRoot ? "." : "\(name)." }
}
