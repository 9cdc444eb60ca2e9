import DNSWire

// Aliyun's first interface, served: `/{account}/d`, `/sign_d`, `/resolve`, `/sign_resolve` and `/ss`.
//
// Source: help.aliyun.com/document_detail/52679.html, /52680.html, /56810.html, /111585.html.

extension VendorService {
    /// Seconds by which the time of a signed `/ss` may be off: one page has 150 about the service's time, another an
    /// expiry up to 300 ahead.
    private static let scheduleSkew: ClosedRange<Int64> = -150...300
    /// The most clients that one request names.
    private static let mostClients = 5

    /// - Parameter interface: the last part of the path, such as `sign_d`.
    func aliyunCall(
        _ target: RequestTarget, _ interface: String, _ request: ServiceRequest, at time: Int64
    ) throws(ServiceError) -> ServiceCall {
        let account = try aliyunAccount(target.path[0], request)
        guard !target.parameters.contains(where: { $0.name.hasPrefix("sdns-") }) else { throw .customParameters }
        guard let text = target["host"] else { throw .missingArgument }
        let isSigned = interface.hasPrefix("sign_")
        if isSigned {
            guard let expiry = target["t"], let signature = target["s"] else { throw .missingArgument }
            try checkExpiry(expiry, at: time)
            guard let secret = account.secret else { throw .invalidSignature }
            try verify("\(text)-\(secret.value)-\(expiry)", signature)
        } else if account.secret != nil {
            throw .unsigned
        }
        let isBatch = interface.hasSuffix("resolve")
        let hosts = try aliyunHosts(text, isBatch: isBatch)
        let types = try aliyunTypes(target["query"])
        let form = AliyunServiceForm(hosts: hosts, types: types, isBatch: isBatch)
        let clients = target["ip"]?.split(separator: ",").map(String.init) ?? []
        // Several clients are for one name, and in a batch only; otherwise the first one counts.
        let isForSeveral = isBatch && clients.count > 1
        guard !isForSeveral || hosts.count == 1 && clients.count <= Self.mostClients else { throw .tooManyHosts }
        return ServiceCall(
            hosts.questions(types), on: account, proof: isSigned ? .valid : .none,
            clients: isForSeveral ? clients : Array(clients.prefix(1)), form: form)
    }

    /// The addresses of the service.
    func aliyunSchedule(
        _ target: RequestTarget, _ request: ServiceRequest, at time: Int64
    ) throws(ServiceError) -> ServiceReply {
        let account = try aliyunAccount(target.path[0], request)
        // Most SDKs sign it never, also with a secret; it gives away nothing but where this server is.
        if let secret = account.secret, let signature = target["s"] {
            guard let nonce = target["n"], let stated = target["t"] else { throw .missingArgument }
            guard let seconds = OutsideNumber(digits: stated)?.within(SignatureExpiry.times) else {
                throw .invalidSignature
            }
            guard Self.scheduleSkew.contains(seconds - time) else { throw .signatureExpired }
            try verify("\(nonce)-\(secret.value)-\(stated)", signature)
        }
        // Without a list the client would take the service for disabled.
        guard !addresses.isEmpty else { throw .internalError }
        let body = JSONWriter.object { writer in
            for (key, type) in [("service_ip", RecordType.a), ("service_ipv6", .aaaa)] {
                let addresses = addresses.filter { $0.recordType == type }
                writer.member(key, addresses.map(\.description))
                // The port by which this call came, which is open on the way to here.
                guard let port = request.port, !addresses.isEmpty else { continue }
                writer.member(key + "_port", addresses.map { _ in port })
            }
        }
        return ServiceReply(200, json: body)
    }

    private func verify(_ text: String, _ signature: String) throws(ServiceError) {
        guard let expected = try? crypto.md5Digits(text) else { throw .internalError }
        guard areEqual(expected, signature) else { throw .invalidSignature }
    }
}

/// The reply for one name, or for a batch of them.
private struct AliyunServiceForm: ServiceForm {
    /// The longest TTL, in seconds, of a reply in which a family is missing because it could not be resolved: both
    /// families share it.
    private static let longestPartial: UInt32 = 10

    let hosts: [ServiceHost]
    let types: [RecordType]
    let isBatch: Bool

    func reply(_ refusal: ServiceRefusal) -> ServiceReply { ServiceError.aliyun(refusal).reply }

    func reply(_ parts: [(client: IPAddress, answers: ServiceAnswers)]) -> ServiceReply {
        let body = isBatch ? batch(parts) : single(parts)
        return body.map { ServiceReply(200, json: $0) } ?? reply(.unavailable)
    }

