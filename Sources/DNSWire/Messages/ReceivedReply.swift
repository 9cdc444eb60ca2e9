/// An upstream's response, evaluated for the question that was sent.
///
/// Only here records of upstreams become an `Answer`. An answer has only what follows from the question: the chain of
/// CNAME and DNAME records that begins at QNAME, the RRset at its end, and for a negative answer the SOA record of a
/// zone that contains the end. Signatures and denial proofs are retained with the records to which they belong, if they
/// were requested by the DO bit or by their type (RFC 4035 section 3.2.1). NS records and the whole additional section
/// are removed: a stub does not need them, and addresses in them would be unsolicited.
public enum ReceivedReply: Hashable, Sendable {
    /// NOERROR or NXDOMAIN, with the records that belong to the question.
    case answer(Answer)
    /// Any other RCODE: the upstream could not resolve the question.
    case failure(ResponseCode)
    /// A loop of aliases, more of them than are followed, or one that makes the name too long.
    case endlessAliases
    /// The TC bit is set: the query must be repeated over another transport.
    case truncated
    /// Not a response, or not one to this question.
    case mismatch

    /// Evaluates `message`, whose ID its caller checks, for a question as it was sent, in any letter case: a random one is
    /// compared earlier. With DO signatures and denial proofs are retained.
    public init(_ message: Message, to question: Question, dnssecOK: Bool) {
        self = Self.evaluation(of: message, to: question, dnssecOK: dnssecOK)
    }

    private static func evaluation(of message: Message, to question: Question, dnssecOK: Bool) -> ReceivedReply {
        let code = message.responseCode
        let isAnswer = code == .noError || code == .nameError
        guard message.flags.contains(.response), message.flags.opcode == 0 else { return .mismatch }
        // A server that could not parse the query may send back a bare header.
        if message.questions.isEmpty, !isAnswer { return .failure(code) }
        guard message.questions == [question] else { return .mismatch }
        guard isAnswer else { return .failure(code) }
        guard !message.flags.contains(.truncated) else { return .truncated }
        var chain = AliasChain(of: message.answers, for: question, dnssecOK: dnssecOK)
        guard chain.follow() else { return .endlessAliases }
        if code == .noError { chain.appendFinalRecords() }
        var answer = Answer(responseCode: code, answers: chain.records)
        let zoneNames = [chain.end, question.name]
        answer.authorities = authorities(
            message.authorities.filter { $0.class == question.class },
            isNegative: answer.isNegative(for: question.type), dnssecOK: dnssecOK
        ) { zone in zoneNames.contains { $0.isWithin(zone) } }
        return .answer(answer)
    }

    /// The SOA record of a negative answer, and the records that prove a denial.
    ///
    /// The SOA record's TTL becomes that of the negative answer: at most its MINIMUM (RFC 2308 section 5).
    private static func authorities(
        _ records: [Record], isNegative: Bool, dnssecOK: Bool, isZone: (Name) -> Bool
    ) -> [Record] {
        var hasSOA = false
        return records.compactMap { record in
            switch record.type {
            case .soa:
                guard isNegative, !hasSOA, isZone(record.name), let minimum = record.soaMinimum else { return nil }
                hasSOA = true
                var soa = record
                soa.ttl = min(soa.ttl, minimum)
                return soa
            case .nsec, .nsec3:
                return dnssecOK ? record : nil
            case .rrsig:
                let covered = record.coveredType
                let isEvidence =
                    covered == .nsec || covered == .nsec3 || isNegative && covered == .soa && isZone(record.name)
                return dnssecOK && isEvidence ? record : nil
            default:
                return nil
            }
        }
    }
}

/// For how long an HTTP cache may hold a response (RFC 8484 section 5.1).
public enum ReplyLifetime {
    /// Bytes of an SOA record's data behind its two names: five numbers, of which the last is the lifetime of negative
    /// answers.
    private static let soaNumbers = 20

    /// The smallest TTL of the answer; of a negative answer, also behind an alias, the TTL or minimum of its SOA record too
    /// (RFC 2308 section 5). Nil for a response that has neither, or is an error.
    public static func seconds(_ reply: borrowing Span<UInt8>) -> UInt32? {
        guard reply.count >= Header.length else { return nil }
        let code = ResponseCode(rawValue: UInt16(reply[3] & 15))
        guard code == .noError || code == .nameError else { return nil }
        var at = Header.length
        for _ in 0..<Query.uint16(reply, at: 4) {
            guard Query.skipName(reply, at: &at), at <= reply.count - 4 else { return nil }
            at += 4
        }
        let (answers, authorities) = (Int(Query.uint16(reply, at: 6)), Int(Query.uint16(reply, at: 8)))
        var seconds: UInt32?
        for index in 0..<(answers + authorities) {
            guard let record = Query.takeRecord(reply, at: &at) else { return nil }
            if index < answers {
                seconds = min(seconds ?? .max, uint32(reply, at: record.place + 4))
            } else if record.type == .soa, record.dataLength >= soaNumbers {
                seconds = min(seconds ?? .max, uint32(reply, at: record.place + 4), uint32(reply, at: at - 4))
            }
        }
        return seconds
    }

