import DNSCache
import DNSWire

/// Writes rows, many with one statement, since what SQLite does once for a statement is a part of a row's cost.
///
/// Rows that were added wait for `finish`; all of it inside one transaction.
struct RowWriter: ~Copyable {
    /// The rows of one statement.
    private static let batch = 16
    /// The most bytes that wait, but for the last row's: an answer may have 64 KiB.
    private static let room = 64 << 10

    /// The columns of one answer; where its texts and its body stand in `bytes`.
    private struct Part {
        let stored: Int64
        let facts: Int64
        let addresses: Range<Int>
        let body: Range<Int>
    }

    private struct Row {
        let name: Range<Int>
        let kind: RowKind
        let nameChecksum: Checksum
        var checksum: UInt64 = 0
        /// The answer of type AAAA is the second part, any other the first.
        var first: Part?
        var second: Part?
    }

    private let one: SQLiteStatement
    private let many: SQLiteStatement
    private var rows: [Row] = []
    private var bytes: [UInt8] = []

    init(_ connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let insert: StaticString = """
            INSERT OR REPLACE INTO answer
            (name, kind, stored, facts, addresses, body, stored6, facts6, addresses6, body6, checksum) VALUES
            """
        let values: StaticString = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        let one = try connection.prepare(insert, values, times: 1)
        many = try connection.prepare(insert, values, times: Self.batch)
        self.one = one
    }

    /// Begins a row, as the newest one; it replaces an older one of the same name and kind. Its answers are added next.
    ///
    /// - Parameter key: the bytes of a `QueryKey` without a scope, of one of the answers.
    mutating func beginRow(_ key: Span<UInt8>) throws(SQLiteError) {
        if rows.count == Self.batch || bytes.count > Self.room { try finish() }
        let (name, start) = (key.extracting(droppingLast: 5), bytes.count)
        Name.appendText(of: name, to: &bytes)
        var checksum = Checksum()
        checksum.add(name)
        rows.append(
            Row(name: start..<bytes.count, kind: RowKind(tail: key.extracting(last: 5)), nameChecksum: checksum))
    }

    /// Adds an answer to the row that was begun last.
    ///
    /// - Parameters:
    ///   - type: A or AAAA in a row of addresses, else that of the row's kind.
    ///   - body: the records, as in `PackedAnswer`, and where the TTL of each begins.
    ///   - identities: where the facts' texts have numbers.
    mutating func add(
        _ facts: RowFacts, _ type: RecordType, body: Span<UInt8>, ttlOffsets: Span<UInt16>,
        _ identities: inout IdentityTable
    ) throws(SQLiteError) {
        guard let last = rows.indices.last else { return }
        let start = bytes.count
        for index in 0..<min(Int(facts.counts.answer), ttlOffsets.count) {
            guard let address = PackedAnswer.address(in: body, ttlOffset: ttlOffsets[index]) else { continue }
            if bytes.count > start { bytes.append(UInt8(ascii: " ")) }
            address.appendText(to: &bytes)
        }
        let endOfAddresses = bytes.count
        let counts: [3 of UInt16] = [facts.counts.answer, facts.counts.authority, facts.counts.additional]
        bytes.append(addingCapacity: 6 + body.count) { output in
            for index in counts.indices {
                output.append(UInt8(counts[index] >> 8))
                output.append(UInt8(truncatingIfNeeded: counts[index]))
            }
            for index in body.indices { output.append(body[index]) }
        }
        let part = Part(
            stored: facts.storedAt,
            facts: facts.number(
                source: try identities.number(of: facts.source), policy: try identities.number(of: facts.policy)),
            addresses: start..<endOfAddresses, body: endOfAddresses..<bytes.count)
        rows[last].checksum ^= facts.checksum(
            name: rows[last].nameChecksum, type: type, class: rows[last].kind.class, flags: rows[last].kind.flags,
            body: body)
        if type == .aaaa { rows[last].second = part } else { rows[last].first = part }
    }

    /// Writes the rows that wait.
    mutating func finish() throws(SQLiteError) {
        if rows.count == Self.batch {
            try write(rows.indices, with: many)
        } else {
            for index in rows.indices { try write(index..<(index + 1), with: one) }
        }
        removeAll()
    }

    private mutating func removeAll() {
        rows.removeAll(keepingCapacity: true)
        if bytes.count > Self.room { bytes = [] } else { bytes.removeAll(keepingCapacity: true) }
    }

    private func write(_ batch: Range<Int>, with statement: borrowing SQLiteStatement) throws(SQLiteError) {
        try statement.run(in: bytes) { parameters throws(SQLiteError) in
            for index in batch {
                let row = rows[index]
                try parameters.bind(text: row.name)
                try parameters.bind(row.kind.number)
                try Self.bind(row.first, &parameters)
                try Self.bind(row.second, &parameters)
                try parameters.bind(Int64(bitPattern: row.checksum))
            }
        }
    }

    private static func bind(
        _ part: Part?, _ parameters: inout SQLiteStatement.PlacedParameters
    ) throws(SQLiteError) {
        guard let part else { return try parameters.bindNulls(4) }
        try parameters.bind(part.stored)
        try parameters.bind(part.facts)
        try parameters.bind(text: part.addresses)
        try parameters.bind(blob: part.body)
    }
}
