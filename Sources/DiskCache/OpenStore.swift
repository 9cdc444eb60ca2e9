import DNSCache
import DNSWire
import Platform
import Scheduling
import Synchronization

/// The open file, with the progress of loading and sweeping.
final class OpenStore {
    let file: AnswerFile
    let identity: StoreFolder.Identity?
    /// What the server had learned, when the file was opened.
    let learned: [StateRecord]
    /// Answers up to this row number are still to be loaded; nil when there are no more.
    var loadPosition: Int64? = .max
    /// Whether any answer was read to be loaded, and how many were stored in memory.
    var hasRead = false
    var loaded = 0
    private(set) var mark: ClockMark
    private var sweepPosition: Int64 = .min
    /// The numbers of the sources whose texts are in the file.
    private var sources: Set<UInt64>
    /// The latest time of day in the file when it was opened, and when that was. What is of no use any more is removed by
    /// this time, plus the time elapsed since: a clock that is ahead removes nothing.
    let certain: WallClock.Reading
    /// The last reading of the clocks.
    private var last: WallClock.Reading
    /// Whether the clock was set since the server started, so that answers stored before have another time of day now.
    var hasOtherTime = false
    /// How many records may be written until old ones are removed again.
    private var recordsLeft = 0
    private let clock: WallClock
    private let limit: Int64

    /// Rows looked at by each sweep.
    private static let sweepStep: Int64 = 1_024
    private static let recordsPerTidying = 1_000
    /// The most seconds by which the clock may deviate from the boot clock between two writes without counting as set.
    private static let drift: Int64 = 60
    /// Rows removed at once when the file has too many bytes.
    private static let removalStep = 1_024

    /// Opens a file that is ours, or empty.
    init(_ folder: StoreFolder, _ settings: DiskSettings, _ clock: WallClock) throws(SQLiteError) {
        self.clock = clock
        let reading = clock.reading
        last = reading
        limit = Int64(settings.limit)
        file = try AnswerFile(folder.path, system: settings.system)
        let records = try file.connection.records()
        learned = records.filter(\.kind.isLearned)
        sources = Set(records.lazy.filter { $0.kind == .source }.compactMap { UInt64($0.name, radix: 16) })
        let written = records.first { $0.kind == .clock }
        var mark = written.flatMap { ClockMark($0.value, latest: $0.storedAt) } ?? ClockMark()
        certain = WallClock.Reading(
            now: reading.now, secondsSince1970: mark.latest > 0 ? mark.latest : reading.secondsSince1970)
        if reading.isPlausible { mark.noteSetting(reading.secondsSince1970) }
        self.mark = mark
        identity = folder.identity
    }

    /// Stores answers in memory, but for those of which memory has one, or that must not be used any more.
    ///
    /// - Returns: how many were stored.
    func remember(_ answers: [StoredAnswer], in cache: DiskCache) -> Int {
        let reading = clock.reading
        return answers.count { remember($0, in: cache, reading) }
    }

    private func remember(_ answer: StoredAnswer, in cache: DiskCache, _ reading: WallClock.Reading) -> Bool {
        let key = answer.key
        let bytes = key.array
        // Under the lock: a caller that removes answers notes it here first, and only then removes them from memory.
        return cache.state.withLock { state in
            guard let identity = state.identity, state.pending.allows(bytes, answer),
                var entry = answer.entry(identity, reading, isAgeKnown: mark.knowsAge(of: answer, at: reading))
            else { return false }
            if entry.freshness(at: reading.now, state.freshness) == .dead {
                // It may have been stored by a clock that was behind.
                let usefulness = StoredAnswer.usefulness(lifetime: answer.head.lifetime, state.freshness)
                guard reading.secondsSince1970 <= mark.latestStoring(of: answer, at: reading) + usefulness,
                    let stale = answer.entry(identity, reading, isAgeKnown: false),
                    stale.freshness(at: reading.now, state.freshness) != .dead
                else { return false }
                entry = stale
            }
            entry.refreshMargin = state.freshness.refreshMargin(lifetime: entry.lifetime)
            return cache.memory.storeIfAbsent(entry, for: key)
        }
    }

    /// Writes changes in one transaction, and removes old answers and records where that is due. After an error the file must
    /// be closed.
    ///
    /// - Returns: how many answers were written.
    func write(
        _ changes: PendingChanges, _ identity: PolicyIdentity, _ freshness: FreshnessPolicy
    ) throws(SQLiteError) -> Int {
        let reading = clock.reading
        let change = reading.secondsSince1970 - last.secondsSince1970 - reading.seconds(since: last)
        last = reading
        if change.magnitude > Self.drift { hasOtherTime = true }
        let now = min(reading.secondsSince1970, certain.secondsSince1970 + reading.seconds(since: certain))
        if reading.isPlausible { mark.follow(reading.secondsSince1970) }
        let isTidying = recordsLeft <= changes.states.count && !changes.states.isEmpty && reading.isPlausible
        recordsLeft = isTidying ? Self.recordsPerTidying : recordsLeft - changes.states.count
        return try file.connection.transaction { () throws(SQLiteError) in
            if reading.isPlausible {
                sweepPosition = try file.sweep(from: sweepPosition, count: Self.sweepStep, now: now)
            }
            for removal in changes.removals { try file.remove(removal) }
            try file.connection.write(mark.record)
            for (tag, text) in identity.sources {
                guard let number = identity.numbers[tag], sources.insert(number).inserted else { continue }
                let name = String(number, radix: 16)
                try file.connection.write(StateRecord(.source, name, value: text, storedAt: reading.secondsSince1970))
            }
            let written = try file.write(changes.answers, identity, mark, reading, freshness)
            for kind in changes.forgottenKinds { try file.connection.removeRecords(kind) }
            for (key, record) in changes.states {
                if let record { try file.connection.write(record) } else { try file.connection.remove(key) }
            }
            if isTidying { try file.connection.tidyRecords(now: now) }
            if try file.size() > limit { try file.removeOldest(written.rows + Self.removalStep) }
            return written.answers
        }
    }
}