    /// Nil when there is no address and a family could not be resolved: that is no negative answer.
    private func single(_ parts: [(client: IPAddress, answers: ServiceAnswers)]) -> String? {
        guard let host = hosts.first, let (client, answers) = parts.first else { return nil }
        let families = types.map { (type: $0, found: answers.addresses(of: host, $0)) }
        let known = families.compactMap(\.found)
        let isPartial = known.count < families.count
        guard !isPartial || known.contains(where: { !$0.addresses.isEmpty }) else { return nil }
        let ttl = known.reduce(isPartial ? Self.longestPartial : .max) { min($0, $1.ttl) }
        return JSONWriter.object { writer in
            writer.member("host", host.text)
            writer.member("ips", families.first { $0.type == .a }?.found?.texts ?? [])
            if let v6 = families.first(where: { $0.type == .aaaa })?.found { writer.member("ipsv6", v6.texts) }
            writer.member("ttl", ttl)
            if known.contains(where: { !$0.addresses.isEmpty }) { writer.member("origin_ttl", ttl) }
            writer.member("client_ip", client.description)
        }
    }

    /// Nil when nothing could be resolved. What could not is left out, and so not known to be empty.
    private func batch(_ parts: [(client: IPAddress, answers: ServiceAnswers)]) -> String? {
        let all = parts.flatMap { part in
            hosts.flatMap { host in types.map { (host, $0, part.answers.addresses(of: host, $0), part.client) } }
        }
        guard all.contains(where: { $0.2 != nil }) else { return nil }
        return JSONWriter.object { writer in
            writer.member(
                "dns",
                array: { writer in
                    for case (let host, let type, let found?, let client) in all {
                        writer.object { write(host, type, found, client, to: &$0) }
                    }
                })
        }
    }

    private func write(
        _ host: ServiceHost, _ type: RecordType, _ found: ServiceAddresses, _ client: IPAddress,
        to writer: inout JSONWriter
    ) {
        writer.member("host", host.text)
        writer.member("client_ip", client.description)
        writer.member("ips", found.texts)
        writer.member("type", type.rawValue)
        writer.member("ttl", found.ttl)
        if !found.addresses.isEmpty { writer.member("origin_ttl", found.ttl) }
    }
}

// Errors of Aliyun's: a code, and the HTTP status that the vendor gives it.
//
// Source: help.aliyun.com/document_detail/56810.html section 3.3 and /2978980.html section 6.2.

extension ServiceError {
    static let missingArgument = coded("MissingArgument", 400)
    static let invalidHost = coded("InvalidHost", 400)
    static let tooManyHosts = coded("TooManyHosts", 400)
    static let customParameters = coded("SdnsNotSupported", 400)
    static let methodNotAllowed = coded("MethodNotAllowed", 405)
    static let signatureExpired = coded("SignatureExpired", 403)
    static let invalidSignature = coded("InvalidSignature", 403, isGuess: true)
    static let invalidDuration = coded("InvalidDuration", 403)
    static let unsigned = coded("UnsignedInterfaceDisabled", 403)
    static let noAccount = coded("AccountNotExists", 403, isGuess: true)
    static let internalError = coded("InternalError", 500)

    /// That of a call without an answer. The vendor's code for a quota is not public: the one that its SDKs answer with
    /// another server comes with the status that all of them take for "later".
    static func aliyun(_ refusal: ServiceRefusal) -> ServiceError {
        switch refusal {
        case .notAllowed, .doubtful: coded("ServiceLevelDeny", 403)
        case .overQuota: coded("ServiceLevelDeny", 429)
        case .unavailable: internalError
        }
    }
}

// What requests have in both of Aliyun's interfaces.

extension VendorService {
    /// Seconds that a signature may be valid, and the digits of its expiry time.
    private static let (longestExpiry, expiryDigits): (Int64, Int) = (86_400, 10)
    /// The most names of one request.
    private static let mostHosts = 5

    func aliyunAccount(_ id: String?, _ request: ServiceRequest) throws(ServiceError) -> ServiceAccount {
        guard !request.isPost else { throw .methodNotAllowed }
        guard let id else { throw .missingArgument }
        guard let account = account(id) else { throw .noAccount }
        return account
    }

    /// Throws unless the expiry time of a signature is in the coming day.
    func checkExpiry(_ text: String, at time: Int64) throws(ServiceError) {
        guard text.utf8.count == Self.expiryDigits,
            let expiry = OutsideNumber(digits: text)?.within(SignatureExpiry.times)
        else { throw .invalidSignature }
        if expiry < time { throw .signatureExpired }
        if expiry - time > Self.longestExpiry { throw .invalidDuration }
    }

    func aliyunHosts(_ text: String, isBatch: Bool) throws(ServiceError) -> [ServiceHost] {
        let texts = isBatch ? text.split(separator: ",", omittingEmptySubsequences: false) : [text[...]]
        guard texts.count <= Self.mostHosts else { throw .tooManyHosts }
        let hosts = texts.compactMap { ServiceHost($0) }
        guard hosts.count == texts.count else { throw .invalidHost }
        return hosts
    }

    func aliyunTypes(_ text: String?) throws(ServiceError) -> [RecordType] {
        switch text {
        case nil, "4": [.a]
        case "6": [.aaaa]
        case "4,6", "6,4": [.a, .aaaa]
        default: throw .missingArgument
        }
    }
}