    private static func uint32(_ message: borrowing Span<UInt8>, at offset: Int) -> UInt32 {
        UInt32(Query.uint16(message, at: offset)) << 16 | UInt32(Query.uint16(message, at: offset + 2))
    }
}

/// The records of an answer section that follow from a question, in the order in which they follow.
struct AliasChain {
    /// The most CNAME and DNAME records that are followed from QNAME.
    private static let maximumAliases = 16

    private let section: [Record]
    private let question: Question
    private let dnssecOK: Bool
    /// Whether it is complete: the CNAME record that the question asks for was synthesized from a DNAME record.
    private var isComplete = false
    /// The current name of the chain: QNAME, or the target of the last alias.
    private(set) var end: Name
    private(set) var records: [Record] = []

    /// An empty chain at QNAME, with signatures if DO was set.
    init(of section: [Record], for question: Question, dnssecOK: Bool) {
        self.section = section.filter { $0.class == question.class }
        self.question = question
        self.dnssecOK = dnssecOK
        end = question.name.lowercased
    }

    /// Follows the aliases to their end (RFC 1034 section 3.6.2, RFC 6672 section 2.3). Below a DNAME record no other alias
    /// is used: the CNAME record is synthesized from it, whatever the response has in its place. Returns false when they
    /// form a loop, exceed `maximumAliases`, or lead to a name that is too long.
    mutating func follow() -> Bool {
        for _ in 0...Self.maximumAliases {
            if question.type == .any || question.type != .cname && hasFinalRecords { return true }
            if let dname = section.first(where: { $0.type == .dname && end != $0.name && end.isWithin($0.name) }) {
                if !records.contains(where: { $0.type == .dname && $0.name == dname.name }) {
                    append(type: .dname, of: dname.name)
                }
                guard let target = Self.substitute(end, by: dname) else { return false }
                records.append(Record(name: end, type: .cname, class: dname.class, ttl: dname.ttl, rdata: target.wire))
                isComplete = question.type == .cname
                guard !isComplete else { return true }
                end = target
            } else if question.type != .cname, let alias = section.first(where: { $0.type == .cname && $0.name == end })
            {
                guard let target = alias.canonicalName else { return false }
                // A name has only one CNAME record (RFC 2181 section 10.1).
                append([alias], signatures: signatures(of: .cname, at: end))
                end = target
            } else {
                return true
            }
        }
        return false
    }

    /// Appends the RRset of the question's type at the end of the chain.
    mutating func appendFinalRecords() {
        guard !isComplete else { return }
        if question.type == .any {
            records += section.filter { $0.name == end }
        } else {
            append(type: question.type, of: end)
        }
    }

    private var hasFinalRecords: Bool { section.contains { $0.type == question.type && $0.name == end } }

    /// Appends one RRset and its signatures.
    private mutating func append(type: RecordType, of owner: Name) {
        append(
            section.filter { $0.type == type && $0.name == owner }, signatures: signatures(of: type, at: owner))
    }

    /// Appends an RRset without duplicates and with the lowest of its TTLs (RFC 2181 sections 5 and 5.2).
    private mutating func append(_ set: [Record], signatures: [Record]) {
        let ttl = set.reduce(UInt32.max) { min($0, $1.ttl) }
        var seen: Set<[UInt8]> = []
        for var record in set where seen.insert(record.rdata).inserted {
            record.name = written(record.name)
            record.ttl = ttl
            records.append(record)
        }
        for var record in signatures {
            record.name = written(record.name)
            records.append(record)
        }
    }

    /// The owner as it is stored: QNAME in lower case, since it may have been sent with random letter case.
    private func written(_ owner: Name) -> Name { owner == question.name ? question.name.lowercased : owner }

    private func signatures(of type: RecordType, at owner: Name) -> [Record] {
        guard dnssecOK, type != .rrsig else { return [] }
        return section.filter { $0.coveredType == type && $0.name == owner }
    }

    /// `name` with its suffix, the owner of `dname`, replaced by the target; nil when the result is too long.
    private static func substitute(_ name: Name, by dname: Record) -> Name? {
        guard let target = try? Name(wire: dname.rdata) else { return nil }
        let prefix = name.wire.dropLast(dname.name.wire.count)
        return try? Name(wire: prefix + target.wire)
    }
}
