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

    /// The changes of each row that is written, in order of the rows.
    private func rows(_ changes: AnswerChanges) throws -> [[Int]] {
        var rows: [[Int]] = []
        try changes.forEachRow { rows.append(Array($0)) }
        return rows
    }

    @Test func `a change that became a removal keeps its key and its place`() throws {
        var changes = try changes("a.example.com", "b.example.com")
        changes.append(
            try entry("c.example.com", .aaaa, at: TestClock().now), for: key("c.example.com", .aaaa).array.span)
        for index in [0, 2, 0] { changes.makeRemoval(at: index) }
        #expect(changes.removalCount == 2 && changes.isRemoval(at: 0) && !changes.isRemoval(at: 1))
        changes.leaveRemovals()
        let keys = [key("a.example.com").array, key("c.example.com", .aaaa).array]
        #expect(changes.indices.map { changes.key(at: $0) } == keys && changes.removalCount == 2)
    }

    @Test func `rows are written in the order of their questions, whatever the order in which they came`() throws {
        let names = [
            "www.b.example", "host-2.example", "host-10.example", "www.a.example", "host-1.example",
            "a-long-host-name-2.example", "a-long-host-name-1.example",
        ]
        let changes = try names.reduce(into: AnswerChanges()) {
            $0.append(try entry($1, at: TestClock().now), for: key($1).array.span)
        }
        let questions = try rows(changes).map { changes.question(at: $0[0]) }
        #expect(questions == names.map { key($0).array }.sorted { $0.lexicographicallyPrecedes($1) })
        #expect(try rows(AnswerChanges()).isEmpty)
    }

    @Test func `the changes of both address families of a name are one row, in order of arrival`() throws {
        var changes = AnswerChanges()
        let types: [RecordType] = [.aaaa, .a, RecordType(rawValue: 5), .a, .aaaa]
        for text in ["x", "www.example.com"] {
            for type in types {
                changes.append(try entry(text, at: TestClock().now), for: key(text, type).array.span)
            }
        }
        let signed = QueryKey(Question(name: name("x"), type: .a), dnssecOK: true, checkingDisabled: false)
        changes.append(try entry("x", at: TestClock().now), for: signed.array.span)
        #expect(Set(try rows(changes)) == [[0, 1, 3, 4], [2], [5, 6, 8, 9], [7], [10]])
    }

    @Test func `the subject of a new answer is its name and its addresses, and a removal has none`() throws {
        var changes = try changes("a.example.com")
        changes.append(
            try entry("b.example.com", .aaaa, at: TestClock().now), for: key("b.example.com", .aaaa).array.span)
        changes.append(nil, for: key("c.example.com").array.span)
        let subjects = changes.indices.map { changes.subject(at: $0) }
        #expect(subjects.map { $0?.name } == [name("a.example.com"), name("b.example.com"), nil])
        #expect(
            subjects.map { $0?.addresses } == [
                [address(of: "a.example.com")], [address(of: "b.example.com", .aaaa)], nil,
            ])
    }
}
