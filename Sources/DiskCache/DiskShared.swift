import DNSCache
import DNSWire
import Platform
import Scheduling
import Synchronization

/// What the disk's thread shares with the threads that use the cache.
final class DiskShared: Sendable {
    /// What changes, under one lock.
    struct State {
        var pending = PendingChanges()
        var recalls: [Recall] = []
        /// The caller that waits until so many answers are loaded.
        var warming: (enough: Int, caller: Recall)?
        /// Callers that wait until what changed before is written.
        var settlements: [Settlement] = []
        var stateReaders: [CheckedContinuation<[StateRecord], Never>] = []
        /// Nil until a policy is in force: until then nothing is read into memory, nor written.
        var identity: PolicyIdentity?
        /// Whether the answers of the file may be read into memory before they are queried.
        var mayLoad = false
        var freshness: FreshnessPolicy
        var flushInterval: Duration
        var status = DiskStatus()
        /// When the oldest pending change was added, on the boot clock.
        var changedAt: Instant?
        /// Whether changes were taken that are not written yet.
        var isWriting = false
        /// The damage found by the check in the background.
        var damage: String?
        var isStopping = false
        var hasEnded = false
    }

    let state: Mutex<State>
    let settings: DiskSettings
    let memory: MemoryCache
    let clock: WallClock
    let report: @Sendable (DiskEvent) -> Void
    let wake: EventCounter
    /// Whether the file may have answers that memory does not.
    let hasMore = Atomic<Bool>(true)

    init(
        _ settings: DiskSettings, memory: MemoryCache, clock: WallClock, identity: PolicyIdentity?,
        freshness: FreshnessPolicy, report: @escaping @Sendable (DiskEvent) -> Void
    ) throws(SystemError) {
        self.settings = settings
        self.memory = memory
        self.clock = clock
        self.report = report
        state = Mutex(State(identity: identity, freshness: freshness, flushInterval: settings.flushInterval))
        wake = try EventCounter()
    }

    /// Stores the answers of a row in memory, but for those of which memory has one, or that must not be used any more.
    ///
    /// - Returns: how many were stored.
    func remember(_ row: AnswerFile.Row, from store: OpenStore) -> Int {
        let reading = clock.reading
        let isClockSound = store.knowsAge(of: row, at: reading)
        return row.answers.count { answer in
            remember(answer, reading, isClockSound: isClockSound) {
                store.mayBeYounger(answer, row: row.id, at: reading, $0)
            }
        }
    }

    /// - Parameter mayBeYounger: whether an answer that seems too old may be used as one of unknown age.
    private func remember(
        _ answer: StoredAnswer, _ reading: WallClock.Reading, isClockSound: Bool,
        mayBeYounger: (FreshnessPolicy) -> Bool
    ) -> Bool {
        let key = answer.key
        let bytes = key.array
        // Under the lock: a caller that removes answers notes it here first, and only then removes them from memory.
        return state.withLock { state in
            guard let identity = state.identity, state.pending.allows(bytes, answer),
                var entry = answer.entry(identity, reading, isClockSound: isClockSound)
            else { return false }
            if entry.freshness(at: reading.now, state.freshness) == .dead {
                guard mayBeYounger(state.freshness),
                    let stale = answer.entry(identity, reading, isClockSound: false),
                    stale.freshness(at: reading.now, state.freshness) != .dead
                else { return false }
                entry = stale
            }
            entry.refreshMargin = state.freshness.refreshMargin(lifetime: entry.lifetime)
            return memory.storeIfAbsent(entry, for: key)
        }
    }
}
