import DNSWire

/// Aliyun's first interface, served: `/{account}/d`, `/sign_d`, `/resolve`, `/sign_resolve` and `/ss`.
///
/// Source: help.aliyun.com/document_detail/52679.html, /52680.html, /56810.html, /111585.html.
struct AliyunService {
    /// Seconds by which the time of a signed `/ss` may be off: one page has 150 about the service's time, another an
    /// expiry up to 300 ahead.
    private static let scheduleSkew: ClosedRange<Int64> = -150...300

    /// The most clients that one request names.
    private static let mostClients = 5

    let accounts: ServiceAccounts
    let crypto: any Crypto
    /// The addresses of this server, for `/ss`.
    let addresses: [IPAddress]

    /// - Parameter interface: the last part of the path, such as `sign_d`.
    func read(_ target: RequestTarget, _ interface: String, _ request: ServiceRequest, at time: Int64)
        throws(AliyunServiceError) -> ServiceReading
    {
        guard request.method == .get else { throw .methodNotAllowed }
        guard let account = accounts[target.path[0]] else { throw .noAccount }
        if interface == "ss" { return .reply(try schedule(target, account, at: time, port: request.port)) }
        guard !target.parameters.contains(where: { $0.name.hasPrefix("sdns-") }) else { throw .customParameters }
        guard let text = target["host"] else { throw .missingArgument }
        let isSigned = interface.hasPrefix("sign_")
        if isSigned {
            guard let expiry = target["t"], let signature = target["s"] else { throw .missingArgument }
            try AliyunExpiry.check(expiry, at: time)
            guard let secret = account.secret else { throw .invalidSignature }
            try verify("\(text)-\(secret.value)-\(expiry)", signature)
        } else if account.secret != nil {
            throw .unsigned
        }
        let isBatch = interface.hasSuffix("resolve")
        let hosts = try AliyunParameters.hosts(text, isBatch: isBatch)
        let types = try AliyunParameters.types(target["query"])
        let form = AliyunServiceForm(hosts: hosts, types: types, isBatch: isBatch)
        let clients = target["ip"]?.split(separator: ",").map(String.init) ?? []
        // Several clients are for one name, and in a batch only; otherwise the first one counts.
        let isForSeveral = isBatch && clients.count > 1
        guard !isForSeveral || hosts.count == 1 && clients.count <= Self.mostClients else { throw .tooManyHosts }
        return .call(
            ServiceCall(
                hosts.questions(types), on: account, proof: isSigned ? .valid : .none,
                clients: isForSeveral ? clients : Array(clients.prefix(1)), form: form))
    }

    private func schedule(
        _ target: RequestTarget, _ account: ServiceAccount, at time: Int64, port: UInt16?
    ) throws(AliyunServiceError) -> ServiceReply {
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
                writer.member(key, strings: addresses.map(\.description))
                // The port by which this call came, which is open on the way to here.
                guard let port, !addresses.isEmpty else { continue }
                writer.member(key + "_port", array: { ports in for _ in addresses { ports.integer(Int(port)) } })
            }
        }
        return ServiceReply(200, json: body)
    }

    private func verify(_ text: String, _ signature: String) throws(AliyunServiceError) {
        guard let digest = crypto.md5(Array(text.utf8)) else { throw .internalError }
        guard areEqual(TextEncoding.hexadecimal(digest), signature) else { throw .invalidSignature }
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

    func reply(_ refusal: ServiceRefusal) -> ServiceReply { AliyunServiceError.reply(refusal) }

    func reply(_ answers: ServiceAnswers, for client: IPAddress) -> ServiceReply {
        let body =
            isBatch
            ? batch([ServicePart(client: client, answers: answers)])
            : hosts.first.flatMap { single($0, answers, client) }
        return body.map { ServiceReply(200, json: $0) } ?? reply(.unavailable)
    }

    /// Nil when there is no address and a family could not be resolved: that is no negative answer.
    private func single(_ host: ServiceHost, _ answers: ServiceAnswers, _ client: IPAddress) -> String? {
        let families = types.map { (type: $0, found: answers.addresses(of: host, $0)) }
        let known = families.compactMap(\.found)
        let isPartial = known.count < families.count
        guard !isPartial || known.contains(where: { !$0.addresses.isEmpty }) else { return nil }
        let ttl = known.reduce(isPartial ? Self.longestPartial : .max) { min($0, $1.ttl) }
        return JSONWriter.object { writer in
            writer.member("host", host.text)
            writer.member("ips", strings: families.first { $0.type == .a }?.found?.texts ?? [])
            if let v6 = families.first(where: { $0.type == .aaaa })?.found { writer.member("ipsv6", strings: v6.texts) }
            writer.member("ttl", ttl)
            if known.contains(where: { $0.absence == nil }) { writer.member("origin_ttl", ttl) }
            writer.member("client_ip", client.description)
        }
    }

    func reply(_ parts: [ServicePart]) -> ServiceReply {
        batch(parts).map { ServiceReply(200, json: $0) } ?? reply(.unavailable)
    }

    /// Nil when nothing could be resolved. What could not is left out, and so not known to be empty.
    private func batch(_ parts: [ServicePart]) -> String? {
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
        writer.member("ips", strings: found.texts)
        writer.member("type", type.rawValue)
        writer.member("ttl", found.ttl)
        if found.absence == nil { writer.member("origin_ttl", found.ttl) }
    }
}

