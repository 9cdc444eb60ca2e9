import DNSCache
import DNSWire
import Testing

@testable import DiskCache

/// Changes to answers, as they wait in one buffer and are written.
@Suite struct AnswerChangesTests {
    /// Changes that store an answer of each name, in this order.
    private func changes(_ names: String...) throws -> AnswerChanges {
        var changes = AnswerChanges()
        for name in names { changes.append(try entry(name, at: TestClock().now), for: key(name).array.span) }
        return changes
    }

    /// The names of the changes that are written, in order.
    private func written(_ changes: AnswerChanges) -> [String] {
        changes.rowsInOrderOfIndex.map { StoredAnswer.name(inKey: changes[$0.first.index].keyBytes)?.description ?? "" }
    }

    /// The changes of each row that is written, in order of the rows.
    private func rows(_ changes: AnswerChanges) -> [Set<Int>] {
        changes.rowsInOrderOfIndex.map { Set([$0.first.index]).union($0.second.map { [$0.index] } ?? []) }
    }

    @Test func `an entry comes out as it went in, but for what no file has`() throws {
        var first = try entry("www.example.com", at: TestClock().now, source: 2, route: 3, generation: 9)
        (first.isNegative, first.refreshMargin, first.server) = (true, 5, 6)
        var changes = try changes("a.example.com")
        changes.append(first, for: key("www.example.com").array.span)
        (first.refreshMargin, first.server) = (0, 0)
        #expect(changes.count == 2 && changes[1].key == key("www.example.com").array && changes[1].entry == first)
        #expect(changes[0].entry == (try entry("a.example.com", at: TestClock().now)))
    }

    @Test func `a change that became a removal keeps its key and its place`() throws {
        var changes = try changes("a.example.com", "b.example.com")
        changes.makeRemoval(at: 0)
        changes.makeRemoval(at: 0)
        #expect(changes.removalCount == 1 && changes[0].entry == nil && changes[0].key == key("a.example.com").array)
        changes.leaveRemovals()
        #expect(changes.map(\.key) == [key("a.example.com").array] && changes.removalCount == 1)
    }

    @Test func `names are written in their order, whatever the order in which they came`() throws {
        let names = ["www.b.example", "host-2.example", "host-10.example", "www.a.example", "host-1.example"]
        let changes = try changes(names[0], names[1], names[2], names[3], names[4])
        #expect(written(changes) == names.sorted())
    }

    @Test func `of several changes of one key only the last is written`() throws {
        var changes = try changes("a.example.com", "b.example.com", "a.example.com")
        #expect(rows(changes) == [[2], [1]])
        changes.appendRemoval(of: key("b.example.com").array.span)
        #expect(rows(changes) == [[2], [3]])
        changes.append(try entry("b.example.com", at: TestClock().now), for: key("b.example.com").array.span)
        #expect(rows(changes) == [[2], [4]])
    }

    @Test func `of both address families of a name the last changes are one row, whatever came between`() throws {
        var changes = AnswerChanges()
        let types: [RecordType] = [.aaaa, .a, RecordType(rawValue: 5), .a, .aaaa]
        for text in ["x", "www.example.com"] {
            for type in types {
                changes.append(try entry(text, at: TestClock().now), for: key(text, type).array.span)
            }
        }
        let signed = QueryKey(Question(name: name("x"), type: .a), dnssecOK: true, checkingDisabled: false)
        changes.append(try entry("x", at: TestClock().now), for: signed.array.span)
        #expect(Set(rows(changes)) == [[3, 4], [2], [8, 9], [7], [10]])
    }

    @Test func `names that differ in their labels alone are other keys, and so are other types`() throws {
        let entry = try entry("www.example.com", at: TestClock().now)
        var changes = AnswerChanges()
        changes.append(entry, for: key("www.example.com").array.span)
        changes.append(entry, for: key("www.example.com", .aaaa).array.span)
        // One label of the bytes a, 1 and b, and two labels, a and b.
        changes.append(entry, for: key("a\\001b").array.span)
        changes.append(entry, for: key("a.b").array.span)
        changes.append(entry, for: key(".").array.span)
        #expect(Set(rows(changes)) == [[0, 1], [2], [3], [4]])
    }

    @Test func `a row's change says whether its answer was removed before`() throws {
        var changes = try changes("a.example.com", "b.example.com")
        changes.appendRemoval(of: key("a.example.com").array.span)
        changes.append(try entry("a.example.com", at: TestClock().now), for: key("a.example.com").array.span)
        changes.append(try entry("a.example.com", at: TestClock().now), for: key("a.example.com", .aaaa).array.span)
        let rows = changes.rowsInOrderOfIndex
        #expect(rows.map { $0.first.index } == [4, 1])
        #expect(!rows[0].first.removes && rows[0].second == AnswerChanges.Last(index: 3, removes: true))
        #expect(!rows[1].first.removes && rows[1].second == nil)
    }

    @Test func `room is used again, but not that of a burst`() throws {
        let long = try #require(
            PackedAnswer(
                Answer(name: name("a.example"), addresses: (0..<2_300).map { .v6(UInt128($0)) }, ttl: 60),
                for: Question(name: name("a.example"), type: .aaaa)))
        var burst = try entry("a.example", at: TestClock().now)
        burst.answer = long
        var changes = AnswerChanges()
        for index in 0..<250 { changes.append(burst, for: key("n\(index).example", .aaaa).array.span) }
        changes.removeAll()
        #expect(changes.isEmpty && changes.room > 10 << 20)
        changes.append(try entry("a.example", at: TestClock().now), for: key("a.example").array.span)
        #expect(changes.count == 1 && changes[0].key == key("a.example").array)
        for _ in 0..<2 {
            for index in 0..<64 {
                changes.append(try entry("a.example", at: TestClock().now), for: key("n\(index).example").array.span)
            }
            changes.removeAll()
        }
        #expect(changes.isEmpty && changes.removalCount == 0 && changes.room < 1 << 20)
    }
}
