import TestServers
import Testing

/// A query of one of genreport's tests, and what the RFCs demand of the response.
struct ComplianceCase {
    /// The flags of a header (RFC 1035 section 4.1.1; AD and CD: RFC 4035 section 3.2).
    struct Flags: OptionSet, CustomStringConvertible {
        let rawValue: UInt16

        static let aa = Flags(rawValue: 0x0400)
        static let tc = Flags(rawValue: 0x0200)
        static let rd = Flags(rawValue: 0x0100)
        static let ra = Flags(rawValue: 0x0080)
        static let z = Flags(rawValue: 0x0040)
        static let ad = Flags(rawValue: 0x0020)
        static let cd = Flags(rawValue: 0x0010)
        static let all: Flags = [.aa, .tc, .rd, .ra, .z, .ad, .cd]

        var description: String {
            let names: [(Flags, String)] = [
                (.aa, "AA"), (.tc, "TC"), (.rd, "RD"), (.ra, "RA"), (.z, "Z"), (.ad, "AD"), (.cd, "CD"),
            ]
            let set = names.filter { contains($0.0) }.map(\.1)
            return set.isEmpty ? "no flag" : set.joined(separator: " ")
        }
    }

    /// What the response says.
    enum Demand {
        /// NOERROR with all records of the question; with DO, also with the signatures over them.
        case records
        /// NOERROR without records, and the zone's SOA record as denial (RFC 2308 section 2.2).
        case noRecords
        /// NOERROR with TC, since the records are more than the client takes.
        case truncation
        /// BADVERS without records.
        case badVersion
        /// NOTIMP: a header with no flag but QR, and nothing more.
        case header
    }

    /// The name of genreport's test.
    let name: String
    private let sentence: String
    /// The RFC's section that demands it.
    private let rule: String
    private let opcode: UInt16
    private let flags: Flags
    private let owner: String
    private let type: UInt16
    private let edns: EDNS?
    let transport: BulkClient.Transport
    private let demand: Demand

    init(
        _ name: String, _ sentence: String, _ rule: String, opcode: UInt16 = 0, _ flags: Flags = [],
        _ owner: String = ComplianceZone.name, _ type: UInt16 = RecordType.soa, _ edns: EDNS? = nil,
        over transport: BulkClient.Transport = .udp, gives demand: Demand = .records
    ) {
        self.name = name
        self.sentence = sentence
        self.rule = rule
        self.opcode = opcode
        self.flags = flags
        self.owner = owner
        self.type = type
        self.edns = edns
        self.transport = transport
        self.demand = demand
    }

    var description: String { "\(name): \(sentence) (\(rule))" }

    /// The query; one with another opcode than QUERY is a header and nothing more.
    func query(recursionDesired: Bool) -> TestMessage {
        let flags = recursionDesired ? flags.union(.rd) : flags
        var query = TestMessage.query(owner, type, flags: opcode << 11 | flags.rawValue, edns: edns)
        if opcode != 0 { query.questions = [] }
        return query
    }

    /// What is wrong with a response to `query`, one line for each.
    func faults(of response: TestMessage, to query: TestMessage) -> [String] {
        var faults: [String] = []
        func demand(_ holds: Bool, _ fault: @autoclosure () -> String) { if !holds { faults.append(fault()) } }

        demand(response.isResponse, "QR is clear")
        demand(response.id == query.id, "another ID")
        demand(response.opcode == opcode, "opcode \(response.opcode)")
        demand(response.rcode == code, "RCODE \(response.rcode), not \(code)")
        let (flags, expected) = (Flags(rawValue: response.flags).intersection(.all), flags(for: query))
        demand(flags == expected, "\(flags), not \(expected)")
        let question = query.encoded[12...].prefix(response.questionBytes.count)
        let isEchoed = response.questions == query.questions && response.questionBytes == Array(question)
        demand(isEchoed, "the question is not the query's")
        demand(response.byteCount <= limit, "\(response.byteCount) bytes of \(limit)")
        faults += ednsFaults(response) + recordFaults(response)
        return faults
    }

