import DNSWire

// Aliyun's interface of version 2, served: `/v2/d`, plain or encrypted.
//
// Source: help.aliyun.com/document_detail/2978980.html and the vendor's SDKs.

extension VendorService {
    func aliyunV2Call(
        _ target: RequestTarget, _ request: ServiceRequest, at time: Int64
    ) throws(ServiceError) -> ServiceCall {
        let account = try aliyunAccount(target["id"], request)
        let mode = target["m"] ?? "0"
        if let secret = account.secret { try verify(target, secret, isEncrypted: mode != "0", at: time) }
        guard mode != "0" else {
            let isCustom = target.parameters.contains { $0.name.hasPrefix("sdns-") }
            return try call(
                { target[$0] }, isCustom: isCustom, on: account, box: nil, proof: account.secret == nil ? .none : .valid
            )
        }
        guard let box = Self.box(account, mode), let encrypted = target["enc"] else { throw .missingArgument }
        // One error for all that may be wrong with it: it is no oracle.
        guard let text = try? box.open(TextDecoding.hexadecimal(encrypted)), let query = try? JSONReader.read(text),
            let members = try? query.members()
        else { throw .invalidSignature }
        return try call(
            { query[$0]?.string }, isCustom: members.contains { $0.key.hasPrefix("sdns-") }, on: account, box: box,
            proof: account.secret != nil || box.encryption == .gcm ? .valid : .none)
    }

    private static func box(_ account: ServiceAccount, _ mode: String) -> PayloadBox? {
        switch (mode, account.box?.encryption) {
        case ("1", .cbc?): account.box
        case ("2", .cbc?), ("2", .gcm?): account.box?.withGCM
        default: nil
        }
    }

    private func verify(
        _ target: RequestTarget, _ secret: Secret, isEncrypted: Bool, at time: Int64
    ) throws(ServiceError) {
        guard let signature = target["s"], let expiry = target["exp"] else { throw .unsigned }
        try checkExpiry(expiry, at: time)
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

    /// `query` is the value of a parameter, also of one that was encrypted; `isCustom`, whether there are the customer's
    /// own.
    private func call(
        _ query: (String) -> String?, isCustom: Bool, on account: ServiceAccount, box: PayloadBox?,
        proof: ServiceCall.Proof
    ) throws(ServiceError) -> ServiceCall {
        guard !isCustom else { throw .customParameters }
        guard let names = query("dn") else { throw .missingArgument }
        let hosts = try aliyunHosts(names, isBatch: true)
        let types = try aliyunTypes(query("q"))
        return ServiceCall(
            hosts.questions(types), on: account, proof: proof, clients: [query("cip")],
            form: AliyunV2ServiceForm(hosts: hosts, types: types, box: box))
    }
}

private struct AliyunV2ServiceForm: ServiceForm {
    let hosts: [ServiceHost]
    let types: [RecordType]
    /// Nil: the reply is not encrypted.
    let box: PayloadBox?

    func reply(_ refusal: ServiceRefusal) -> ServiceReply { ServiceError.aliyun(refusal).reply }

    func reply(_ parts: [(client: IPAddress, answers: ServiceAnswers)]) -> ServiceReply {
        guard let (client, answers) = parts.first else { return reply(.unavailable) }
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
            // As the request has it.
            writer.member("mode", box.map { $0.encryption == .cbc ? 1 : 2 } ?? 0)
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
        writer.member("ips", found.texts)
        writer.member("ttl", found.ttl)
        if let denial = found.denial {
            writer.member("no_ip_code", denial == .noError ? "RRNotExist" : "DomainNotExist")
        }
    }
}
