import DNSWire

// The JSON interface of Google and of AliDNS, served: `/resolve?name=`.
//
// Source: developers.google.com/speed/public-dns/docs/doh/json; the account's parameters are those of
// `AliDNSAccount`.

extension VendorService {
    /// Seconds by which the time of a signed request may be off.
    private static let longestSkew: Int64 = 600

    func jsonCall(
        _ target: RequestTarget, _ request: ServiceRequest, at time: Int64
    ) throws(ServiceError) -> ServiceCall {
        guard !request.isPost else { throw .coded("only GET is known", 501) }
        guard let text = target["name"], let name = try? Name(text) else {
            throw .coded("name is missing, or is no name", 400)
        }
        guard let type = target["type"].map({ RecordType($0) }) ?? .a, !type.isMeta else {
            throw .coded("type is no type of records", 400)
        }
        var account: ServiceAccount?
        if let id = target["uid"] {
            guard let found = self.account(id), isSigned(target, text, found, at: time) else {
                throw .coded("InvalidSignature", 403, isGuess: true)
            }
            account = found
        }
        let question = Question(name: name, type: type)
        let form = JSONServiceForm(
            question: question, isCheckingDisabled: Self.isOn(target["cd"]), isShort: Self.isOn(target["short"]),
            dataText: dataText)
        var call = ServiceCall(
            [question], on: account, proof: account == nil ? .none : .valid,
            clients: [target["edns_client_subnet"]], form: form)
        call.dnssecOK = Self.isOn(target["do"])
        call.checkingDisabled = form.isCheckingDisabled
        return call
    }

    private func isSigned(_ target: RequestTarget, _ name: String, _ account: ServiceAccount, at time: Int64) -> Bool {
        guard let secret = account.secret?.value, let key = target["key"], let stated = target["ts"],
            let seconds = OutsideNumber(digits: stated)?.within(SignatureExpiry.times),
            abs(seconds - time) <= Self.longestSkew, target["ak"] ?? "" == account.accessKeyID,
            let expected = try? crypto.sha256Digits("\(account.id)\(secret)\(stated)\(name)\(account.accessKeyID)")
        else { return false }
        return areEqual(expected, key)
    }

    private static func isOn(_ text: String?) -> Bool { text == "1" || text == "true" }
}

private struct JSONServiceForm: ServiceForm {
    let question: Question
    let isCheckingDisabled: Bool
    /// AliDNS's short form: an array of what the records of the type hold, without TTL and status.
    let isShort: Bool
    let dataText: @Sendable (Record) -> String

    func reply(_ refusal: ServiceRefusal) -> ServiceReply {
        switch refusal {
        case .notAllowed, .doubtful: ServiceError.coded("ServiceLevelDeny", 403).reply
        case .overQuota: ServiceError.coded("ServiceLevelDeny", 429).reply
        case .unavailable: reply(Message(flags: HeaderFlags(rawValue: ResponseCode.serverFailure.rawValue)))
        }
    }

    func reply(_ parts: [(client: IPAddress, answers: ServiceAnswers)]) -> ServiceReply {
        guard let answers = parts.first?.answers, !answers.isEmpty else {
            // As a resolver refuses it.
            return reply(Message(flags: HeaderFlags(rawValue: ResponseCode.refused.rawValue)))
        }
        return answers.only.map(reply) ?? reply(.unavailable)
    }

    private func reply(_ message: Message) -> ServiceReply {
        // The short form has no word for a failure, and an empty list denies.
        if isShort, message.responseCode == .noError || message.responseCode == .nameError {
            let found = message.answers.filter { $0.type == question.type }.map(dataText)
            return ServiceReply(200, json: JSONWriter.text(of: found))
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
        return ServiceReply(isShort ? 503 : 200, json: body)
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
