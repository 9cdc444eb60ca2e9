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

    /// An empty chain at QNAME.
    ///
    /// - Parameter dnssecOK: whether signatures are included.
    init(of section: [Record], for question: Question, dnssecOK: Bool) {
        self.section = section.filter { $0.class == question.class }
        self.question = question
        self.dnssecOK = dnssecOK
        end = question.name.lowercased
    }

    /// Follows the aliases to their end (RFC 1034 section 3.6.2, RFC 6672 section 2.3).
    ///
    /// Below a DNAME record no other alias is used: the CNAME record is synthesized from it, whatever the response has
    /// in its place.
    ///
    /// - Returns: false when they form a loop, exceed `maximumAliases`, or lead to a name that is too
    ///   long.
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
