public import DNSWire

/// DNS over HTTPS with responses in JSON, the format of Google, Cloudflare, AliDNS and DNSPod: A and AAAA, one per
/// call.
///
/// All four accept the same form of request; their responses differ, see below. Sources:
/// developers.google.com/speed/public-dns/docs/doh/json,
/// developers.cloudflare.com/1.1.1.1/encryption/dns-over-https/make-api-requests/dns-json,
/// www.alibabacloud.com/help/en/dns/httpdns-doh-json-api; DNSPod has no page of its own.
public struct DoHJSONFormat: ProviderFormat {
    /// Required by Cloudflare; the others ignore it.
    private static let mediaType = "application/dns-json"

    private let path: String
    private let account: AliDNSAccount?

    /// The path begins with a slash. An account signs every request; without one none of AliDNS's own parameters is sent.
    public init(path: String = "/resolve", account: AliDNSAccount? = nil) {
        self.path = path
        self.account = account
    }

    public var answersBothFamilies: Bool { false }

    public var takesCheckingDisabled: Bool { true }

    public func request(for question: UpstreamQuestion, at time: Int64) throws(UpstreamFailure) -> HTTPRequest {
        let type = try Self.question(question).type
        let host = try question.name.hostText()
        var target = "\(path)?name=\(TextEncoding.percent(host))&type=\(type)"
        if question.checkingDisabled { target += "&cd=1" }
        if let subnet = question.clientNetwork {
            target += "&edns_client_subnet=\(TextEncoding.percent(subnet.description))"
        }
        if let account { target += try account.parameters(for: host, at: time) }
        return HTTPRequest(target: target, headers: [["Accept", Self.mediaType]])
    }

    private static func question(_ question: UpstreamQuestion) throws(UpstreamFailure) -> Question {
        try question.only(where: \.isAddress, else: "A or AAAA can be asked for, one at a time")
    }

    public func results(
        in response: HTTPResponse, to question: UpstreamQuestion
    ) throws(UpstreamFailure) -> UpstreamResults {
        let wireQuestion = try Self.question(question)
        return try message(in: response).results(to: wireQuestion, dnssecOK: question.dnssecOK, age: response.age)
    }

    private func message(in response: HTTPResponse) throws(UpstreamFailure) -> Message {
        let reply = try response.json(or: failure(of: response, code: nil)) { json throws(JSONError) in
            try Self.read(json)
        }
        guard response.isSuccess else { throw failure(of: response, code: reply.code) }
        if let message = reply.message { return message }
        guard reply.code == nil else { throw refusal(of: response, code: reply.code) }
        throw .unusable("the reply has no Status that means anything")
    }

    private func failure(of response: HTTPResponse, code: String?) -> UpstreamFailure {
        switch response.status {
        case 401, 403: refusal(of: response, code: code)
        default: response.dohFailure(response.text(code: code))
        }
    }

    /// AliDNS does not document which of its codes mean the timestamp. So every refusal of a signed request counts as
    /// clock skew: our clock is compared with the service's, and only if it was wrong is there a second attempt.
    private func refusal(of response: HTTPResponse, code: String?) -> UpstreamFailure {
        let text = response.text(code: code)
        return account == nil ? .authentication(text) : .clockSkew(text, serverTime: response.date)
    }
}

// The body of a DoH response in JSON: one reader for all dialects.
//
// They differ: `Question` is a list, at AliDNS an object; names end with a dot or not; `Comment` is a text, at Cloudflare a
// list of texts; AdGuard leaves `Status` out of answers. Members that are not used here are skipped, whatever they contain.

extension DoHJSONFormat {
    /// Types whose records are read from `Answer`: addresses and aliases.
    private static let answerTypes: Set<RecordType> = [.a, .aaaa, .cname, .dname]

    /// The response as a DNS message, nil with an invalid status, or with neither a status nor an answer; and the error code,
    /// if the body is an error of AliDNS.
    private static func read(_ json: JSONNode) throws(JSONError) -> (message: Message?, code: String?) {
        let status = json["Status"]
        // An invalid status must not count as missing.
        if let status, status.integer == nil { throw status.fault(.badValue) }
        var message = Message(flags: .response)
        if try json["TC"]?.boolean() ?? false { message.flags.insert(.truncated) }
        message.answers = try records(json["Answer"]) { answerTypes.contains($0) }
        message.authorities = try records(json["Authority"]) { $0 == .soa }
        let error = json["code"]?.string
        if let question = json["Question"] {
            let all = if case .array(let elements) = question.content { elements } else { [question] }
            for one in all {
                guard let name = try one.recordName(), let type = one.recordType else { throw one.fault(.badValue) }
                message.questions.append(Question(name: name, type: type))
            }
        }
        guard let code = (status?.integer ?? (message.answers.isEmpty ? nil : 0))?.within(0...UInt16(0xfff)) else {
            return (nil, error)
        }
        message.flags.insert(HeaderFlags(rawValue: code & 15))
        message.edns = EDNS(extendedResponseCode: UInt8(code >> 4))
        return (message, error)
    }

    /// Reads a section; records of types that are not `wanted` are skipped.
    ///
    /// An invalid wanted record makes the response invalid, as in wire format; but an invalid SOA record counts as
    /// missing.
    private static func records(_ section: JSONNode?, wanted: (RecordType) -> Bool) throws(JSONError) -> [Record] {
        var records: [Record] = []
        for record in try section?.elements() ?? [] {
            let name = try record.recordName()
            guard let type = record.recordType else { throw record.fault(.badValue) }
            guard wanted(type) else { continue }
            // 0 unless it fits 31 bits, as in wire format (RFC 2181 section 8).
            let ttl = record["TTL"]?.integer?.within(0...UInt32(Int32.max)) ?? 0
            if let name, let rdata = record["data"]?.string.flatMap({ rdata($0, type) }) {
                records.append(Record(name: name, type: type, ttl: ttl, rdata: rdata))
            } else if type != .soa {
                throw record.fault(.badValue)
            }
        }
        return records
    }

    /// The RDATA in wire format; nil when the text is invalid for the type.
    private static func rdata(_ data: String, _ type: RecordType) -> [UInt8]? {
        switch type {
        case .a, .aaaa:
            guard let address = IPAddress(data), address.recordType == type else { return nil }
            return address.bytes
        case .cname, .dname: return (try? Name(data))?.wire
        case .soa: return soa(data)
        default: return nil
        }
    }

    /// `mname rname serial refresh retry expire minimum` (RFC 1035 section 3.3.13).
    private static func soa(_ text: String) -> [UInt8]? {
        let fields = text.split { $0 == " " || $0 == "\t" }
        guard fields.count == 7, let server = try? Name(fields[0]), let mailbox = try? Name(fields[1]) else {
            return nil
        }
        let numbers = fields[2...].compactMap { OutsideNumber(digits: $0)?.within(0...UInt32.max) }
        guard numbers.count == 5 else { return nil }
        return numbers.reduce(into: server.wire + mailbox.wire) { $0.append($1, bytes: 4) }
    }
}

extension JSONNode {
    /// The name of a question or record, with or without the final dot; `.` and the empty text are the root.
    fileprivate func recordName() throws(JSONError) -> Name? {
        _ = try members()
        return self["name"]?.string.flatMap { try? Name($0) }
    }

    /// The type of a question or record, as a number or a text.
    fileprivate var recordType: RecordType? {
        switch self["type"]?.content {
        case .number(let number)?: number.within(0...UInt16.max).map(RecordType.init(rawValue:))
        case .string(let text)?: RecordType(text)
        default: nil
        }
    }
}
