import DNSCache
import DNSWire
import Platform
import Scheduling

/// Why the file could not be opened.
enum OpenFailure: Error {
    /// Another process has the lock.
    case inUse
    /// The file is another program's.
    case notOurs
    case system(SystemError)
    case database(SQLiteError)
}

/// The file while it is open, and how far it was read and swept.
final class OpenStore {
    let file: AnswerFile
    let identity: StoreFolder.Identity?
    /// As they were when it was opened.
    let states: [StateRecord]
    /// Answers up to this number are still to be loaded; nil when there are no more.
    var loadPosition: Int64?
    /// Answers read so far, and those of them that are in memory.
    var read = 0
    var loaded = 0
    /// Whether rows were found that are not as they were written.
    var isDamaged = false
    var check: SoundnessCheck?
    private(set) var mark: AnswerFile.ClockMark
    private var sweepPosition: Int64 = 0
    /// The latest time of day in the file when it was opened, and when that was: nil for one without. By so much, and the time
    /// since, answers have grown old for certain: a clock that is ahead makes none too old to be in the file.
    private var certain: WallClock.Reading?
    /// The last reading of the clocks.
    private var last: WallClock.Reading
    /// Whether the clock was set since the server began, and what was stored before has another time now.
    var hasOtherTime = false
    /// When it was opened, on the boot clock.
    let opened: Instant
    /// How many records may be written until the old ones are looked for.
    private var statesLeft = 0
    private let lock: FileLock
    private let clock: WallClock
    private let limit: Int64

    /// Answers that are looked at for their staleness with every flush.
    private static let sweepStep: Int64 = 2_048
    private static let statesPerTidying = 1_000
    /// Seconds by which the clock may differ from the boot clock from one writing to the next, and was not set.
    private static let drift: Int64 = 60
    /// Answers that go at once when there are too many bytes.
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
            // Nothing is left beside another program's file, no lock either.
            lock = owner == .us ? try FileLock.take(folder.lock) : nil
        } catch { throw .system(error) }
        guard owner == .us else { throw .notOurs }
        guard let lock else { throw .inUse }
        do throws(SQLiteError) {
            let file = try AnswerFile(folder.path, system: settings.system)
            var mark = try file.clockMark()
            let lastID = try file.lastID()
            if mark.latest > 0 { certain = WallClock.Reading(now: opened, secondsSince1970: mark.latest) }
            if reading.isPlausible, reading.secondsSince1970 < mark.latest {
                mark = AnswerFile.ClockMark(latest: reading.secondsSince1970, distrusted: lastID)
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

    /// Seconds since 1970 by which answers are too old to stay in the file.
    private func certainTime(at reading: WallClock.Reading) -> Int64 {
        let certain = certain ?? reading
        self.certain = certain
        return min(reading.secondsSince1970, certain.secondsSince1970 + reading.seconds(since: certain))
    }

    /// Takes notice of a clock that was set while the server runs.
    private func follow(_ reading: WallClock.Reading) {
        let change = reading.secondsSince1970 - last.secondsSince1970 - reading.seconds(since: last)
        last = reading
        if change.magnitude > Self.drift { hasOtherTime = true }
    }

    /// Writes changes in one transaction, and makes room where it is due.
    ///
    /// - Returns: how many answers were written.
    func write(
        _ changes: PendingChanges, _ identity: PolicyIdentity, _ freshness: FreshnessPolicy
    ) throws(SQLiteError) -> Int {
        let reading = clock.reading
        follow(reading)
        let now = reading.isPlausible ? certainTime(at: reading) : 0
        var written = 0
        var mark = mark
        var sweepPosition = sweepPosition
        let isTidying = statesLeft <= changes.states.count && !changes.states.isEmpty && reading.isPlausible
        try file.transaction { () throws(SQLiteError) in
            if reading.isPlausible {
                // Set back while running: what was written until now is of unknown age.
                if reading.secondsSince1970 < mark.latest { mark.distrusted = try file.lastID() }
                mark.latest = reading.secondsSince1970
                try file.write(mark)
                // Not before all were read: one written without a clock is of unknown age, and looks ancient here.
                if loadPosition == nil {
                    sweepPosition = try file.sweep(
                        from: sweepPosition, count: Self.sweepStep, now: now, freshness)
                }
            }
            for removal in changes.removals { try file.remove(removal) }
            for change in changes.answers {
                guard let entry = change.entry else {
                    try file.remove(change.key)
                    continue
                }
                guard let row = StoredAnswer(entry, key: change.key, identity, reading) else { continue }
                try file.write(row)
                written += 1
            }
            for kind in changes.forgottenKinds { try file.removeStates(kind) }
            for (key, record) in changes.states {
                if let record { try file.write(record) } else { try file.remove(key) }
            }
            if isTidying { try file.tidyStates(now: now) }
            if try file.size() > limit { try file.removeOldest(written + Self.removalStep) }
            if try sweepPosition > file.lastID() { sweepPosition = 0 }
        }
        self.mark = mark
        self.sweepPosition = sweepPosition
        statesLeft = isTidying ? Self.statesPerTidying : statesLeft - changes.states.count
        return written
    }
}
