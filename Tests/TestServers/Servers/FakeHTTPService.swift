import DNSWire
import Foundation
import HTTPDNS
import Upstreams

/// The response of a `FakeHTTPDNS` to one request when it has no fault: DoH's is made here, those of the vendors by the
/// service that the daemon has itself, which `HTTPDNSTests` hold against the vendors' own texts.
struct FakeHTTPService {
    private static let client = IPAddress.v4(0xcb00_7107)

    private let request: RecordedRequest
    private let zone: FakeZone
    private let reading: ServiceReading
    /// Nil when the request is for another service than DoH, or none.
    private let query: TestMessage?

    init(_ request: RecordedRequest, _ account: ServiceAccount, _ zone: FakeZone) {
        self.request = request
        self.zone = zone
        let service = VendorService(
            accounts: [account], addresses: [Self.client], crypto: OpenSSLCrypto(), dataText: Self.text)
        reading = service.read(
            ServiceRequest(
                isPost: request.method == "POST", target: Array(request.target.utf8), body: request.body,
                client: Self.client), at: Int64(Date().timeIntervalSince1970))
        query = request.path == "/dns-query" ? Self.query(request) : nil
    }

    private static func query(_ request: RecordedRequest) -> TestMessage? {
        let bytes =
            request.method == "POST" ? request.body : request.parameters["dns"].flatMap(decodeBase64URL) ?? []
        return try? TestMessage(decoding: bytes)
    }

    /// The rdata of what denials and aliases consist of, and of addresses.
    private static func text(_ record: Record) -> String {
        record.address?.description ?? record.canonicalName.map { "\($0)." }
            ?? record.soaMinimum.map { "ns.example. admin.example. 1 7200 3600 1209600 \($0)" } ?? ""
    }

    /// The call that the request is; nil when it is not a known one.
    var call: FakeHTTPDNS.Call? {
        if case .call(let call) = reading, let first = call.questions.first {
            return .init(first.name.description, call.questions.map(\.type.rawValue))
        }
        return query?.questions.first.map { .init($0.name, [$0.type]) }
    }

    /// The proper response.
    ///
    /// - Parameters:
    ///   - schedule: the reply to Aliyun's scheduling call; nil: there is no such call.
    ///   - hasSecret: whether that call must be signed.
    func reply(_ schedule: FakeSchedule?, hasSecret: Bool) -> HTTPReply {
        if request.path.hasSuffix("/ss") {
            guard let schedule else { return HTTPReply(status: 404, contentType: "text/plain", body: []) }
            if request.parameters["s"] != nil || !hasSecret, case .reply(let reply) = reading, reply.status == 200 {
                return HTTPReply(contentType: "application/json", body: Array(schedule.text.utf8))
            }
        }
        switch reading {
        case .call(let call): return Self.http(call.reply(call.questions.map(zone.message), for: Self.client))
        case .reply(let reply), .denied(let reply, _): return Self.http(reply)
        case .unknown: return dns()
        }
    }

    private static func http(_ reply: ServiceReply) -> HTTPReply {
        HTTPReply(
            status: reply.status, contentType: reply.isJSON ? "application/json" : "text/plain", body: reply.body)
    }

    private func dns() -> HTTPReply {
        guard request.path == "/dns-query" else {
            return HTTPReply(status: 404, contentType: "text/plain", body: Array("not here".utf8))
        }
        if request.method == "POST", request.header("content-type") != "application/dns-message" {
            return HTTPReply(status: 415, contentType: "text/plain", body: [])
        }
        guard let query, query.questions.count == 1, !query.isResponse else {
            return HTTPReply(status: 400, contentType: "text/plain", body: [])
        }
        return HTTPReply(contentType: "application/dns-message", body: zone.reply(to: query).encoded)
    }

    /// The response of a DNS server that fails this question.
    func failure(_ code: Int) -> HTTPReply {
        guard let query else { return HTTPReply(status: 404, contentType: "text/plain", body: []) }
        var reply = TestMessage(id: query.id, flags: 0x8180 | UInt16(code & 15))
        reply.questions = query.questions
        return HTTPReply(contentType: "application/dns-message", body: reply.encoded)
    }

    /// Without padding, as RFC 8484 demands: a `=` is refused.
    private static func decodeBase64URL(_ text: String) -> [UInt8]? {
        guard !text.contains("=") else { return nil }
        var text = text.replacing("-", with: "+").replacing("_", with: "/")
        while text.count % 4 != 0 { text += "=" }
        return Data(base64Encoded: text).map { Array($0) }
    }
}

extension FakeZone {
    /// The DNS answer to a question.
    fileprivate func message(_ question: Question) -> Message? {
        let query = TestMessage.query(question.name.description, question.type.rawValue)
        return try? MessageParser.parse(reply(to: query).encoded)
    }
}
