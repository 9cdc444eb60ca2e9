package import DNSWire

/// DNS over HTTPS with responses in JSON, the format of Google, Cloudflare, AliDNS and DNSPod: A and AAAA, one per
/// call.
///
/// All four accept the same form of request; their responses differ, see `DoHJSONReply`. Sources:
/// developers.google.com/speed/public-dns/docs/doh/json,
/// developers.cloudflare.com/1.1.1.1/encryption/dns-over-https/make-api-requests/dns-json,
/// www.alibabacloud.com/help/en/dns/httpdns-doh-json-api; DNSPod has no page of its own.
package struct DoHJSONFormat: ProviderFormat {
    /// Required by Cloudflare; the others ignore it.
    private static let mediaType = "application/dns-json"

    private let path: String
    private let account: AliDNSAccount?

    /// - Parameters:
    ///   - path: begins with a slash.
    ///   - account: signs every request; nil sends none of AliDNS's own parameters.
    package init(path: String = "/resolve", account: AliDNSAccount? = nil) {
        self.path = path
        self.account = account
    }

    package var answersBothFamilies: Bool { false }

    package func answers(_ type: RecordType) -> Bool { type.isAddress }

    package func request(for question: UpstreamQuestion, at time: Int64) throws(UpstreamFailure) -> HTTPRequest {
        let type = try Self.question(question).type
        let host = try HostText.of(question.name)
        var target = "\(path)?name=\(TextEncoding.percent(host))&type=\(type)"
        if question.checkingDisabled { target += "&cd=1" }
        if let subnet = question.clientNetwork {
            target += "&edns_client_subnet=\(TextEncoding.percent(subnet.description))"
        }
        if let account { target += try account.parameters(for: host, at: time) }
        return HTTPRequest(target: target, headers: [["Accept", Self.mediaType]])
    }

    /// The only question of the query.
    private static func question(_ question: UpstreamQuestion) throws(UpstreamFailure) -> Question {
        guard let type = question.types.first, question.types.count == 1, type.isAddress else {
            throw .rejected("A or AAAA can be asked for, one at a time")
        }
        return Question(name: question.name, type: type)
    }

    package func outcome(of response: HTTPResponse, to question: UpstreamQuestion) -> ProviderOutcome {
        do {
            let wireQuestion = try Self.question(question)
            return DoHOutcome.outcome(
                of: try message(in: response), to: wireQuestion, dnssecOK: question.dnssecOK, age: response.age)
        } catch {
            return .failure(error)
        }
    }

    private func message(in response: HTTPResponse) throws(UpstreamFailure) -> Message {
        let reply: DoHJSONReply
        do {
            reply = try DoHJSONReply(response.body)
        } catch {
            // Only the status is used: it may come from a proxy on the path, or from a service in trouble.
            guard response.isSuccess else { throw failure(of: response, code: nil) }
            throw .unusable("unreadable reply: \(error)")
        }
        guard response.isSuccess else { throw failure(of: response, code: reply.code) }
        if let message = reply.message { return message }
        guard reply.code == nil else { throw refusal(of: response, code: reply.code) }
        throw .unusable("the reply has no Status that means anything")
    }

    private func failure(of response: HTTPResponse, code: String?) -> UpstreamFailure {
        switch response.status {
        case 401, 403: refusal(of: response, code: code)
        default: DoHOutcome.failure(of: response, text: HTTPStatusFailure.text(of: response, code: code))
        }
    }

    /// AliDNS does not document which of its codes mean the timestamp. So every refusal of a signed request counts as
    /// clock skew: our clock is compared with the service's, and only if it was wrong is there a second attempt.
    private func refusal(of response: HTTPResponse, code: String?) -> UpstreamFailure {
        let text = HTTPStatusFailure.text(of: response, code: code)
        return account == nil ? .authentication(text) : .clockSkew(text, serverTime: response.date)
    }
}

/// The body of a DoH response in JSON.
///
/// One parser for all dialects. They differ: `Question` is a list, at AliDNS an object; names end with a dot or not;
/// `Comment` is a text, at Cloudflare a list of texts; AdGuard leaves `Status` out of answers. Members that are not
/// used here are skipped, whatever they contain.
struct DoHJSONReply {
    /// Types whose records are read from `Answer`: addresses and aliases.
    private static let answerTypes: Set<RecordType> = [.a, .aaaa, .cname, .dname]

    private var status: OutsideNumber?
    private var isTruncated = false
    private var questions: [Question] = []
    private var answers: [Record] = []
    private var authorities: [Record] = []
    /// The error code, if the body is an error of AliDNS.
    private(set) var code: String?

    init(_ body: [UInt8]) throws(JSONError) {
        var reply = DoHJSONReply()
        try JSONReader.read(body) { reader throws(JSONError) in
            try reader.object { reader, key throws(JSONError) in try reply.read(&reader, key) }
        }
        self = reply
    }

