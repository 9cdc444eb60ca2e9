import DNSCache
import DNSWire
import Platform

/// The open file: answers and records, read and written by one thread.
///
/// After an error thrown by a method that writes, the file must be closed: the tables of texts may have assigned
/// numbers that were not stored.
final class AnswerFile {
    /// A row, and its number in the order of writing.
    struct Row: Equatable {
        let id: Int64
        let answer: StoredAnswer
    }

    /// Whether the database was empty; an existing one may be damaged.
    let isNew: Bool
    let connection: SQLiteConnection
    private let delete: SQLiteStatement
    private let select: SQLiteStatement
    private let page: SQLiteStatement
    private let pageOfName: SQLiteStatement
    var writer: RowWriter
    var identities: IdentityTable

    /// Opens the file for writing, and creates it if there is none.
    ///
    /// - Parameter system: the name of a registered VFS; nil: SQLite's default.
    convenience init(_ path: String, system: String? = nil) throws(SQLiteError) {
        let connection = try SQLiteConnection(path, .readWrite, system: system)
        // For a file that has pages it would be one more write, and a sync, before the first answer.
        if try connection.integer("PRAGMA page_count", in: StoredRange.pages) == 0 {
            try connection.execute(StoreSchema.begin)
        }
        try Self.checkOwner(connection)
        // WAL: a commit is an append. Without a sync for each: a crash of the process loses nothing, one of the machine
        // loses the last commits, and neither damages the file.
        try connection.execute(
            """
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = NORMAL;
            PRAGMA journal_size_limit = 8388608;
            PRAGMA temp_store = MEMORY;
            PRAGMA cell_size_check = ON;
            """)
        let isNew = try StoreSchema.migrate(connection)
        try self.init(connection, isNew: isNew)
    }

    /// Opens a file for reading, and leaves nothing beside it. A server may be using it.
    convenience init(reading path: String) throws(DiskReaderError) {
        let copy: StoreCopy?
        do throws(SystemError) {
            copy = StoreCopy.isNeeded(for: path) ? try StoreCopy(of: path) : nil
        } catch { throw DiskReaderError(text: "\(error)") }
        do throws(SQLiteError) {
            try self.init(reading: SQLiteConnection(copy?.path ?? path, copy == nil ? .unchanging : .readWrite))
        } catch { throw DiskReaderError(text: "\(path): \(error)") }
    }

    private convenience init(reading connection: consuming SQLiteConnection) throws(SQLiteError) {
        try Self.checkOwner(connection)
        guard try connection.integer("PRAGMA user_version", in: StoreSchema.numbers) == StoreSchema.version else {
            throw SQLiteError(damaged: "it is of another version; the server brings it up to date when it starts")
        }
        try self.init(connection, isNew: false)
    }

    /// - Throws: for another program's file, before anything is written into it.
    private static func checkOwner(_ connection: borrowing SQLiteConnection) throws(SQLiteError) {
        guard try connection.integer("PRAGMA application_id", in: StoreSchema.numbers) == StoreSchema.applicationID
        else { throw SQLiteError(damaged: "it is not a cache of this program") }
    }

    private init(_ connection: consuming SQLiteConnection, isNew: Bool) throws(SQLiteError) {
        self.isNew = isNew
        try StoreSchema.check(connection)
        writer = try RowWriter(connection)
        delete = try connection.prepare("DELETE FROM answer WHERE name = ? AND type = ? AND class = ? AND flags = ?")
        select = try connection.prepare(
            """
            SELECT id, name, type, class, flags, stored, lifetime, source, route, policy, rcode, negative, body, checksum
            FROM answer WHERE name = ? AND type = ? AND class = ? AND flags = ?
            """)
        page = try connection.prepare(
            """
            SELECT id, name, type, class, flags, stored, lifetime, source, route, policy, rcode, negative, body, checksum
            FROM answer WHERE id <= ? ORDER BY id DESC LIMIT ?
            """)
        pageOfName = try connection.prepare(
            """
            SELECT id, name, type, class, flags, stored, lifetime, source, route, policy, rcode, negative, body, checksum
            FROM answer WHERE name = ? ORDER BY type, flags
            """)
        identities = try IdentityTable(connection)
        self.connection = connection
    }

    /// Runs several operations in one transaction.
    func transaction<Value>(_ body: () throws(SQLiteError) -> Value) throws(SQLiteError) -> Value {
        try connection.transaction(body)
    }

    /// Writes the content of the log into the database file, which does not change any more until `endStillness`: later
    /// writes stay in the log, however long it gets.
    func beginStillness() throws(SQLiteError) {
        try connection.execute("PRAGMA wal_autocheckpoint = 0; PRAGMA wal_checkpoint(PASSIVE)")
    }

