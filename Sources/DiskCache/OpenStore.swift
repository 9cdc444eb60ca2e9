import DNSCache
import DNSWire
import Platform
import Synchronization

/// The open file, with the progress of loading and sweeping.
final class OpenStore {
    let file: AnswerFile
    /// `StoreFolder.identity`.
    let identity: [UInt64]?
    /// The records in the file, so that one which takes its place can have them, too.
    private(set) var records: [StateRecord.Key: StateRecord]
    /// Answers up to this row number are still to be loaded; nil when there are no more.
    private(set) var loadPosition: Int64? = .max
    /// How many of them were stored in memory; nil until there was one to load.
    private(set) var loaded: Int?
    private var mark: ClockMark
    private var sweepPosition: Int64 = .min
    /// The latest time of day in the file when it was opened, and when that was. What is of no use any more is removed by
    /// this time, plus the time elapsed since: a clock that is ahead removes nothing.
    private let certain: WallClock.Reading
    private var last: WallClock.Reading
    /// Whether the clock was set since the server started, so that answers stored before have another time of day now.
    private var hasOtherTime = false
    private let clock: WallClock
    private let limit: Int64

    /// Rows looked at by each sweep; and those removed at once when the file has too many bytes.
    private static let (sweepStep, removalStep): (Int64, Int) = (1_024, 1_024)
    /// The most seconds by which the clock may deviate from the boot clock between two writes without counting as set.
    private static let drift: Int64 = 60

    init(_ folder: StoreFolder, limit: Int, _ clock: WallClock) throws(SQLiteError) {
        self.clock = clock
        let reading = clock.reading
        last = reading
        self.limit = Int64(limit)
        file = try AnswerFile(folder.path)
        records = try file.connection.records()
        let written = records[StateRecord.Key(kind: .clock, name: "")]
        var mark = written.flatMap { ClockMark($0.value, latest: $0.storedAt) } ?? ClockMark()
        certain = WallClock.Reading(
            now: reading.now, secondsSince1970: mark.latest > 0 ? mark.latest : reading.secondsSince1970)
        if reading.isPlausible { mark.noteSetting(reading.secondsSince1970) }
        self.mark = mark
        identity = folder.identity
    }

    /// Reads the next answers into memory. Returns at the end whether these were all, and nil before.
    func load(_ limit: Int, into cache: DiskCache) throws(SQLiteError) -> Bool? {
        guard let position = loadPosition else { return nil }
        let (answers, next, _) = try file.page(from: position, limit: limit)
        let before = cache.memory.statistics.entries
        let cached = remember(answers, in: cache)
        let grown = cache.memory.statistics.entries - before
        if !answers.isEmpty { loaded = (loaded ?? 0) + cached }
        // Further answers would evict those read before, and are used less.
        let isFull = grown < cached - cached / 8
        loadPosition = isFull ? nil : next
        return loadPosition == nil ? !isFull : nil
    }

    /// Stores answers in memory, but for those that it has, or that must not be used. Returns how many were stored.
    func remember(_ answers: [StoredAnswer], in cache: DiskCache) -> Int {
        let reading = clock.reading
        return answers.count { answer in
            let (key, lifetime) = (answer.key, answer.head.lifetime)
            let bytes = key.array
            // Under the lock: a caller that removes answers notes it here first, and only then removes them from memory.
            return cache.state.withLock { state in
                guard let policy = state.policy, state.pending.allows(bytes, answer) else { return false }
                let usefulness = StoredAnswer.usefulness(lifetime: lifetime, policy.freshness)
                let age = mark.age(of: answer.head, at: reading, usefulness: usefulness)
                guard var entry = answer.entry(policy, reading.now, age: age),
                    entry.freshness(at: reading.now, policy.freshness) != .dead
                else { return false }
                entry.refreshMargin = policy.freshness.refreshMargin(lifetime: lifetime)
                guard cache.memory.storeIfAbsent(entry, for: key) else { return false }
                state.status.loaded += 1
                return true
            }
        }
    }

