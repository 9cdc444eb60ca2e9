import DNSCache
import DNSWire
import Platform

/// The open file: answers and records, read and written by one thread.
///
/// After an error thrown by a method that writes, the file must be closed: the tables of texts may have assigned
/// numbers that were not stored.
final class AnswerFile {
    /// A row: the answers of one name and kind.
    struct Row: Equatable {
        /// Its number in the order of writing.
        let id: Int64
        /// One, or those of type A and AAAA.
        let answers: [StoredAnswer]
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
        delete = try connection.prepare("DELETE FROM answer WHERE id = ?")
        select = try connection.prepare(
            """
            SELECT id, name, kind, stored, facts, body, stored6, facts6, body6, checksum
            FROM answer WHERE name = ? AND kind = ?
            """)
        page = try connection.prepare(
            """
            SELECT id, name, kind, stored, facts, body, stored6, facts6, body6, checksum
            FROM answer WHERE id <= ? ORDER BY id DESC LIMIT ?
            """)
        pageOfName = try connection.prepare(
            """
            SELECT id, name, kind, stored, facts, body, stored6, facts6, body6, checksum
            FROM answer WHERE name = ? ORDER BY kind
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

    /// Whether each commit is synced to the disk, so that it outlasts a crash of the machine too. Outside of transactions.
    func sync(_ isOn: Bool) throws(SQLiteError) {
        try connection.execute(isOn ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
    }

    // MARK: Answers

    /// Writes changes of answers, in the order of the file's index; each row replaces an older one with the same key.
    /// Inside a transaction.
    ///
    /// - Parameters:
    ///   - distrusted: answers of rows up to this number are of unknown age, and stay so in a row with another.
    ///   - isPast: whether an answer that was stored at this time, with this lifetime, is past its staleness.
    /// - Returns: how many changed answers, and how many rows, were written.
    func write(
        _ changes: AnswerChanges, _ identity: PolicyIdentity, _ reading: WallClock.Reading, distrusted: Int64 = 0,
        isPast: (StoredAnswer) -> Bool = { _ in false }
    ) throws(SQLiteError) -> (answers: Int, rows: Int) {
        if identities.isLarge { identities = try .tidied(connection) }
        var written = (answers: 0, rows: 0)
        for row in changes.rowsInOrderOfIndex where changes.isPlain(at: row.first.index) {
            let first = changes.facts(at: row.first.index, identity, reading)
            let second = row.second.flatMap { changes.facts(at: $0.index, identity, reading) }
            let others = try others(of: row, changes, hasFirst: first != nil, hasSecond: second != nil)
            guard first != nil || second != nil else {
                if let others { try reduce(others.row, to: others.answers) }
                continue
            }
            try changes.withParts(at: row.first.index) { key, body, ttlOffsets throws(SQLiteError) in
                try writer.beginRow(key)
                guard let first else { return }
                try writer.add(
                    first, changes.type(of: row.first.index), body: body, ttlOffsets: ttlOffsets, &identities)
                written.answers += 1
            }
            if let second, let index = row.second?.index {
                try changes.withParts(at: index) { _, body, ttlOffsets throws(SQLiteError) in
                    try writer.add(
                        second, changes.type(of: index), body: body, ttlOffsets: ttlOffsets, &identities)
                    written.answers += 1
                }
            }
            for var answer in others?.answers ?? [] where !isPast(answer) {
                if let id = others?.row.id, id <= distrusted {
                    answer.storedAt = min(answer.storedAt, WallClock.earliest - 1)
                }
                try writer.add(
                    answer.facts, answer.type, body: answer.answer.body.span,
                    ttlOffsets: answer.answer.ttlOffsets.span, &identities)
            }
            written.rows += 1
        }
        try writer.finish()
        return written
    }

    /// The row of the file that changes, and those of its answers that remain valid; nil where there is no row, and where
    /// nothing of it has to be read, since a new row replaces all of it.
    private func others(
        of row: AnswerChanges.Row, _ changes: AnswerChanges, hasFirst: Bool, hasSecond: Bool
    ) throws(SQLiteError) -> (row: Row, answers: [StoredAnswer])? {
        let isReplaced = hasFirst || row.first.removes
        let isOtherReplaced = hasSecond || row.second?.removes ?? false
        let isNew = hasFirst || hasSecond
        guard isReplaced || isOtherReplaced, !isNew || isReplaced != isOtherReplaced else { return nil }
        let type = changes.type(of: row.first.index)
        // Of other types a row has one answer.
        if isNew, !type.isAddress { return nil }
        let isFirstOther = (type == .aaaa) == isReplaced
        guard let old = try read(changes.key(at: row.first.index), having: isNew ? (isFirstOther ? .a : .aaaa) : nil)
        else { return nil }
        return (old, old.answers.filter { $0.type == type ? !isReplaced : !isOtherReplaced })
    }

    /// Leaves some answers of a row alone, under its number.
    private func reduce(_ row: Row, to answers: [StoredAnswer]) throws(SQLiteError) {
        guard answers.count < row.answers.count else { return }
        guard let answer = answers.first else { return try delete.run([.integer(row.id)]) }
        let sql: StaticString =
            answer.type == .aaaa
            ? "UPDATE answer SET stored = NULL, facts = NULL, addresses = NULL, body = NULL, checksum = ? WHERE id = ?"
            : "UPDATE answer SET stored6 = NULL, facts6 = NULL, addresses6 = NULL, body6 = NULL, checksum = ? WHERE id = ?"
        try connection.prepare(sql).run([.bits(answer.checksum), .integer(row.id)])
    }

    /// The row of one key, whichever of its answers it has.
    ///
    /// - Parameter type: of the answer without which the row is of no interest; nil: any.
    private func read(_ key: [UInt8], having type: RecordType? = nil) throws(SQLiteError) -> Row? {
        guard let name = StoredAnswer.name(inKey: key[...]) else { return nil }
        let kind = RowKind(tail: key.span.extracting(last: 5))
        try select.bind([.text(name.description), .integer(kind.number)])
        guard try select.step() else { return nil }
        defer { select.reset() }
        if let type, select.isNull(type == .aaaa ? 7 : 4) { return nil }
        let row = try row(select)
        // Where an index is damaged, SQLite may have taken the key from the index, and then the checksum differs, or
        // from the row, and then the key does.
        guard row.answers.allSatisfy({ $0.name == name && $0.kind == kind }) else { throw .damagedRow }
        return row
    }

    /// The row that has the answer under one key, with that of the other address family.
    ///
    /// - Parameter key: the bytes of a `QueryKey`.
    func find(_ key: [UInt8]) throws(SQLiteError) -> Row? {
        guard let row = try read(key), row.answers.contains(where: { $0.key.array == key }) else { return nil }
        return row
    }

    /// All answers of one name, by type.
    func answers(of name: Name) throws(SQLiteError) -> [StoredAnswer] {
        try pageOfName.bind([.text(name.lowercased.description)])
        defer { pageOfName.reset() }
        var answers: [StoredAnswer] = []
        while try pageOfName.step() { answers += try row(pageOfName).answers }
        return answers.sorted { ($0.type.rawValue, $0.flags) < ($1.type.rawValue, $1.flags) }
    }

    /// The newest rows up to number `id`, the newest first.
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

    /// Removes the answers that `removal` covers, and damaged rows that may have them.
    func remove(_ removal: DiskRemoval) throws(SQLiteError) {
        guard removal != .all else {
            try connection.execute("DELETE FROM answer")
            return
        }
        let all = try connection.prepare("SELECT id, name, addresses, addresses6 FROM answer")
        var doomed: [Int64] = []
        while try all.step() {
            let id = try all.integer(0, in: .min ... .max)
            let addresses = [2, 3].flatMap { all.text($0).split(separator: " ").compactMap { IPAddress($0) } }
            if (try? Name(all.text(1))).map({ removal.covers($0, addresses) }) ?? true { doomed.append(id) }
        }
        for id in doomed {
            guard case .holding = removal, let row = try page(from: id, limit: 1).rows.first, row.id == id else {
                try delete.run([.integer(id)])
                continue
            }
            try reduce(row, to: row.answers.filter { !removal.covers($0.name, $0.answer.addresses) })
        }
    }

    // MARK: Bounds

    /// The number of the row written last; 0 when there is none. Numbers that are never assigned are damage,
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

    /// Removes those of `count` rows, from row number `id` on, whose answers are all past their staleness.
    ///
    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - staleMax: as in `FreshnessPolicy`.
    ///   - setBack: answers of its rows count from the later time on.
    /// - Returns: the row number to continue from.
    func sweep(
        from id: Int64, count: Int64, now: Int64, _ policy: FreshnessPolicy, _ setBack: SetBack? = nil
    ) throws(SQLiteError) -> Int64 {
        let statement = try connection.prepare(
            """
            DELETE FROM answer WHERE id >= ?1 AND id < ?2
            AND ifnull(max(stored, CASE WHEN id > ?5 AND id <= ?6 THEN ?7 ELSE stored END) + (facts & 1048575)
                + CASE ?3 WHEN 0 THEN 0 ELSE max(3600, min(?3, (facts & 1048575) * 100)) END < ?4, 1)
            AND ifnull(max(stored6, CASE WHEN id > ?5 AND id <= ?6 THEN ?7 ELSE stored6 END) + (facts6 & 1048575)
                + CASE ?3 WHEN 0 THEN 0 ELSE max(3600, min(?3, (facts6 & 1048575) * 100)) END < ?4, 1)
            """)
        try statement.run([
            .integer(id), .integer(id + count), .integer(Int64(policy.staleMax)), .integer(now),
            .integer(setBack?.after ?? 0), .integer(setBack?.end ?? 0), .integer(setBack?.from ?? 0),
        ])
        return id + count
    }

    /// Removes the `count` rows that were written first.
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

    /// The current row of a statement; every value is validated as if it had come from the network.
    private func row(_ statement: borrowing SQLiteStatement) throws(SQLiteError) -> Row {
        let id = try statement.integer(0, in: StoredRange.ids)
        guard let name = try? Name(statement.text(1)),
            let kind = RowKind(number: try statement.integer(2, in: StoredRange.kinds))
        else { throw .damagedRow }
        var answers: [StoredAnswer] = []
        if let first = try part(statement, from: 3, name, kind, type: kind.type) { answers.append(first) }
        if let second = try part(statement, from: 6, name, kind, type: .aaaa) {
            guard kind.hasFamilies else { throw .damagedRow }
            answers.append(second)
        }
        guard !answers.isEmpty, answers.reduce(0, { $0 ^ $1.checksum }) == statement.bits(9) else { throw .damagedRow }
        return Row(id: id, answers: answers)
    }

    /// The answer whose time, facts and body are the columns from `column` on; nil where they are NULL.
    private func part(
        _ statement: borrowing SQLiteStatement, from column: Int32, _ name: Name, _ kind: RowKind, type: RecordType
    ) throws(SQLiteError) -> StoredAnswer? {
        guard !statement.isNull(column + 1) else { return nil }
        let storedAt = try statement.integer(column, in: StoredRange.times)
        let facts = try statement.integer(column + 1, in: 0 ... .max)
        let lifetime = facts & 0xf_ffff
        let code = ResponseCode(rawValue: UInt16(facts >> 21 & 15))
        guard StoredRange.ttls.contains(lifetime), let route = StoredRoute(rawValue: UInt16(facts >> 25 & 3)),
            let source = identities.text(of: facts >> 27 & StoredRange.texts.upperBound),
            let policy = identities.text(of: facts >> 45 & StoredRange.texts.upperBound)
        else { throw .damagedRow }
        let blob = statement.bytes(column + 2)
        guard blob.count > 6 else { throw .damagedRow }
        let numbers = (0..<3).map { UInt16(blob[$0 * 2]) << 8 | UInt16(blob[$0 * 2 + 1]) }
        let counts = PackedAnswer.SectionCounts(answer: numbers[0], authority: numbers[1], additional: numbers[2])
        guard
            let (answer, isNegative) = PackedAnswer.checked(
                Array(blob[6...]), responseCode: code, counts: counts,
                for: Question(name: name, type: type, class: kind.class)),
            answer.longestTTL <= StoredRange.ttls.upperBound, isNegative == (facts >> 20 & 1 == 1)
        else { throw .damagedRow }
        return StoredAnswer(
            name: name, type: type, class: kind.class, dnssecOK: kind.flags & 1 != 0,
            checkingDisabled: kind.flags & 2 != 0, answer: answer, isNegative: isNegative, storedAt: storedAt,
            lifetime: UInt32(lifetime), source: source, route: route, policy: policy)
    }
}
