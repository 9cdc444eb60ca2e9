import DNSCache

extension AnswerFile {
    /// What is known about changes of the clock.
    struct ClockMark: Equatable {
        /// The time of day of the last writing, in seconds since 1970.
        var latest: Int64 = 0
        /// Answers up to this row number are of unknown age: the clock was set back after them.
        var distrusted: Int64 = 0
        /// The last time that it was set back; nil: it never was.
        var setBack: SetBack?

        /// Notes the time of day.
        ///
        /// - Parameters:
        ///   - seconds: since 1970, plausible.
        ///   - lastID: the number of the row written last.
        mutating func follow(_ seconds: Int64, lastID: Int64) {
            if seconds < latest {
                distrusted = lastID
                // Set back again, before it came to the later time: that is still the latest one known.
                if setBack.map({ $0.end != nil || $0.from < latest }) ?? true {
                    setBack = SetBack(from: latest, after: lastID)
                }
            } else if let open = setBack, open.end == nil, open.from <= seconds {
                setBack?.end = lastID
            }
            latest = seconds
        }

        /// Forgets the numbers of rows that are gone, which are given again.
        mutating func forgetRows(above lastID: Int64) {
            distrusted = min(distrusted, lastID)
            guard var known = setBack else { return }
            known.after = min(known.after, lastID)
            known.end = known.end.map { min($0, lastID) }
            setBack = known.end == known.after ? nil : known
        }
    }

    /// The clock was set back, and nothing in the file says which of its times was wrong.
    struct SetBack: Equatable {
        /// The time of day before, in seconds since 1970.
        var from: Int64
        /// The rows above this number were written since.
        var after: Int64
        /// And those up to this one before the clock came to `from` again; nil: it has not.
        var end: Int64?

        /// The time, in seconds since 1970, before which no answer of a row was stored if the time before was right, as it
        /// seems once the clock has come to it again; nil for another row.
        func earliest(of row: Int64) -> Int64? {
            guard let end, row > after, row <= end else { return nil }
            return from
        }
    }

    /// Reads the mark, which is stored beside the records under a kind of its own.
    func clockMark() throws(SQLiteError) -> ClockMark {
        let statement = try connection.prepare("SELECT name, stored, value, checksum FROM state WHERE kind = 'clock'")
        var mark = ClockMark()
        while try statement.step() {
            guard statement.text(0) == "written", let found = ClockMark(statement.text(2)) else { throw .damagedRow }
            mark = found
            mark.latest = try statement.integer(1, in: StoredRange.clock)
            guard mark.checksum == statement.bits(3) else { throw .damagedRow }
        }
        return mark
    }

    func write(_ mark: ClockMark) throws(SQLiteError) {
        let statement = try connection.prepare(
            "INSERT OR REPLACE INTO state (kind, name, value, stored, checksum) VALUES ('clock', 'written', ?, ?, ?)")
        try statement.run([.text(mark.text), .integer(mark.latest), .bits(mark.checksum)])
    }
}

extension AnswerFile.ClockMark {
    /// All but the time: the number of the last row of unknown age, and once the clock was set back, the time before, the
    /// row after which that was, and the last one before it came to that time again, or 0.
    fileprivate var text: String {
        setBack.map { "\(distrusted) \($0.from) \($0.after) \($0.end ?? 0)" } ?? "\(distrusted)"
    }

    fileprivate init?(_ text: String) {
        let fields = text.split(separator: " ", omittingEmptySubsequences: false)
        let numbers = fields.compactMap { Int64($0) }
        guard numbers.count == fields.count, [1, 4].contains(numbers.count),
            numbers.allSatisfy({ $0 == 0 || StoredRange.ids.contains($0) })
        else { return nil }
        distrusted = numbers[0]
        if numbers.count == 4 {
            guard StoredRange.clock.contains(numbers[1]) else { return nil }
            setBack = AnswerFile.SetBack(
                from: numbers[1], after: numbers[2], end: numbers[3] == 0 ? nil : numbers[3])
        }
    }

    fileprivate var checksum: UInt64 {
        var checksum = Checksum()
        checksum.add(latest)
        checksum.add(distrusted)
        if let setBack {
            checksum.add(setBack.from)
            checksum.add(setBack.after)
            checksum.add(setBack.end ?? 0)
        }
        return checksum.value
    }
}
