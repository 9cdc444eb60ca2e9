import DNSCache
import DNSWire
import Platform
import Scheduling

/// The reason why the file could not be opened.
enum OpenFailure: Error {
    /// Another process holds the lock.
    case inUse
    /// The file belongs to another program.
    case notOurs
    case system(SystemError)
    case database(SQLiteError)
}

/// The open file, with the progress of loading and sweeping.
final class OpenStore {
    let file: AnswerFile
    let identity: StoreFolder.Identity?
    /// The records in the file when it was opened.
    let states: [StateRecord]
    /// Answers up to this row number are still to be loaded; nil when there are no more.
    var loadPosition: Int64?
    /// Answers read so far, and those of them that were stored in memory.
    var read = 0
    var loaded = 0
    /// Whether damaged rows were found.
    var isDamaged = false
    var check: SoundnessCheck?
    private(set) var mark: AnswerFile.ClockMark
    private var sweepPosition: Int64 = 0
    /// The latest time of day in the file when it was opened, and when that was; nil for a file without one. The age of
    /// an answer by this time, plus the time elapsed since, is certain: a clock that is ahead makes no answer too old
    /// for the file.
    private var certain: WallClock.Reading?
    /// The last reading of the clocks.
    private var last: WallClock.Reading
    /// Whether the clock was set since the server started, so that answers stored before have another time of day now.
    var hasOtherTime = false
    /// When it was opened, on the boot clock.
    let opened: Instant
    /// How many records may be written until old ones are removed again.
    private var statesLeft = 0
    private let lock: FileLock
    private let clock: WallClock
    private let limit: Int64

    /// Answers checked for staleness with every flush.
    private static let sweepStep: Int64 = 2_048
    private static let statesPerTidying = 1_000
    /// The most seconds by which the clock may deviate from the boot clock between two writes without counting as set.
    private static let drift: Int64 = 60
    /// Rows removed at once when the file has too many bytes.
    private static let removalStep = 1_024

    init(_ folder: StoreFolder, _ settings: DiskSettings, _ clock: WallClock) throws(OpenFailure) {
        self.clock = clock
        let reading = clock.reading
        (last, opened) = (reading, reading.now)
        limit = Int64(settings.limit)
        let owner: FileOwner
        let lock: FileLock?
        do throws(SystemError) {
            try folder.prepare()
            owner = try FileOwner(of: folder.path)
            // No file is created beside another program's file, not even a lock.
            lock = owner == .us ? try FileLock.take(folder.lock) : nil
        } catch { throw .system(error) }
        guard owner == .us else { throw .notOurs }
        guard let lock else { throw .inUse }
        do throws(SQLiteError) {
            let file = try AnswerFile(folder.path, system: settings.system)
            var mark = try file.clockMark()
            let lastID = try file.lastID()
            if mark.latest > 0 { certain = WallClock.Reading(now: opened, secondsSince1970: mark.latest) }
            if reading.isPlausible {
                let latest = mark.latest
                mark.follow(reading.secondsSince1970, lastID: lastID)
                mark.latest = min(latest, reading.secondsSince1970)
            }
            states = try file.states()
            // Not from the last number on: where the last page is damaged, SQLite may find another one.
            loadPosition = .max
            self.mark = mark
            self.file = file
        } catch { throw .database(error) }
        folder.removeIndex()
        identity = folder.identity
        self.lock = lock
    }

    /// Whether the time since a row was written is known.
    func knowsAge(of row: AnswerFile.Row, at reading: WallClock.Reading) -> Bool {
        row.id > mark.distrusted && reading.secondsSince1970 >= mark.latest
    }

    /// Whether an answer that is too old by its own time may have been stored by a clock that was behind.
    ///
    /// - Parameter row: the number of its row.
    func mayBeYounger(
        _ answer: StoredAnswer, row: Int64, at reading: WallClock.Reading, _ freshness: FreshnessPolicy
    ) -> Bool {
        guard let earliest = mark.setBack?.earliest(of: row) else { return false }
        var younger = answer
        younger.storedAt = max(answer.storedAt, earliest)
        return !younger.isPast(at: reading.secondsSince1970, freshness)
    }

    /// The time, in seconds since 1970, by which answers are judged too old for the file.
    private func certainTime(at reading: WallClock.Reading) -> Int64 {
        let certain = certain ?? reading
        self.certain = certain
        return min(reading.secondsSince1970, certain.secondsSince1970 + reading.seconds(since: certain))
    }

    /// Detects that the clock was set while the server runs.
    private func follow(_ reading: WallClock.Reading) {
        let change = reading.secondsSince1970 - last.secondsSince1970 - reading.seconds(since: last)
        last = reading
        if change.magnitude > Self.drift { hasOtherTime = true }
    }

    /// Writes changes in one transaction, and removes old answers and records where that is due.
    ///
    /// - Returns: how many answers were written.
    func write(
        _ changes: PendingChanges, _ identity: PolicyIdentity, _ freshness: FreshnessPolicy
    ) throws(SQLiteError) -> Int {
        let reading = clock.reading
        follow(reading)
        let now = reading.isPlausible ? certainTime(at: reading) : 0
        // Not before all were read: an answer written without a valid clock is of unknown age, and would look very old here.
        let mayRemoveOld = reading.isPlausible && loadPosition == nil
        var written = (answers: 0, rows: 0)
        var mark = mark
        var sweepPosition = sweepPosition
        let isTidying = statesLeft <= changes.states.count && !changes.states.isEmpty && reading.isPlausible
        try file.transaction { () throws(SQLiteError) in
            if reading.isPlausible {
                // Set back while running: the age of what was written until now is unknown.
                mark.follow(reading.secondsSince1970, lastID: try file.lastID())
                if mayRemoveOld {
                    sweepPosition = try file.sweep(
                        from: sweepPosition, count: Self.sweepStep, now: now, freshness, mark.setBack)
                }
            }
            for removal in changes.removals { try file.remove(removal) }
            // The numbers of rows that are gone are given again.
            if !changes.removals.isEmpty { mark.forgetRows(above: try file.lastID()) }
            if reading.isPlausible || mark != self.mark { try file.write(mark) }
            written = try file.write(changes.answers, identity, reading, distrusted: mark.distrusted) {
                mayRemoveOld && $0.isPast(at: now, freshness)
            }
            for kind in changes.forgottenKinds { try file.removeStates(kind) }
            for (key, record) in changes.states {
                guard let record = record?.made else {
                    try file.remove(key)
                    continue
                }
                if record.fits { try file.write(record) }
            }
            if isTidying { try file.tidyStates(now: now) }
            if try file.size() > limit { try file.removeOldest(written.rows + Self.removalStep) }
            if try sweepPosition > file.lastID() { sweepPosition = 0 }
        }
        self.mark = mark
        self.sweepPosition = sweepPosition
        statesLeft = isTidying ? Self.statesPerTidying : statesLeft - changes.states.count
        return written.answers
    }
}