/// An error of Aliyun's, as our service returns it: a code, and the HTTP status that the vendor gives it.
///
/// Source: help.aliyun.com/document_detail/56810.html section 3.3 and /2978980.html section 6.2.
enum AliyunServiceError: String, Error {
    case missingArgument = "MissingArgument"
    case invalidHost = "InvalidHost"
    case tooManyHosts = "TooManyHosts"
    case customParameters = "SdnsNotSupported"
    case methodNotAllowed = "MethodNotAllowed"
    case signatureExpired = "SignatureExpired"
    case invalidSignature = "InvalidSignature"
    case invalidDuration = "InvalidDuration"
    case unsigned = "UnsignedInterfaceDisabled"
    case noAccount = "AccountNotExists"
    case denied = "ServiceLevelDeny"
    case internalError = "InternalError"

    private var status: Int {
        switch self {
        case .missingArgument, .invalidHost, .tooManyHosts, .customParameters: 400
        case .methodNotAllowed: 405
        case .internalError: 500
        default: 403
        }
    }

    /// - Parameter status: instead of the usual one.
    func reply(_ status: Int? = nil) -> ServiceReply {
        ServiceReply(status ?? self.status, json: JSONWriter.object { $0.member("code", rawValue) })
    }

    /// Whether a credential was wrong.
    private var isGuess: Bool { self == .invalidSignature || self == .noAccount }

    var reading: ServiceReading { isGuess ? .denied(reply(), nil) : .reply(reply()) }

    /// The error for a call without an answer. The vendor's code for a quota is not public: the one that its SDKs answer
    /// with another server comes with the status that all of them take for "later".
    static func reply(_ refusal: ServiceRefusal) -> ServiceReply {
        switch refusal {
        case .notAllowed, .doubtful: denied.reply()
        case .overQuota: denied.reply(429)
        case .unavailable: internalError.reply()
        }
    }
}

/// The expiry time of a request's signature.
enum AliyunExpiry {
    /// Seconds that a signature may be valid.
    private static let longest: Int64 = 86_400
    private static let digits = 10

    /// - Throws: unless the time is in the coming day.
    static func check(_ text: String, at time: Int64) throws(AliyunServiceError) {
        guard text.utf8.count == digits, let expiry = OutsideNumber(digits: text)?.within(SignatureExpiry.times)
        else { throw .invalidSignature }
        if expiry < time { throw .signatureExpired }
        if expiry - time > longest { throw .invalidDuration }
    }
}

/// Aliyun's parameters in both of its interfaces.
enum AliyunParameters {
    /// The most names of one request.
    private static let mostHosts = 5

    static func hosts(_ text: String, isBatch: Bool) throws(AliyunServiceError) -> [ServiceHost] {
        let texts = isBatch ? text.split(separator: ",", omittingEmptySubsequences: false) : [text[...]]
        guard texts.count <= mostHosts else { throw .tooManyHosts }
        let hosts = texts.compactMap { ServiceHost($0) }
        guard hosts.count == texts.count else { throw .invalidHost }
        return hosts
    }

    static func types(_ text: String?) throws(AliyunServiceError) -> [RecordType] {
        switch text {
        case nil, "4": [.a]
        case "6": [.aaaa]
        case "4,6", "6,4": [.a, .aaaa]
        default: throw .missingArgument
        }
    }
}
