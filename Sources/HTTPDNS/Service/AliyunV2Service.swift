import DNSWire

/// Aliyun's interface of version 2, served: `/v2/d`, plain or encrypted.
///
/// Source: help.aliyun.com/document_detail/2978980.html and the vendor's SDKs.
struct AliyunV2Service {
    let accounts: ServiceAccounts
    let crypto: any Crypto

    func read(_ target: RequestTarget, _ request: ServiceRequest, at time: Int64)
        throws(AliyunServiceError) -> ServiceReading
    {
        guard request.method == .get else { throw .methodNotAllowed }
        guard let id = target["id"] else { throw .missingArgument }
        guard let account = accounts[id] else { throw .noAccount }
        let mode = target["m"] ?? "0"
        if let secret = account.secret { try verify(target, secret, isEncrypted: mode != "0", at: time) }
        guard mode != "0" else {
            return try call(
                AliyunV2Query(target), on: account, box: nil, mode: 0, proof: account.secret == nil ? .none : .valid)
        }
        guard let box = Self.box(account, mode, crypto), let encrypted = target["enc"] else { throw .missingArgument }
        // One error for all that may be wrong with it: it is no oracle.
        guard let text = try? box.open(TextDecoding.hexadecimal(encrypted)), let query = AliyunV2Query(json: text)
        else {
            throw .invalidSignature
        }
        let proof: ServiceCall.Proof = account.secret != nil || box.cipher == .aes128GCM ? .valid : .none
        return try call(query, on: account, box: box, mode: box.cipher == .aes128CBC ? 1 : 2, proof: proof)
    }

    private static func box(_ account: ServiceAccount, _ mode: String, _ crypto: any Crypto) -> PayloadBox? {
        switch (mode, account.encryption) {
        case ("1", .cbc(let key)): PayloadBox(cipher: .aes128CBC, key: key, keyForm: .hexadecimal, crypto: crypto)
        case ("2", .cbc(let key)), ("2", .gcm(let key)):
            PayloadBox(cipher: .aes128GCM, key: key, keyForm: .hexadecimal, crypto: crypto)
        default: nil
        }
    }

    private func verify(
        _ target: RequestTarget, _ secret: Secret, isEncrypted: Bool, at time: Int64
    ) throws(AliyunServiceError) {
        guard let signature = target["s"], let expiry = target["exp"] else { throw .unsigned }
        try AliyunExpiry.check(expiry, at: time)
        let signed: Set<String> =
            isEncrypted ? ["enc", "exp", "id", "m", "v"] : ["cip", "dn", "exp", "id", "m", "q", "tags", "v"]
        var seen: Set<String> = []
        let parameters = target.parameters.filter { name, _ in
            (signed.contains(name) || !isEncrypted && name.hasPrefix("sdns-")) && seen.insert(name).inserted
        }
        guard let expected = try? AliyunV2Signature.hexadecimal(of: parameters, secret: secret, crypto: crypto) else {
            throw .internalError
        }
        guard areEqual(expected, signature) else { throw .invalidSignature }
    }

    private func call(
        _ query: AliyunV2Query, on account: ServiceAccount, box: PayloadBox?, mode: Int, proof: ServiceCall.Proof
    ) throws(AliyunServiceError) -> ServiceReading {
        guard !query.isCustom else { throw .customParameters }
        guard let names = query.names else { throw .missingArgument }
        let hosts = try AliyunParameters.hosts(names, isBatch: true)
        let types = try AliyunParameters.types(query.families)
        let form = AliyunV2ServiceForm(hosts: hosts, types: types, mode: mode, box: box)
        return .call(
            ServiceCall(
                hosts.questions(types), on: account, proof: proof, client: query.client, form: form)
        )
    }
}

/// What is asked, from the parameters or from their encrypted form.
private struct AliyunV2Query {
    private(set) var names: String?
    private(set) var families: String?
    private(set) var client: String?
    /// Whether there are parameters of the customer's own.
    private(set) var isCustom = false

    init(_ target: RequestTarget) {
        (names, families, client) = (target["dn"], target["q"], target["cip"])
        isCustom = target.parameters.contains { $0.name.hasPrefix("sdns-") }
    }

    /// Nil for what is no JSON object.
    init?(json: [UInt8]) {
        var query = AliyunV2Query()
        do throws(JSONError) {
            try JSONReader.read(json) { reader throws(JSONError) in
                try reader.object { reader, key throws(JSONError) in
                    switch key {
                    case "dn": query.names = try reader.stringIfAny()
                    case "q": query.families = try reader.stringIfAny()
                    case "cip": query.client = try reader.stringIfAny()
                    default: if key.hasPrefix("sdns-") { query.isCustom = true }
                    }
                }
            }
        } catch {
            return nil
        }
        self = query
    }

    private init() {}
}

private struct AliyunV2ServiceForm: ServiceForm {
    let hosts: [ServiceHost]
    let types: [RecordType]
    /// As the request has it.
    let mode: Int
    /// Nil: the reply is not encrypted.
    let box: PayloadBox?

    func reply(_ refusal: ServiceRefusal) -> ServiceReply { AliyunServiceError.reply(refusal) }

    func reply(_ answers: ServiceAnswers, for client: IPAddress) -> ServiceReply {
        let found = hosts.map { host in (host, types.map { (type: $0, found: answers.addresses(of: host, $0)) }) }
            .filter { Self.isAnswer($0.1) }
        guard !found.isEmpty else { return reply(.unavailable) }
        func write(_ writer: inout JSONWriter) {
            writer.member("cip", client.description)
            writer.member(
                "answers",
                array: { writer in
                    for (host, families) in found { writer.object { Self.write(host, families, to: &$0) } }
                })
        }
        var data: String?
        if let box {
            guard let sealed = try? box.seal(Array(JSONWriter.object(write).utf8)) else { return reply(.unavailable) }
            data = TextEncoding.base64(sealed)
        }
        let body = JSONWriter.object { writer in
            writer.member("code", "success")
            writer.member("mode", mode)
            if let data { writer.member("data", data) } else { writer.member("data", object: write) }
        }
        return ServiceReply(200, json: body)
    }

    /// Whether a name is written. iOS's SDK caches a missing family as an empty one, for as long as the app runs: only
    /// IPv6 may be missing, and only beside IPv4 addresses, which the app can do with.
    private static func isAnswer(_ families: [(type: RecordType, found: ServiceAddresses?)]) -> Bool {
        families.allSatisfy { $0.found != nil }
            || families.contains { $0.type == .a && $0.found?.addresses.isEmpty == false }
    }

    private static func write(
        _ host: ServiceHost, _ families: [(type: RecordType, found: ServiceAddresses?)], to writer: inout JSONWriter
    ) {
        writer.member("dn", host.text)
        // A family that could not be resolved is left out: it is not empty.
        for case (let type, let addresses?) in families {
            writer.member(type == .a ? "v4" : "v6", object: { write(addresses, to: &$0) })
        }
    }

    private static func write(_ found: ServiceAddresses, to writer: inout JSONWriter) {
        writer.member("ips", strings: found.texts)
        writer.member("ttl", found.ttl)
        switch found.absence {
        case .noRecord: writer.member("no_ip_code", "RRNotExist")
        case .noName: writer.member("no_ip_code", "DomainNotExist")
        case .unstated, nil: break
        }
    }
}
