import DNSCache
import DNSWire
import Testing

@testable import DiskCache

/// Answers as rows of the file: written, found, swept and removed.
struct AnswerFileTests {
    private let file: AnswerFile
    private let clock = TestClock()

    init() throws { file = try AnswerFile(":memory:") }

    private func write(_ changes: PendingChanges) throws -> Int {
        try file.write(changes.answers, identity(), mark(), clock.wall.reading)
    }

    @Test(arguments: [0, 1, 40])
    func `of any number of answers each is read as it was written, the last one first`(count: Int) throws {
        let names = (0..<count).map { "n\($0).example.com" }
        for ttl in [60, 300] as [UInt32] {
            var changes = PendingChanges()
            for name in names {
                changes.store(try entry(name, at: clock.now - .seconds(5), ttl: ttl), for: key(name))
            }
            #expect(try write(changes) == count)
        }
        for name in names { #expect(try file.answer(key(name)) == stored(name, at: noon - 5)) }
        let rows = try file.page(from: .max, limit: 100).answers
        #expect(
            rows.map(\.key.array)
                == names.map { key($0).array }.sorted { $1.lexicographicallyPrecedes($0) })
    }

    @Test func `the longest answers of both address families fit`() throws {
        var changes = PendingChanges()
        var answers: [PackedAnswer] = []
        for type in [RecordType.a, .aaaa] {
            let question = Question(name: name("a.example"), type: type)
            let addresses = (0..<(type == .a ? 4_080 : 2_330)).map { index -> IPAddress in
                type == .a ? .v4(0xdfff_ff64 - UInt32(index) << 8) : .v6(UInt128.max - UInt128(index))
            }
            let packed = try #require(
                PackedAnswer(Answer(name: question.name, addresses: addresses, ttl: 60), for: question))
            #expect(packed.body.count > 65_000)
            answers.append(packed)
            changes.store(
                CacheEntry(answer: packed, storedAt: clock.now, lifetime: 60, generation: 7, route: 0, source: 0x8001),
                for: key("a.example", type))
        }
        #expect(try write(changes) == 2)
        #expect(try file.find(key("a.example").array).map(\.answer) == answers)
    }

    @Test func `a change that removes an answer stands between others that write some`() throws {
        for name in ["a.example.com", "b.example.com"] { try file.write(try stored(name)) }
        var changes = PendingChanges()
        changes.store(try entry("a.example.com", at: clock.now, ttl: 60), for: key("a.example.com"))
        changes.remove(key("b.example.com").array)
        changes.store(try entry("c.example.com", at: clock.now), for: key("c.example.com"))
        #expect(try write(changes) == 2)
        #expect(try file.answer(key("a.example.com"))?.head.lifetime == 60)
        #expect(try file.answer(key("b.example.com")) == nil)
        #expect(try file.answer(key("c.example.com")) == stored("c.example.com"))
    }

    @Test func `what is not worth a row has none: of an unknown source, and our own answers`() throws {
        var changes = PendingChanges()
        changes.store(try entry("a.example.com", at: clock.now, source: 99), for: key("a.example.com"))
        changes.store(try entry("b.example.com", at: clock.now, route: .max), for: key("b.example.com"))
        #expect(try write(changes) == 0)
        #expect(try file.page(from: .max, limit: 100).answers.isEmpty)
    }

    /// Writes changes of one name: of each type an answer with this TTL, or its removal.
    private func write(_ text: String, _ changed: [(type: RecordType, ttl: UInt32?)]) throws -> Int {
        var changes = PendingChanges()
        for (type, ttl) in changed {
            let key = key(text, type)
            if let ttl {
                changes.store(try entry(text, type, at: clock.now, ttl: ttl), for: key)
            } else {
                changes.remove(key.array)
            }
        }
        return try write(changes)
    }

    /// The TTLs of a name's answers in the file, by type.
    private func ttls(_ text: String) throws -> [UInt16: UInt32] {
        let answers = try [RecordType.a, .aaaa, .txt].compactMap { try file.answer(key(text, $0)) }
        return Dictionary(uniqueKeysWithValues: answers.map { ($0.question.type.rawValue, $0.head.lifetime) })
    }

    private var rowCount: Int64 {
        get throws { try file.connection.integer("SELECT count(*) FROM answer") ?? 0 }
    }

    @Test func `both address families of a name are one row, and each is found`() throws {
        #expect(try write("a.example", [(.a, 60), (.aaaa, 61)]) == 2)
        #expect(try write("b.example", [(.aaaa, 71), (.a, 70)]) == 2)
        #expect(try rowCount == 2)
        #expect(try ttls("a.example") == [1: 60, 28: 61])
        #expect(try ttls("b.example") == [1: 70, 28: 71])
        let row = try file.find(key("a.example", .aaaa).array)
        #expect(row.map(\.question.type) == [.a, .aaaa])
        #expect(try file.answers(of: name("a.example")).map(\.question.type) == [.a, .aaaa])
    }

    @Test(arguments: [RecordType.a, .aaaa])
    func `an answer of one address family that changes leaves that of the other as it was`(type: RecordType) throws {
        let other: RecordType = type == .a ? .aaaa : .a
        #expect(try write("a.example", [(.a, 60), (.aaaa, 60)]) == 2)
        let before = try file.answer(key("a.example", other))
        clock.pass(1_000)
        var changes = PendingChanges()
        changes.store(try entry("a.example", type, at: clock.now, ttl: 99), for: key("a.example", type))
        let written = try file.write(changes.answers, identity("policy two"), mark(), clock.wall.reading)
        #expect(written == 1)
        #expect(try ttls("a.example") == [type.rawValue: 99, other.rawValue: 60])
        #expect(try file.answer(key("a.example", other)) == before)
        #expect(try rowCount == 1)
    }

    @Test func `what the file has is not used any more although the answer that came is not worth a row`() throws {
        #expect(try write("a.example", [(.a, 60), (.aaaa, 60)]) == 2)
        var changes = PendingChanges()
        var other = try entry("a.example", .a, at: clock.now, ttl: 61)
        other.source = 99
        changes.store(other, for: key("a.example"))
        #expect(try write(changes) == 0)
        #expect(try ttls("a.example") == [28: 60])
    }

    @Test func `an answer alone is found, and the other address family's is not`() throws {
        for (name, type) in [("a.example", RecordType.a), ("b.example", .aaaa), ("c.example", .txt)] {
            var changes = PendingChanges()
            changes.store(try entry(name, type == .txt ? .a : type, at: clock.now, ttl: 60), for: key(name, type))
            #expect(try write(changes) == 1)
        }
        #expect(try ttls("a.example") == [1: 60])
        #expect(try ttls("b.example") == [28: 60])
        #expect(try file.answer(key("a.example", .aaaa)) == nil)
        #expect(try file.answer(key("b.example")) == nil)
        #expect(try file.answer(key("c.example")) == nil)
    }

    @Test(arguments: [RecordType.a, .aaaa])
    func `the removal of one address family leaves the other, and the removal of both nothing`(
        type: RecordType
    ) throws {
        let other: RecordType = type == .a ? .aaaa : .a
        #expect(try write("a.example", [(.a, 60), (.aaaa, 60)]) == 2)
        #expect(try write("a.example", [(type, nil)]) == 0)
        #expect(try ttls("a.example") == [other.rawValue: 60])
        #expect(try write("a.example", [(type, nil)]) == 0)
        #expect(try ttls("a.example") == [other.rawValue: 60])
        #expect(try write("a.example", [(other, nil)]) == 0)
        #expect(try rowCount == 0)
    }

    @Test func `of changes of both address families at once the removed one is not in the row`() throws {
        #expect(try write("a.example", [(.a, 60), (.aaaa, 60)]) == 2)
        #expect(try write("a.example", [(.a, nil), (.aaaa, 61)]) == 1)
        #expect(try ttls("a.example") == [28: 61])
        #expect(try write("a.example", [(.a, 62), (.aaaa, nil)]) == 1)
        #expect(try ttls("a.example") == [1: 62])
        #expect(try write("a.example", [(.a, nil), (.aaaa, nil)]) == 0)
        #expect(try rowCount == 0)
    }

    @Test func `answers asked with other flags are other rows`() throws {
        let signed = QueryKey(Question(name: name("a.example"), type: .a), dnssecOK: true, checkingDisabled: false)
        var changes = PendingChanges()
        changes.store(try entry("a.example", .a, at: clock.now, ttl: 60), for: key("a.example"))
        changes.store(try entry("a.example", .a, at: clock.now, ttl: 61), for: signed)
        changes.store(try entry("a.example", .aaaa, at: clock.now, ttl: 62), for: key("a.example", .aaaa))
        #expect(try write(changes) == 3)
        #expect(try rowCount == 2)
        #expect(try ttls("a.example") == [1: 60, 28: 62])
        #expect(try file.answer(signed)?.head.lifetime == 61)
    }

    @Test func `a row stays while one of its answers may still be used`() throws {
        for (name, first, second) in [("a.example", 60, 60), ("b.example", 86_400, 60), ("c.example", 60, 86_400)] {
            #expect(try write(name, [(.a, UInt32(first)), (.aaaa, UInt32(second))]) == 2)
        }
        #expect(try write("c.example", [(.a, 60)]) == 1)
        // A minute, and 100 times as long.
        let past = noon + 60 + 6_000
        #expect(try file.sweep(from: .min, count: 100, now: past) == .min)
        #expect(try rowCount == 3)
        _ = try file.sweep(from: .min, count: 100, now: past + 1)
        #expect(try ttls("a.example").isEmpty)
        #expect(try rowCount == 2)
    }

    @Test func `a sweep looks at some rows, and goes on behind them`() throws {
        for index in 0..<10 { #expect(try write("n\(index).example", [(.a, 60)]) == 1) }
        let next = try file.sweep(from: .min, count: 4, now: noon + 86_400)
        #expect(try rowCount == 6)
        #expect(try file.sweep(from: next, count: 100, now: noon + 86_400) == .min)
        #expect(try rowCount == 0)
    }

    @Test func `what was written without a clock is not removed for its time`() throws {
        clock.set(100)
        #expect(try write("a.example", [(.a, 60)]) == 1)
        _ = try file.sweep(from: .min, count: 4, now: noon)
        #expect(try rowCount == 1)
    }

    @Test func `rows are removed that have an address that is removed, or a name below a suffix`() throws {
        for (name, type) in [
            ("a.example", RecordType.a), ("b.example", .aaaa), ("wwwa.example", .a), ("www.a.example", .a),
        ] {
            #expect(try write(name, [(type, 60)]) == 1)
        }
        #expect(try write("c.example", [(.a, 60), (.aaaa, 60)]) == 2)
        try file.remove(.holding(address(of: "c.example", .aaaa)))
        #expect(try ttls("c.example").isEmpty && rowCount == 4)
        try file.remove(.holding(address(of: "b.example", .aaaa)))
        #expect(try ttls("b.example").isEmpty && rowCount == 3)
        try file.remove(.suffix(name("A.example")))
        #expect(try ttls("wwwa.example") == [1: 60] && rowCount == 1)
        try file.remove(.name(name("example")))
        #expect(try rowCount == 1)
        try file.remove(.suffix(.root))
        #expect(try rowCount == 0)
    }
}
