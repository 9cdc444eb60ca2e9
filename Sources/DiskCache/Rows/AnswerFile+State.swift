// The records in the file, beside the answers.

extension AnswerFile {
    /// Writes a record; replaces an older one with the same key.
    func write(_ record: StateRecord) throws(SQLiteError) {
        let statement = try connection.prepare(
            "INSERT OR REPLACE INTO state (kind, name, value, stored, checksum) VALUES (?, ?, ?, ?, ?)")
        try statement.run([
            .text(record.kind.rawValue), .text(record.name), .text(record.value), .integer(record.storedAt),
            .bits(record.checksum),
        ])
    }

    func remove(_ key: StateRecord.Key) throws(SQLiteError) {
        let statement = try connection.prepare("DELETE FROM state WHERE kind = ? AND name = ?")
        try statement.run([.text(key.kind.rawValue), .text(key.name)])
    }

    func removeStates(_ kind: StateRecord.Kind) throws(SQLiteError) {
        try connection.prepare("DELETE FROM state WHERE kind = ?").run([.text(kind.rawValue)])
    }

    /// Removes records that are too old or too many.
    ///
    /// - Parameter now: seconds since 1970.
    func tidyStates(now: Int64) throws(SQLiteError) {
        let old = try connection.prepare("DELETE FROM state WHERE kind = ? AND stored < ?")
        let excess = try connection.prepare(
            """
            DELETE FROM state WHERE kind = ?1
            AND name IN (SELECT name FROM state WHERE kind = ?1 ORDER BY stored DESC LIMIT -1 OFFSET ?2)
            """)
        for kind in StateRecord.Kind.allCases {
            try old.run([.text(kind.rawValue), .integer(now - kind.lifetime)])
            try excess.run([.text(kind.rawValue), .integer(kind.limit)])
        }
    }

    /// All records of the kinds that this version supports.
    func states() throws(SQLiteError) -> [StateRecord] {
        let statement = try connection.prepare("SELECT kind, name, value, stored, checksum FROM state LIMIT ?")
        try statement.bind([.integer(Int64(StateRecord.limit))])
        var records: [StateRecord] = []
        while try statement.step() {
            guard let kind = StateRecord.Kind(rawValue: statement.text(0)) else { continue }
            let record = StateRecord(
                kind, statement.text(1), value: statement.text(2),
                storedAt: try statement.integer(3, in: StoredRange.times))
            guard record.fits, record.checksum == statement.bits(4) else { throw .damagedRow }
            records.append(record)
        }
        return records
    }
}
