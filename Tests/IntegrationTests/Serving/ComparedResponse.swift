import TestServers

/// What a client sees of a response, in a form in which two servers' responses to one query can be compared: order of
/// records, TTLs and letter case of names make no difference (RFC 2181 section 5, RFC 4343).
struct ComparedResponse {
    /// A part in which two responses can differ.
    enum Part: Hashable { case rcode, flags, recursionDesired, truncation, question, answers, denial, edns }

    let message: TestMessage
    /// QR, opcode, AA, RA, AD, CD and the reserved bit.
    let flags: UInt16
    /// The answer section.
    let answers: Set<TestMessage.Record>
    /// The SOA records of the authority section.
    private let denial: Set<TestMessage.Record>
    /// Version and DO.
    private let edns: [UInt16]?

    init(_ message: TestMessage) {
        self.message = message
        flags = message.flags & 0xfcf0
        answers = Set(message.answers.map(Self.canonical))
        denial = Set(message.authorities.filter { $0.type == RecordType.soa }.map(Self.canonical))
        edns = message.edns.map { [UInt16($0.version), $0.flags & 0x8000] }
    }

    /// The parts in which it differs from another response to the same query.
    func differences(from other: ComparedResponse) -> Set<Part> {
        var parts: Set<Part> = []
        if message.rcode != other.message.rcode { parts.insert(.rcode) }
        if flags != other.flags { parts.insert(.flags) }
        if message.recursionDesired != other.message.recursionDesired { parts.insert(.recursionDesired) }
        if message.isTruncated != other.message.isTruncated { parts.insert(.truncation) }
        if message.questionBytes != other.message.questionBytes { parts.insert(.question) }
        if answers != other.answers { parts.insert(.answers) }
        if denial != other.denial { parts.insert(.denial) }
        if edns != other.edns { parts.insert(.edns) }
        return parts
    }

    /// What shows how it differs from another response.
    func summary(beside other: ComparedResponse) -> String {
        let own = answers.subtracting(other.answers).union(denial.subtracting(other.denial))
        return "RCODE \(message.rcode), flags \(String(message.flags, radix: 16)), \(message.byteCount) bytes, EDNS "
            + "\(edns.map { "\($0)" } ?? "none"), \(answers.count) answers, not in the other: "
            + own.prefix(2).map { "\($0.name.prefix(60)) \($0.type) \($0.data.prefix(40))" }.joined(separator: "; ")
    }

    /// What is wrong with it, whatever another server says.
    ///
    /// - Parameters:
    ///   - zone: where its records are from; nil: somewhere else.
    ///   - limit: the longest response that the query allows, in bytes.
    ///   - least: the least TTL of a fresh record.
    func faults(_ query: TestMessage, _ zone: FakeZone?, limit: Int, least: UInt32) -> [String] {
        var faults: [String] = []
        if message.questionBytes != Array(query.encoded[12..<12 + message.questionBytes.count]) {
            faults.append("the question is not the query's")
        }
        if message.byteCount > limit { faults.append("\(message.byteCount) bytes of \(limit)") }
        if answers.count != message.answers.count { faults.append("a record twice") }
        if let zone { faults += ages(zone, least) }
        // Aliases come in the order in which they are followed (RFC 1034 section 4.3.2).
        var owner = query.questions[0].name.lowercased()
        for record in message.answers {
            if record.name.lowercased() != owner { faults.append("\(record.name) is not where the aliases lead") }
            if record.type == RecordType.cname, query.questions[0].type != RecordType.cname {
                owner = TestName.text(wire: record.data).lowercased()
            }
        }
        return faults
    }

    /// The records whose TTL is not one of an answer from this zone.
    private func ages(_ zone: FakeZone, _ least: UInt32) -> [String] {
        var last: (name: String, ttl: UInt32)?
        return (message.answers + message.authorities).compactMap { record in
            if record.name != last?.name { last = (record.name, zone.entry(record.name)?.ttl ?? 0) }
            let most = record.type == RecordType.soa ? zone.negativeTTL : last?.ttl ?? 0
            return record.ttl < least || record.ttl > most ? "TTL \(record.ttl) of \(most)" : nil
        }
    }

    /// The record without its TTL, with names in lower case.
    private static func canonical(_ record: TestMessage.Record) -> TestMessage.Record {
        var record = record
        record.name = record.name.lowercased()
        record.ttl = 0
        let names: Range<Int> =
            switch record.type {
            case RecordType.ns, RecordType.cname, RecordType.ptr: 0..<record.data.count
            case RecordType.mx: 2..<record.data.count
            case RecordType.soa: 0..<record.data.count - 20
            default: 0..<0
            }
        for index in names where (65...90).contains(record.data[index]) { record.data[index] += 32 }
        return record
    }
}