    /// Writes changes, or after a fault also all entries of memory. After an error the file must be closed. Returns how
    /// many answers were written, and whether the clock was set since the server started.
    func write(
        _ changes: PendingChanges, of memory: MemoryCache, _ policy: PolicyIdentity, isSynced: Bool
    ) throws(SQLiteError) -> (written: Int, hasOtherTime: Bool) {
        // Outside of a transaction. Each commit that is synced to the disk outlasts a crash of the machine too.
        try file.connection.execute(isSynced ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
        var written = try write(changes, policy)
        let hadOtherTime = hasOtherTime
        if hasOtherTime {
            // What was stored by the wrong time is written again by the right one.
            hasOtherTime = false
            written += try writeAll(of: memory, since: certain.now, policy)
        }
        if changes.needsAll { written += try writeAll(of: memory, policy) }
        try file.shrink()
        return (written, hadOtherTime)
    }

    /// Writes changes in one transaction, and removes old answers and records where that is due. Returns how many were written.
    private func write(_ changes: PendingChanges, _ policy: PolicyIdentity) throws(SQLiteError) -> Int {
        let reading = clock.reading
        let change = reading.secondsSince1970 - last.secondsSince1970 - reading.seconds(since: last)
        last = reading
        let now = min(reading.secondsSince1970, certain.secondsSince1970 + reading.seconds(since: certain))
        let epoch = mark.epoch
        if reading.isPlausible { mark.follow(reading.secondsSince1970) }
        // In another epoch the age of what was written before is not known.
        if change.magnitude > Self.drift || mark.epoch != epoch { hasOtherTime = true }
        return try file.connection.transaction { () throws(SQLiteError) in
            sweepPosition = try file.sweep(from: sweepPosition, count: Self.sweepStep, now: now)
            try put(mark.record)
            for (tag, number) in policy.numbers {
                let key = StateRecord.Key(ofSource: number)
                guard records[key] == nil else { continue }
                let text = policy.sources[tag] ?? ""
                try put(StateRecord(key.kind, key.name, value: text, storedAt: reading.secondsSince1970))
            }
            for removal in changes.removals { try file.remove(removal) }
            let written = try file.write(changes.answers, policy, mark, reading)
            try write(changes, now: now)
            if try file.size() > limit { try file.removeOldest(written + Self.removalStep) }
            return written
        }
    }

    /// Writes all entries of a cache that were stored since `start`, in several transactions. Returns how many answers.
    private func writeAll(
        of memory: MemoryCache, since start: Instant = Instant(nanoseconds: .min), _ policy: PolicyIdentity
    ) throws(SQLiteError) -> Int {
        var (changes, written) = (PendingChanges(), 0)
        var cursor: CacheCursor? = .start
        while let place = cursor {
            let step = memory.walk(from: place) { _ in true }
            for answer in step.answers where answer.scope == nil && answer.entry.storedAt >= start {
                changes.store(answer.entry, for: answer.key())
                // Of more than may wait some would be left out.
                guard changes.isLarge else { continue }
                written += try write(changes, policy)
                changes.removeAll()
            }
            cursor = step.next
        }
        return try written + write(changes, policy)
    }

    /// Writes changes of records, and removes those that are too old or too many.
    private func write(_ changes: PendingChanges, now: Int64) throws(SQLiteError) {
        for key in records.keys where changes.forgottenKinds.contains(key.kind) { try remove(key) }
        for (key, record) in changes.states {
            if let record { try put(record) } else { try remove(key) }
        }
        if changes.states.isEmpty { return }
        for (kind, records) in Dictionary(grouping: records.values, by: \.kind) {
            let newest = records.sorted { $0.storedAt > $1.storedAt }
            for (index, record) in newest.enumerated()
            where index >= kind.limit || record.storedAt < now - min(kind.lifetime, now) {
                try remove(record.key)
            }
        }
    }

    private func put(_ record: StateRecord) throws(SQLiteError) {
        guard let record = record.made else { return }
        records[record.key] = record
        try file.connection.write(record)
    }

    private func remove(_ key: StateRecord.Key) throws(SQLiteError) {
        records[key] = nil
        try file.connection.run("DELETE FROM state WHERE key = ?", .text(key.text))
    }
}
