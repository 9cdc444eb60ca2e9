import DNSCache
import DNSWire

/// The open file: answers and records, read and written by one thread. Its format is documented in Documentation/Disk.md.
final class AnswerFile {
    /// The identifier of our files in SQLite's header ("hdns").
    static let applicationID: Int64 = 0x6864_6e73
    static let version: Int64 = 1
    /// In one transaction: so every header says which program owns the file. `auto_vacuum`, by which unused pages can be
    /// returned, can be set only before any write.
    private static let schema: StaticString = """
        BEGIN DEFERRED;
        PRAGMA auto_vacuum = INCREMENTAL;
        PRAGMA application_id = 0x68646e73;
        PRAGMA user_version = 1;
        CREATE TABLE answer (
            id INTEGER PRIMARY KEY, question BLOB NOT NULL UNIQUE, until INTEGER NOT NULL, value BLOB NOT NULL
        ) STRICT;
        CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
        COMMIT;
        """

    /// What follows a name in a row's question comes before this.
    private static let behindTails = [UInt8](repeating: 0xff, count: 6)

    let connection: SQLiteConnection
    private let find: SQLiteStatement
    private let page: SQLiteStatement
    private let insert: SQLiteStatement

    /// Opens the file, and creates it if there is none. Throws also for one of another program or another version.
    init(_ path: String) throws(SQLiteError) {
        let connection = try SQLiteConnection(path)
        if try connection.integer("PRAGMA page_count") == 0 { try connection.execute(Self.schema) }
        guard try connection.integer("PRAGMA application_id") == Self.applicationID else {
            throw SQLiteError(damaged: "it is not a cache of this program")
        }
        let version = try connection.integer("PRAGMA user_version") ?? 0
        guard version == Self.version else {
            throw SQLiteError(damaged: "it has format \(version), and this program's is \(Self.version)")
        }
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
        find = try connection.prepare("SELECT question, value, until FROM answer WHERE question = ?")
        page = try connection.prepare("SELECT question, value, id FROM answer WHERE id <= ? ORDER BY id DESC LIMIT ?")
        insert = try connection.prepare("INSERT OR REPLACE INTO answer (until, question, value) VALUES (?, ?, ?)")
        self.connection = connection
    }

    /// Writes changes of answers, each row as the newest, inside a transaction; after an error the file must be closed.
    /// What was stored before of one that changed goes, be the new one worth storing or not. Returns how many were written.
    func write(
        _ changes: [PendingChanges.Change], _ identity: PolicyIdentity, _ mark: ClockMark, _ reading: WallClock.Reading
    ) throws(SQLiteError) -> Int {
        let rows = changes.map(\.key.rowQuestion)
        // In the order of the file's index: so each of its pages is read and written once, and not for every answer that has
        // its place there. Of one key the last change stands last, since the sort is stable.
        var rest = rows.indices.sorted { rows[$0].question.lexicographicallyPrecedes(rows[$1].question) }[...]
        var written = 0
        while let question = rest.first.map({ rows[$0].question }) {
            let row = rest.prefix { rows[$0].question == question }
            rest = rest.dropFirst(row.count)
            let (other, six) = (row.last { !rows[$0].isSix }, row.last { rows[$0].isSix })
            // Mostly both address families change at once, and nothing has to be read.
            let old = other == nil || six == nil ? try self.row(of: question) : nil
            var until = old?.until
            var value: [UInt8] = []
            for (place, isSix) in [(other, false), (six, true)] {
                guard let place else {
                    let answer = old?.answers.first { $0.head.isSix == isSix }
                    answer.map { $0.head.append(to: &value, $0.answer.body) }
                    continue
                }
                guard let entry = changes[place].entry,
                    let head = AnswerHead(entry, isSix: isSix, identity, reading, epoch: mark.epoch)
                else { continue }
                head.append(to: &value, entry.answer.body)
                let usefulness = StoredAnswer.usefulness(lifetime: head.lifetime, identity.freshness)
                let end = reading.isPlausible ? mark.beginning(of: head.storedAt) + usefulness : 0
                until = until.map { min($0, end) == 0 ? 0 : max($0, end) } ?? end
                written += 1
            }
            guard !value.isEmpty else {
                try connection.run("DELETE FROM answer WHERE question = ?", .blob(question))
                continue
            }
            value.append(checksum(of: value, after: checksum(of: question)), bytes: checksumSize)
            try insert.run([.integer(until ?? 0), .blob(question), .blob(value)])
        }
        return written
    }

