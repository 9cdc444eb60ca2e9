/// The names of a fake service, and their records.
package struct FakeZone: Sendable {
    /// The records of one name.
    package struct Entry: Sendable {
        package var a: [String]
        package var aaaa: [String]
        /// Records of other types: their rdata. RRSIG records come with the type that they cover when a query has DO.
        package var others: [UInt16: [[UInt8]]]
        /// The name's CNAME target, which is also a name of the zone.
        package var alias: String?
        /// In seconds; also for a negative answer.
        package var ttl: UInt32

        package init(
            a: [String] = [], aaaa: [String] = [], others: [UInt16: [[UInt8]]] = [:], alias: String? = nil,
            ttl: UInt32 = 60
        ) {
            self.a = a
            self.aaaa = aaaa
            self.others = others
            self.alias = alias
            self.ttl = ttl
        }

        /// The rdata of all records of one type.
        func data(_ type: UInt16) -> [[UInt8]] {
            switch type {
            case TestRecordType.a: a.compactMap { try? TestAddress.bytes($0) }
            case TestRecordType.aaaa: aaaa.compactMap { try? TestAddress.bytes($0) }
            default: others[type] ?? []
            }
        }
    }

    /// By lower-cased name. `*.example.com` stands for every name below `example.com`, `*` for every name.
    package var entries: [String: Entry]
    /// Seconds for which NXDOMAIN may be cached.
    package var negativeTTL: UInt32
    /// Whether all SOA records are the same, as those of one zone are, with `negativeTTL`; otherwise that of a name
    /// without records of a type has the name's own TTL.
    package var hasOneSOA = false

    package init(_ entries: [String: Entry] = [:], negativeTTL: UInt32 = 60) {
        self.entries = entries
        self.negativeTTL = negativeTTL
    }

    /// One name with these addresses.
    package init(_ name: String, a: [String] = [], aaaa: [String] = [], ttl: UInt32 = 60) {
        self.init([name: Entry(a: a, aaaa: aaaa, ttl: ttl)])
    }

    /// The records of a name; nil: it does not exist.
    package func entry(_ name: String) -> Entry? {
        let name = name.lowercased()
        if let entry = entries[name] { return entry }
        var rest = name[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if let entry = entries["*." + rest] { return entry }
        }
        return entries["*"]
    }

    /// The DNS answer to `query`, with the question in its letter case.
    func reply(to query: TestMessage) -> TestMessage {
        var reply = TestMessage(id: query.id, flags: 0x8180 | query.flags & 0x0110)
        reply.questions = query.questions
        if query.edns != nil { reply.edns = TestEDNS() }
        guard let question = query.questions.first else { return reply }
        var owner = question.name
        var entry = entry(owner)
        for _ in 0..<8 {
            guard question.type != TestRecordType.cname, let known = entry, let alias = known.alias else { break }
            reply.answers.append(
                .init(owner, TestRecordType.cname, ttl: known.ttl, data: TestName.wire(alias)))
            owner = alias
            entry = self.entry(alias)
        }
        let data = entry?.data(question.type) ?? []
        reply.answers += data.map { .init(owner, question.type, ttl: entry?.ttl ?? 0, data: $0) }
        if query.edns?.dnssecOK == true, question.type != TestRecordType.rrsig {
            let covered = [UInt8(question.type >> 8), UInt8(question.type & 0xff)]
            reply.answers += (entry?.data(TestRecordType.rrsig) ?? []).filter { $0.starts(with: covered) }
                .map { .init(owner, TestRecordType.rrsig, ttl: entry?.ttl ?? 0, data: $0) }
        }
        if entry == nil { reply.flags |= 3 }
        if data.isEmpty { reply.authorities = [soa(owner, ttl: hasOneSOA ? negativeTTL : entry?.ttl ?? negativeTTL)] }
        return reply
    }

    private func soa(_ name: String, ttl: UInt32) -> TestMessage.Record {
        let parent = name.split(separator: ".").suffix(2).joined(separator: ".")
        var data = TestName.wire("ns." + parent) + TestName.wire("admin." + parent)
        for value in [1, 7_200, 3_600, 1_209_600, ttl] { data.append32(value) }
        return .init(parent, TestRecordType.soa, ttl: ttl, data: data)
    }
}