    private init() {}

    /// The response as a DNS message; nil with an invalid status, or with neither a status nor an answer.
    var message: Message? {
        guard let code = (status ?? (answers.isEmpty ? nil : 0))?.within(0...UInt16(0xfff)) else { return nil }
        var message = Message(
            flags: [.response, HeaderFlags(rawValue: code & 15)], questions: questions, answers: answers,
            authorities: authorities, edns: EDNS(extendedResponseCode: UInt8(code >> 4)))
        if isTruncated { message.flags.insert(.truncated) }
        return message
    }

    private mutating func read(_ reader: inout JSONReader, _ key: String) throws(JSONError) {
        // A null member counts as missing.
        guard try reader.kind() != .null else { return }
        switch key {
        case "Status":
            // An invalid status must not count as missing.
            guard let number = try Self.integer(&reader) else { throw reader.fault(.badValue) }
            status = number
        case "TC": isTruncated = try reader.boolean()
        case "Question": questions = try Self.questions(&reader)
        case "Answer":
            answers = try Self.records(&reader) { Self.answerTypes.contains($0) }
        case "Authority":
            authorities = try Self.records(&reader) { $0 == .soa }
        case "code": code = try reader.stringIfAny()
        default: break
        }
    }

    private static func questions(_ reader: inout JSONReader) throws(JSONError) -> [Question] {
        guard try reader.kind() == .array else { return [try question(&reader)] }
        var questions: [Question] = []
        try reader.array { reader throws(JSONError) in questions.append(try question(&reader)) }
        return questions
    }

    private static func question(_ reader: inout JSONReader) throws(JSONError) -> Question {
        let start = reader.offset
        let entry = try Entry(&reader)
        guard let name = entry.owner, let type = entry.type else {
            throw JSONError(reason: .badValue, offset: start)
        }
        return Question(name: name, type: type)
    }

    /// Parses a section; records of types that are not `wanted` are skipped.
    ///
    /// An invalid wanted record makes the response invalid, as in wire format; but an invalid SOA record counts as
    /// missing.
    private static func records(
        _ reader: inout JSONReader, wanted: (RecordType) -> Bool
    ) throws(JSONError) -> [Record] {
        var records: [Record] = []
        try reader.array { reader throws(JSONError) in
            let start = reader.offset
            let entry = try Entry(&reader)
            guard let type = entry.type else { throw JSONError(reason: .badValue, offset: start) }
            guard wanted(type) else { return }
            if let name = entry.owner, let rdata = entry.rdata {
                records.append(Record(name: name, type: type, ttl: entry.ttl, rdata: rdata))
            } else if type != .soa {
                throw JSONError(reason: .badValue, offset: start)
            }
        }
        return records
    }

    /// A number, also in quotes; nil for anything else.
    fileprivate static func integer(_ reader: inout JSONReader) throws(JSONError) -> OutsideNumber? {
        switch try reader.kind() {
        case .number: try reader.integer()
        case .string: OutsideNumber(digits: try reader.string())
        default: nil
        }
    }
}

/// A question or record in JSON.
private struct Entry {
    private var name: String?
    private(set) var type: RecordType?
    /// In seconds; 0 unless it fits 31 bits, as in wire format (RFC 2181 section 8).
    private(set) var ttl: UInt32 = 0
    private var data: String?

    init(_ reader: inout JSONReader) throws(JSONError) {
        var entry = Entry()
        try reader.object { reader, key throws(JSONError) in try entry.read(&reader, key) }
        self = entry
    }

    private init() {}

    private mutating func read(_ reader: inout JSONReader, _ key: String) throws(JSONError) {
        switch (key, try reader.kind()) {
        case ("name", .string): name = try reader.string()
        case ("type", .number): type = try reader.integer().within(0...UInt16.max).map(RecordType.init(rawValue:))
        case ("type", .string): type = RecordType(try reader.string())
        case ("TTL", _): ttl = try DoHJSONReply.integer(&reader)?.within(0...UInt32(Int32.max)) ?? 0
        case ("data", .string): data = try reader.string()
        default: break
        }
    }

    /// With or without the final dot; `.` and the empty text are the root.
    var owner: Name? { name.flatMap { try? Name($0) } }

    /// The RDATA in wire format; nil when the text is invalid for the type.
    var rdata: [UInt8]? {
        guard let data, let type else { return nil }
        switch type {
        case .a, .aaaa:
            guard let address = IPAddress(data), address.recordType == type else { return nil }
            return address.bytes
        case .cname, .dname: return (try? Name(data))?.wire
        case .soa: return Self.soa(data)
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
        return server.wire + mailbox.wire
            + numbers.flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * $0)) } }
    }
}
