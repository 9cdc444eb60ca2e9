import DNSCache
import DNSWire
import Testing

@testable import DiskCache

/// Changes to answers, as they wait in one buffer and are written.
@Suite struct AnswerChangesTests {
    private func changes(_ keys: [QueryKey]) throws -> AnswerChanges {
        let entry = try entry("www.example.com", at: TestClock().now)
        return keys.reduce(into: AnswerChanges()) { $0.append(entry, for: $1.array.span) }
    }

    /// The questions of the changes in each row that is written, in order of the rows, each with a byte of its family.
    private func rows(_ changes: AnswerChanges) throws -> [[[UInt8]]] {
        var rows: [[[UInt8]]] = []
        try changes.forEachRow(of: 0..<changes.count) { other, six in
            var row: [[UInt8]] = []
            if let other { row.append(Array(changes.bytes[changes[other].question]) + [4]) }
            if let six { row.append(Array(changes.bytes[changes[six].question]) + [6]) }
            rows.append(row)
        }
        return rows
    }

    @Test func `rows are written in the order of their questions, whatever the order in which they came`() throws {
        let names = [
            "www.b.example", "host-2.example", "host-10.example", "www.a.example", "host-1.example",
            "a-long-host-name-2.example", "a-long-host-name-1.example",
        ]
        let sorted = names.map { key($0).array }.sorted { $0.lexicographicallyPrecedes($1) }
        #expect(try rows(changes(names.map { key($0) })) == sorted.map { [$0 + [4]] })
        #expect(try rows(AnswerChanges()).isEmpty)
    }

    @Test func `the last changes of both address families of a name are one row`() throws {
        let types: [RecordType] = [.aaaa, .a, RecordType(rawValue: 5), .a, .aaaa]
        let names = ["x", "www.example.com"]
        let signed = QueryKey(Question(name: name("x"), type: .a), dnssecOK: true, checkingDisabled: false)
        let changes = try changes(names.flatMap { name in types.map { key(name, $0) } } + [signed])
        let found = try rows(changes)
        #expect(found.map(\.count).sorted() == [1, 1, 1, 2, 2])
        for name in names { #expect(found.contains([key(name).array + [4], key(name).array + [6]])) }
        #expect(found.contains([signed.array + [4]]))
    }
}