    func endStillness() throws(SQLiteError) { try connection.execute("PRAGMA wal_autocheckpoint = 1000") }

    // MARK: Answers

    /// Writes changes of answers, in the order of the file's index; each answer replaces an older one with the same key.
    /// Inside a transaction.
    ///
    /// - Returns: how many answers were written.
    func write(
        _ changes: AnswerChanges, _ identity: PolicyIdentity, _ reading: WallClock.Reading
    ) throws(SQLiteError) -> Int {
        var written = 0
        for index in changes.inOrderOfIndex {
            guard !changes.isRemoval(at: index) else {
                try remove(changes[index].key)
                continue
            }
            guard let facts = changes.facts(at: index, identity, reading) else { continue }
            try changes.withParts(at: index) { key, body, ttlOffsets throws(SQLiteError) in
                try writer.add(facts, key: key, body: body, ttlOffsets: ttlOffsets, &identities)
            }
            written += 1
        }
        try writer.finish()
        return written
    }

    /// Removes the answer under one key.
    ///
    /// - Parameter key: the bytes of a `QueryKey`.
    func remove(_ key: [UInt8]) throws(SQLiteError) {
        guard let values = Self.keyValues(key) else { return }
        try delete.run(values)
    }

    /// The answer under one key.
    ///
    /// - Parameter key: the bytes of a `QueryKey`.
    func find(_ key: [UInt8]) throws(SQLiteError) -> Row? {
        guard let values = Self.keyValues(key) else { return nil }
        try select.bind(values)
        guard try select.step() else { return nil }
        defer { select.reset() }
        // Where an index is damaged, SQLite may have taken the key from the index, and then the checksum differs, or
        // from the row, and then the key does.
        let row = try row(select)
        guard row.answer.key.array == key else { throw .damagedRow }
        return row
    }

    /// All answers of one name.
    func answers(of name: Name) throws(SQLiteError) -> [Row] {
        try pageOfName.bind([.text(name.lowercased.description)])
        defer { pageOfName.reset() }
        var rows: [Row] = []
        while try pageOfName.step() { rows.append(try row(pageOfName)) }
        return rows
    }

    /// The newest answers up to row number `id`, the newest first.
    ///
    /// - Returns: the undamaged ones, the row number to continue from, nil at the end, and whether some are damaged.
    func page(from id: Int64, limit: Int) throws(SQLiteError) -> (rows: [Row], next: Int64?, isDamaged: Bool) {
        try page.bind([.integer(id), .integer(Int64(limit))])
        defer { page.reset() }
        var rows: [Row] = []
        var count = 0
        var next: Int64? = id
        do throws(SQLiteError) {
            while try page.step() {
                count += 1
                // SQLite assumes that a page has its rows in order; where the order is damaged, no look-up succeeds.
                guard let highest = next, let found = try? page.integer(0, in: .min...highest) else {
                    return (rows, nil, true)
                }
                next = found == .min ? nil : found - 1
                if let row = try? row(page) { rows.append(row) }
            }
        } catch {
            guard error.remedy == .replaceFile else { throw error }
            // The rows read before the damage are valid.
            return (rows, nil, true)
        }
        return (rows, count == limit ? next : nil, rows.count < count)
    }

    /// Removes the answers that `removal` covers, and damaged ones.
    func remove(_ removal: DiskRemoval) throws(SQLiteError) {
        guard removal != .all else {
            try connection.execute("DELETE FROM answer")
            return
        }
        let all = try connection.prepare("SELECT id, name, addresses FROM answer")
        let one = try connection.prepare("DELETE FROM answer WHERE id = ?")
        var doomed: [Int64] = []
        while try all.step() {
            let id = try all.integer(0, in: .min ... .max)
            guard let name = try? Name(all.text(1)) else {
                doomed.append(id)
                continue
            }
            if removal.covers(name, all.text(2).split(separator: " ").compactMap { IPAddress($0) }) {
                doomed.append(id)
            }
        }
        for id in doomed { try one.run([.integer(id)]) }
    }

    // MARK: Bounds

    /// The row number of the answer written last; 0 when there is none. Numbers that are never assigned are damage,
    /// which `page` detects.
    func lastID() throws(SQLiteError) -> Int64 {
        let sql: StaticString =
            "SELECT id FROM answer WHERE id BETWEEN 1 AND 9007199254740992 ORDER BY id DESC LIMIT 1"
        return try connection.integer(sql, in: StoredRange.ids) ?? 0
    }