    private var code: Int {
        switch demand {
        case .records, .noRecords, .truncation: ResponseCode.noError
        case .badVersion: ResponseCode.badVers
        case .header: ResponseCode.notImp
        }
    }

    /// The flags of the response: RA, RD and CD as in the query, and TC where something is left out. AA is clear, for
    /// this server is authoritative for nothing, and AD, for it verifies no signatures.
    private func flags(for query: TestMessage) -> Flags {
        switch demand {
        case .header: []
        case .truncation: Flags(rawValue: query.flags).intersection([.rd, .cd]).union([.ra, .tc])
        default: Flags(rawValue: query.flags).intersection([.rd, .cd]).union(.ra)
        }
    }

    /// The longest response, in bytes.
    private var limit: Int { transport == .tcp ? 65_535 : max(512, Int(edns?.size ?? 0)) }

    /// An OPT record answers an OPT record: version 0, DO as in the query, no other flag, none of the query's options
    /// (RFC 6891 sections 6.1 and 7) but a cookie, which begins as the query's (RFC 7873 section 5.2).
    private func ednsFaults(_ response: TestMessage) -> [String] {
        let records = response.additionals.filter { $0.type == RecordType.opt }
        guard let edns, demand != .header else { return records.isEmpty ? [] : ["an OPT record without the query's"] }
        guard records.count == 1, let own = response.edns else { return ["\(records.count) OPT records"] }
        var faults: [String] = []
        if own.version != 0 { faults.append("EDNS version \(own.version)") }
        if own.size < 512 { faults.append("takes \(own.size) bytes") }
        if own.flags != edns.flags & 0x8000 { faults.append("EDNS flags \(String(own.flags, radix: 16))") }
        let sent = edns.version == 0 ? edns.option(10) : nil
        let cookie = own.option(10)
        let isAnswered = cookie?.prefix(8) == sent?.prefix(8) && (sent == nil || cookie?.count == 24)
        let options = own.options.map(\.code)
        if !isAnswered || options.contains(where: { $0 != 10 }) { faults.append("options \(options)") }
        return faults
    }

    private func recordFaults(_ response: TestMessage) -> [String] {
        let others = response.additionals.filter { $0.type != RecordType.opt }
        let (answers, authorities) = (response.answers, response.authorities)
        var faults = (answers + authorities + others).compactMap { record in
            (1...ComplianceZone.ttl).contains(record.ttl) ? nil : "TTL \(record.ttl)"
        }
        let right: Bool =
            switch demand {
            case .records: answers.count == expected.count && Set(answers.map(Self.ageless)) == expected
            // A client throws away what a truncated response holds (RFC 2181 section 9), but it may be nothing else.
            case .truncation: Set(answers.map(Self.ageless)).isSubset(of: expected)
            case .noRecords, .badVersion, .header: answers.isEmpty
            }
        if !right { faults.append("answers \(answers.map { "\($0.name) \($0.type) \($0.data)" })") }
        switch demand {
        case .records, .truncation: break
        case .noRecords:
            if authorities.map(\.type) != [RecordType.soa] || authorities.first?.name != ComplianceZone.name {
                faults.append("not the zone's SOA record")
            }
        case .badVersion, .header:
            if !authorities.isEmpty || !others.isEmpty { faults.append("records beside the answer") }
        }
        return faults
    }

    /// The records of the answer section, without their TTLs.
    private var expected: Set<TestMessage.Record> {
        let signatures = edns?.dnssecOK == true ? ComplianceZone.signatures(over: type) : []
        return Set(
            ComplianceZone.data(type).map { .init(owner, type, ttl: 0, data: $0) }
                + signatures.map { .init(owner, RecordType.rrsig, ttl: 0, data: $0) })
    }

    private static func ageless(_ record: TestMessage.Record) -> TestMessage.Record {
        var record = record
        record.ttl = 0
        return record
    }
}
