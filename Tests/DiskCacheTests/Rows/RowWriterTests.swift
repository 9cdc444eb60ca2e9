import DNSCache
import DNSWire
import Scheduling
import TestSupport
import Testing

@testable import DiskCache

/// Rows are written many at once; each is what it would be by itself.
@Suite struct RowWriterTests {
    private let file: AnswerFile
    private let clock = TestClock()

    init() throws { file = try AnswerFile(":memory:") }

    private func write(_ changes: AnswerChanges) throws -> Int {
        try file.write(changes, identity(), clock.wall.reading)
    }

    @Test(arguments: [0, 1, 15, 16, 17, 32, 40])
    func `of any number of answers each is read as it was written, the last one first`(count: Int) throws {
        let names = (0..<count).map { "n\($0).example.com" }
        for ttl in [60, 300] as [UInt32] {
            var changes = AnswerChanges()
            for name in names {
                changes.append(try entry(name, at: clock.now - .seconds(5), ttl: ttl), for: key(name).array.span)
            }
            #expect(try write(changes) == count)
        }
        for name in names { #expect(try file.find(key(name).array)?.answer == stored(name, at: noon - 5)) }
        let rows = try file.page(from: .max, limit: 100).rows
        #expect(rows.map { $0.answer.name.description } == names.sorted().reversed())
    }

    @Test func `answers of many bytes do not wait for a statement to be full`() throws {
        let type = RecordType(rawValue: 65_280)
        for index in 0..<2 {
            let question = Question(name: name("n\(index).example.com"), type: type)
            let records = (0..<4).map { _ in
                Record(name: question.name, type: type, ttl: 300, rdata: [UInt8](repeating: 7, count: 10_000))
            }
            let packed = try #require(PackedAnswer(Answer(answers: records), for: question))
            var row = try stored("n\(index).example.com")
            (row.type, row.answer) = (type, packed)
            try file.writer.add(
                row.facts, key: row.key.array.span, body: packed.body.span, ttlOffsets: packed.ttlOffsets.span,
                &file.identities)
        }
        #expect(try file.page(from: .max, limit: 100).rows.count == 2)
    }

    @Test func `the longest answer of addresses fits, with their texts for people`() throws {
        let question = Question(name: name("a.example"), type: .aaaa)
        let addresses = (0..<2_300).map { IPAddress.v6(UInt128.max - UInt128($0)) }
        let packed = try #require(
            PackedAnswer(Answer(name: question.name, addresses: addresses, ttl: 60), for: question))
        #expect(packed.body.count > 64_000)
        var changes = AnswerChanges()
        changes.append(
            CacheEntry(answer: packed, storedAt: clock.now, lifetime: 60, generation: 7, route: 0, source: 0x8001),
            for: key("a.example", .aaaa).array.span)
        #expect(try write(changes) == 1)
        #expect(try file.find(key("a.example", .aaaa).array)?.answer.answer == packed)
    }

    @Test func `a change that removes an answer stands between others that write some`() throws {
        for name in ["a.example.com", "b.example.com"] { try file.write(try stored(name)) }
        var changes = AnswerChanges()
        changes.append(try entry("a.example.com", at: clock.now, ttl: 60), for: key("a.example.com").array.span)
        changes.appendRemoval(of: key("b.example.com").array.span)
        changes.append(try entry("c.example.com", at: clock.now), for: key("c.example.com").array.span)
        #expect(try write(changes) == 2)
        #expect(try file.find(key("a.example.com").array)?.answer.lifetime == 60)
        #expect(try file.find(key("b.example.com").array) == nil)
        #expect(try file.find(key("c.example.com").array)?.answer == stored("c.example.com"))
    }

    @Test func `what is not worth a row has none: of an unknown source, our own answers, those for one network`() throws
    {
        var changes = AnswerChanges()
        changes.append(try entry("a.example.com", at: clock.now, source: 99), for: key("a.example.com").array.span)
        changes.append(try entry("b.example.com", at: clock.now, route: .max), for: key("b.example.com").array.span)
        let network = try #require(AddressPrefix("192.0.2.0/24"))
        let scoped = key("c.example.com").scoped(to: .network(network))
        changes.append(try entry("c.example.com", at: clock.now), for: scoped.array.span)
        #expect(try write(changes) == 0)
        #expect(try file.page(from: .max, limit: 100).rows.isEmpty)
    }

    @Test func `the addresses of an answer stand in the row for people, in their order`() throws {
        let question = Question(name: name("www.example.com"), type: .aaaa)
        let addresses: [IPAddress] = [.v6(0x2001_0db8 << 96 | 2), .v6(0x2001_0db8 << 96 | 1)]
        let packed = try #require(
            PackedAnswer(Answer(name: question.name, addresses: addresses, ttl: 60), for: question))
        var changes = AnswerChanges()
        changes.append(
            CacheEntry(answer: packed, storedAt: clock.now, lifetime: 60, generation: 7, route: 0, source: 0x8001),
            for: key("www.example.com", .aaaa).array.span)
        #expect(try write(changes) == 1)
        let select = try file.connection.prepare("SELECT addresses FROM answer")
        #expect(try select.step() && select.text(0) == "2001:db8::2 2001:db8::1")
    }
}