    /// Bytes of pages in use.
    func size() throws(SQLiteError) -> Int64 {
        let pages = try connection.integer("PRAGMA page_count", in: StoredRange.pages) ?? 0
        let free = try connection.integer("PRAGMA freelist_count", in: StoredRange.pages) ?? 0
        return (pages - free) * (try connection.integer("PRAGMA page_size", in: 0...65_536) ?? 4_096)
    }

    /// Removes those of `count` answers, from row number `id` on, that are past their staleness.
    ///
    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - staleMax: as in `FreshnessPolicy`.
    /// - Returns: the row number to continue from.
    func sweep(from id: Int64, count: Int64, now: Int64, _ policy: FreshnessPolicy) throws(SQLiteError) -> Int64 {
        let statement = try connection.prepare(
            """
            DELETE FROM answer WHERE id >= ?1 AND id < ?2
            AND stored + lifetime + CASE ?3 WHEN 0 THEN 0 ELSE max(3600, min(?3, lifetime * 100)) END < ?4
            """)
        try statement.run([.integer(id), .integer(id + count), .integer(Int64(policy.staleMax)), .integer(now)])
        return id + count
    }

    /// Removes the `count` answers that were written first.
    func removeOldest(_ count: Int) throws(SQLiteError) {
        let statement = try connection.prepare(
            "DELETE FROM answer WHERE id IN (SELECT id FROM answer ORDER BY id LIMIT ?)")
        try statement.run([.integer(Int64(count))])
    }

    /// Returns some unused pages to the file system when there are many. Called outside a transaction.
    func shrink() throws(SQLiteError) {
        let pages = try connection.integer("PRAGMA page_count", in: StoredRange.pages) ?? 0
        let free = try connection.integer("PRAGMA freelist_count", in: StoredRange.pages) ?? 0
        guard free > max(1_024, pages / 4) else { return }
        try connection.execute("PRAGMA incremental_vacuum(1024)")
    }

    // MARK: Rows

    /// Name, type, class and flags from the bytes of a `QueryKey`; nil for invalid bytes.
    private static func keyValues(_ key: [UInt8]) -> [SQLiteStatement.Value]? {
        guard key.count > 5, let name = try? Name(wire: Array(key.dropLast(5))) else { return nil }
        let end = key.suffix(5).map { Int64($0) }
        return [
            .text(name.description), .integer(end[0] << 8 | end[1]), .integer(end[2] << 8 | end[3]), .integer(end[4]),
        ]
    }

    /// The current row of a statement; every value is validated as if it had come from the network.
    private func row(_ statement: borrowing SQLiteStatement) throws(SQLiteError) -> Row {
        let id = try statement.integer(0, in: StoredRange.ids)
        let flags = try statement.integer(4, in: 0...3)
        let lifetime = UInt32(try statement.integer(6, in: StoredRange.ttls))
        guard let name = try? Name(statement.text(1)),
            let source = identities.text(of: try statement.integer(7, in: StoredRange.ids)),
            let route = StoredRoute(rawValue: UInt16(try statement.integer(8, in: StoredRange.words))),
            let policy = identities.text(of: try statement.integer(9, in: StoredRange.ids))
        else { throw .damagedRow }
        let question = Question(
            name: name, type: RecordType(rawValue: UInt16(try statement.integer(2, in: StoredRange.words))),
            class: RecordClass(rawValue: UInt16(try statement.integer(3, in: StoredRange.words))))
        let code = ResponseCode(rawValue: UInt16(try statement.integer(10, in: StoredRange.words)))
        let blob = statement.bytes(12)
        guard blob.count > 6 else { throw .damagedRow }
        let numbers = (0..<3).map { UInt16(blob[$0 * 2]) << 8 | UInt16(blob[$0 * 2 + 1]) }
        let counts = PackedAnswer.SectionCounts(answer: numbers[0], authority: numbers[1], additional: numbers[2])
        guard
            let (answer, isNegative) = PackedAnswer.checked(
                Array(blob[6...]), responseCode: code, counts: counts, for: question),
            answer.longestTTL <= StoredRange.ttls.upperBound
        else { throw .damagedRow }
        let stored = StoredAnswer(
            name: name, type: question.type, class: question.class, dnssecOK: flags & 1 != 0,
            checkingDisabled: flags & 2 != 0, answer: answer, isNegative: isNegative,
            storedAt: try statement.integer(5, in: StoredRange.times), lifetime: lifetime, source: source, route: route,
            policy: policy)
        let isMarkedNegative = try statement.integer(11, in: 0...1) == 1
        guard isNegative == isMarkedNegative, stored.checksum == statement.bits(13) else { throw .damagedRow }
        return Row(id: id, answer: stored)
    }
}
