import DNSWire
import HTTPDNS
import Testing

/// A service with an account for each vendor's form, and what it resolves.
struct TestService: Sendable {
    static let client = IPAddress.v4(0xcb00_7107)
    static let time: Int64 = 1_699_999_400

    static let accounts = [
        ServiceAccount(id: "139450", secret: AliyunV2Tests.secret, box: .cbc(AliyunV2Tests.key)),
        ServiceAccount(id: "139451", secret: AliyunV2Tests.secret, box: .gcm(AliyunV2Tests.key)),
        ServiceAccount(id: "139452", secret: AliyunV2Tests.secret, namesClients: true),
        ServiceAccount(id: "1", names: [name("example.com")]),
        ServiceAccount(id: "1001", box: .des(TencentTests.desKey), namesClients: true),
        ServiceAccount(id: "1002", box: .aes(TencentTests.aesKey), names: [name("example.com")]),
        ServiceAccount(id: "1003", secret: Secret("123456789")),
        ServiceAccount(id: "1006", box: .aes(TencentTests.aesKey), isReplayable: true),
        ServiceAccount(id: "1004", box: .gcm(AliyunV2Tests.key)),
        ServiceAccount(id: "1005", box: .cbc(AliyunV2Tests.key)),
        ServiceAccount(id: "123456", secret: Secret("s3cr3ts3cr3t"), accessKeyID: "ak0001", namesClients: true),
    ]

    /// By name and type: addresses with their TTL. A name without an entry does not exist, one with another type has no
    /// records of this one, and one that begins with `broken` cannot be resolved.
    var records: [String: [RecordType: (texts: [String], ttl: UInt32)]] = [
        "www.example.com": [.a: (["192.0.2.1", "192.0.2.2"], 60)]
    ]
    var addresses: [IPAddress] = []

    var service: VendorService {
        VendorService(
            accounts: Self.accounts, addresses: addresses, crypto: CountingIVs(),
            dataText: { $0.address?.description ?? "\($0.rdata)" })
    }

    func read(
        _ target: String, isPost: Bool = false, body: String = "", at time: Int64 = time,
        port: UInt16? = nil, isEncrypted: Bool = true
    ) -> ServiceReading {
        service.read(
            ServiceRequest(
                isPost: isPost, target: Array(target.utf8), body: Array(body.utf8), client: Self.client,
                port: port, isEncrypted: isEncrypted), at: time)
    }

    /// The reply to a request, resolved if it is a call.
    func reply(
        to target: String, isPost: Bool = false, body: String = "", at time: Int64 = time,
        port: UInt16? = nil
    ) throws -> ServiceReply {
        switch read(target, isPost: isPost, body: body, at: time, port: port) {
        case .call(let call): return call.reply(call.questions.map(response), for: call.client ?? Self.client)
        case .reply(let reply), .denied(let reply, _): return reply
        case .unknown: throw TestServiceError.unknown
        }
    }

    enum TestServiceError: Error {
        case unknown
        case noCall
    }

    func call(_ target: String, at time: Int64 = time, isEncrypted: Bool = true) throws -> ServiceCall {
        guard case .call(let call) = read(target, at: time, isEncrypted: isEncrypted) else {
            throw TestServiceError.noCall
        }
        return call
    }

    private func response(to question: Question) -> Message? {
        let text = question.name.description
        if text.hasPrefix("broken") { return Message(flags: [.response, HeaderFlags(rawValue: 2)]) }
        let soa = Record.negativeSOA(for: name("example.com"), ttl: 300)
        guard let types = records[text] else {
            return Message(flags: [.response, HeaderFlags(rawValue: 3)], questions: [question], authorities: [soa])
        }
        guard let found = types[question.type] else {
            return Message(flags: .response, questions: [question], authorities: [soa])
        }
        let records = found.texts.compactMap { IPAddress($0) }
            .map { Record(name: question.name, address: $0, ttl: found.ttl) }
        return Message(flags: .response, questions: [question], answers: records)
    }
}

extension ServiceReading {
    /// Of what kind it is.
    var kind: String { String("\(self)".prefix { $0 != "(" }) }
}

extension ServiceReply {
    var text: String { String(decoding: body, as: UTF8.self) }
}