    func remove(_ removal: AnswerRemoval) throws(SQLiteError) {
        switch removal {
        case .all: try connection.execute("DELETE FROM answer")
        case .name(let name):
            let wire = name.lowercased.wire
            // A name ends in a zero: no other one begins with it.
            try connection.run(
                "DELETE FROM answer WHERE question BETWEEN ? AND ?", .blob(wire), .blob(wire + Self.behindTails))
        case .suffix(let suffix):
            try connection.run(
                "DELETE FROM answer WHERE substr(question, -(length(?1) + 5), length(?1)) = ?1",
                .blob(suffix.lowercased.wire))
        case .holding(let address):
            var ids: [Int64] = []
            let candidates = try connection.prepare("SELECT question, value, id FROM answer WHERE instr(value, ?) > 0")
            try candidates.bind([.blob(address.bytes)])
            while try candidates.step() {
                if answers(candidates)?.contains(where: { $0.answer.addresses.contains(address) }) ?? true {
                    ids.append(candidates.integer(2))
                }
            }
            let removal = try connection.prepare("DELETE FROM answer WHERE id = ?")
            for id in ids { try removal.run([.integer(id)]) }
        }
    }

    /// The answers of the row that has the answer under the bytes of a `QueryKey` without a scope: its own, and that of the
    /// other address family; none where there is no row that is as it was written.
    func find(_ key: [UInt8]) throws(SQLiteError) -> [StoredAnswer] {
        try row(of: key.rowQuestion.question)?.answers ?? []
    }

    private func row(of question: [UInt8]) throws(SQLiteError) -> (answers: [StoredAnswer], until: Int64)? {
        try find.bind([.blob(question)])
        defer { find.reset() }
        // Where the index is damaged, it may lead to the row of another question.
        guard try find.step(), find.bytes(0) == question, let answers = answers(find) else { return nil }
        return (answers, find.integer(2))
    }

    /// The answers of one name, by type.
    func answers(of name: Name) throws(SQLiteError) -> [StoredAnswer] {
        let wire = name.lowercased.wire
        let rows = try connection.prepare("SELECT question, value FROM answer WHERE question BETWEEN ? AND ?")
        try rows.bind([.blob(wire), .blob(wire + Self.behindTails)])
        var found: [StoredAnswer] = []
        while try rows.step() { found += answers(rows) ?? [] }
        return found.sorted { $0.question.type.rawValue < $1.question.type.rawValue }
    }

    /// The answers of the newest rows up to number `id`, the newest first, the row number to continue from, nil at the end,
    /// and how many rows are not as they were written.
    func page(from id: Int64, limit: Int) throws(SQLiteError) -> (answers: [StoredAnswer], next: Int64?, damaged: Int) {
        try page.bind([.integer(id), .integer(Int64(limit))])
        defer { page.reset() }
        var found: [StoredAnswer] = []
        var (count, damaged, last) = (0, 0, id)
        while try page.step() {
            let number = page.integer(2)
            // SQLite assumes that a page has its rows in order; where the order is damaged, no look-up succeeds.
            guard number < last || count == 0, number <= last else {
                throw SQLiteError(damaged: "rows are out of order")
            }
            (count, last) = (count + 1, number)
            if let answers = answers(page) { found += answers } else { damaged += 1 }
        }
        return (found, count == limit && last > .min ? last - 1 : nil, damaged)
    }

    /// Those of the current row, which begins with question and value; nil where it is not as it was written.
    private func answers(_ statement: borrowing SQLiteStatement) -> [StoredAnswer]? {
        StoredAnswer.read(statement.bytes(1), of: statement.bytes(0))
    }

    private func pages() throws(SQLiteError) -> (all: Int64, free: Int64) {
        (try connection.integer("PRAGMA page_count") ?? 0, try connection.integer("PRAGMA freelist_count") ?? 0)
    }

    /// Bytes of pages in use.
    func size() throws(SQLiteError) -> Int64 {
        let pages = try pages()
        return (pages.all - pages.free) * (try connection.integer("PRAGMA page_size") ?? 0)
    }

    /// Returns some unused pages to the file system when there are many. Called outside a transaction.
    func shrink() throws(SQLiteError) {
        let pages = try pages()
        if pages.free > max(1_024, pages.all / 4) { try connection.execute("PRAGMA incremental_vacuum(1024)") }
    }

    /// Removes those of `count` rows, from row number `id` on, that are of no use at `now`, in seconds since 1970. Returns
    /// the row number to continue from; the lowest one after the last row.
    func sweep(from id: Int64, count: Int64, now: Int64) throws(SQLiteError) -> Int64 {
        let next = try connection.prepare("SELECT id FROM answer WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?")
        try next.bind([.integer(id), .integer(count)])
        let end = try next.step() ? next.integer(0) : .max
        try connection.run(
            "DELETE FROM answer WHERE id >= ? AND id < ? AND until > 0 AND until < ?", .integer(id), .integer(end),
            .integer(now))
        return end == .max ? .min : end
    }

    /// Removes the `count` rows that were written first.
    func removeOldest(_ count: Int) throws(SQLiteError) {
        try connection.run(
            "DELETE FROM answer WHERE id IN (SELECT id FROM answer ORDER BY id LIMIT ?)", .integer(Int64(count)))
    }
}
