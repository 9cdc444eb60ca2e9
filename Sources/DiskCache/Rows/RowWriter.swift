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

    /// What a row has as numbers, in the order of the columns; and where its texts and its body stand in `bytes`.
    private struct Row {
        /// type, class, flags, stored, lifetime, source, route, policy, rcode, negative
        let numbers: [10 of Int64]
        let checksum: UInt64
        let name: Range<Int>
        let addresses: Range<Int>
        let body: Range<Int>
    }

    private let one: SQLiteStatement
    private let many: SQLiteStatement
    private var rows: [Row] = []
    private var bytes: [UInt8] = []

    init(_ connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let insert: StaticString = """
            INSERT OR REPLACE INTO answer
            (name, type, class, flags, stored, lifetime, source, route, policy, rcode, negative, addresses, body, checksum)
            VALUES
            """
        let values: StaticString = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        let one = try connection.prepare(insert, values, times: 1)
        many = try connection.prepare(insert, values, times: Self.batch)
        self.one = one
    }

    /// Adds a row, as the newest one; it replaces an older one with the same key.
    ///
    /// - Parameters:
    ///   - key: the bytes of a `QueryKey` without a scope.
    ///   - body: the records, as in `PackedAnswer`, and where the TTL of each begins.
    ///   - identities: where the facts' texts have numbers.
    mutating func add(
        _ facts: RowFacts, key: Span<UInt8>, body: Span<UInt8>, ttlOffsets: Span<UInt16>,
        _ identities: inout IdentityTable
    ) throws(SQLiteError) {
        let end = key.count - 5
        let name = key.extracting(..<end)
        let type = RecordType(rawValue: UInt16(key[end]) << 8 | UInt16(key[end + 1]))
        let `class` = RecordClass(rawValue: UInt16(key[end + 2]) << 8 | UInt16(key[end + 3]))
        let flags = UInt16(key[end + 4])
        let start = bytes.count
        Name.appendText(of: name, to: &bytes)
        let endOfName = bytes.count
        for index in 0..<min(Int(facts.counts.answer), ttlOffsets.count) {
            guard let address = PackedAnswer.address(in: body, ttlOffset: ttlOffsets[index]) else { continue }
            if bytes.count > endOfName { bytes.append(UInt8(ascii: " ")) }
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
        rows.append(
            Row(
                numbers: [
                    Int64(type.rawValue), Int64(`class`.rawValue), Int64(flags), facts.storedAt, Int64(facts.lifetime),
                    try identities.number(of: facts.source), Int64(facts.route.rawValue),
                    try identities.number(of: facts.policy), Int64(facts.responseCode.rawValue),
                    facts.isNegative ? 1 : 0,
                ],
                checksum: facts.checksum(name: name, type: type, class: `class`, flags: flags, body: body),
                name: start..<endOfName, addresses: endOfName..<endOfAddresses, body: endOfAddresses..<bytes.count))
        if rows.count == Self.batch {
            try write(rows.indices, with: many)
            removeAll()
        } else if bytes.count > Self.room {
            try finish()
        }
    }

    /// Writes the rows that wait.
    mutating func finish() throws(SQLiteError) {
        for index in rows.indices { try write(index..<(index + 1), with: one) }
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
                for number in row.numbers.indices { try parameters.bind(row.numbers[number]) }
                try parameters.bind(text: row.addresses)
                try parameters.bind(blob: row.body)
                try parameters.bind(Int64(bitPattern: row.checksum))
            }
        }
    }
}
