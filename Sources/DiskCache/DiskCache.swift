package import DNSCache
package import DNSWire
package import Platform
package import Scheduling
import Synchronization

/// The memory cache's answers on disk, so that a restart, a crash or a start without network still answers.
///
/// All that touches the disk happens on a thread of its own. Its methods may be called from any thread, take one short lock and
/// never wait; only `recall` and `states` suspend. When the disk cannot be used, everything goes on in memory.
package final class DiskCache: Sendable {
    /// What the thread and the others share.
    struct Shared {
        var pending = PendingChanges()
        var recalls: [Recall] = []
        var stateReaders: [CheckedContinuation<[StateRecord], Never>] = []
        /// Nil until a policy is in force: then nothing is read into memory, nor written.
        var identity: PolicyIdentity?
        /// Whether the answers of the file may be read into memory ahead of questions.
        var mayLoad = false
        var freshness: FreshnessPolicy
        var flushInterval: Duration
        var status = DiskStatus()
        /// When the oldest pending change came, on the boot clock.
        var changedAt: Instant?
        /// Whether changes were taken that are not written yet.
        var isWriting = false
        /// What a check in the background has found.
        var damage: String?
        var isStopping = false
        var hasEnded = false
    }

    /// How long a question waits for the disk at most.
    package static let patience: Duration = .milliseconds(100)

    let shared: Mutex<Shared>
    let settings: DiskSettings
    let memory: MemoryCache
    let clock: WallClock
    let report: @Sendable (DiskEvent) -> Void
    let wake: EventCounter
    private let ended: EventCounter
    /// Whether the file may hold answers that memory does not.
    let hasMore = Atomic<Bool>(true)
    private let thread = Mutex<NamedThread?>(nil)

    /// - Parameters:
    ///   - memory: filled from the file, and the source of what is written again after a fault.
    ///   - identity: of the policy in force; nil when `adopt` will tell it: the file is opened meanwhile.
    ///   - report: called on the disk's thread.
    /// - Throws: when the limit of descriptors is reached.
    package init(
        _ settings: DiskSettings, memory: MemoryCache, clock: WallClock, identity: PolicyIdentity? = nil,
        freshness: FreshnessPolicy, report: @escaping @Sendable (DiskEvent) -> Void
    ) throws(SystemError) {
        self.settings = settings
        self.memory = memory
        self.clock = clock
        self.report = report
        shared = Mutex(Shared(identity: identity, freshness: freshness, flushInterval: settings.flushInterval))
        wake = try EventCounter()
        ended = try EventCounter()
    }

    /// Opens the file, on the thread, and looks up in it what `recall` asks for.
    ///
    /// - Throws: when there can be no thread.
    package func start() throws(SystemError) {
        let started = try NamedThread("disk") { [self] in
            DiskThread(self).run()
            shared.withLock { $0.hasEnded = true }
            ended.post()
        }
        thread.withLock { $0 = started }
    }

    /// Begins to read the file's answers into memory, those used last first. Called once the server answers: before, the
    /// reading would take a processor from the start.
    package func load() {
        shared.withLock { $0.mayLoad = true }
        wake.post()
    }

    /// Has everything written that waits, and the file closed. Blocks its thread until then.
    ///
    /// - Parameter limit: how long at most: a disk may hang for ever.
    package func stop(within limit: Duration = .seconds(2)) {
        guard thread.withLock({ $0.take() }) != nil else { return }
        shared.withLock { $0.isStopping = true }
        wake.post()
        let deadline = Instant.bootTime + limit
        while !shared.withLock({ $0.hasEnded }), Instant.bootTime < deadline {
            ended.wait(atMost: Int32(clamping: (deadline - .bootTime).nanoseconds / 1_000_000 + 1))
        }
    }

    package var status: DiskStatus { shared.withLock { $0.status } }

    /// The file.
    package var path: String { settings.path }

    // MARK: Answers

    /// Takes an answer that memory has just got.
    package func store(_ entry: CacheEntry, for key: borrowing QueryKey) {
        let bytes = key.array
        change { $0.store(entry, for: bytes) }
    }

    /// Forgets the answer under a key.
    package func remove(_ key: borrowing QueryKey) {
        let bytes = key.array
        change { $0.remove(bytes) }
    }

    /// Forgets answers, those included that memory does not have. Called before memory forgets them, so that what is read
    /// from the file at this moment does not come back, and once more afterwards, for what was written at this moment.
    package func remove(_ removal: DiskRemoval) { change { $0.remove(removal) } }

    private func change(_ body: (inout PendingChanges) -> Void) {
        let isFirst = shared.withLock { shared in
            let wasLarge = shared.pending.isLarge
            body(&shared.pending)
            guard shared.changedAt == nil else { return !wasLarge && shared.pending.isLarge }
            shared.changedAt = .bootTime
            return true
        }
        if isFirst { wake.post() }
    }

    /// Whether a question that memory cannot answer may be answered by the file. One load; from any thread.
    package var mayRecall: Bool { hasMore.load(ordering: .acquiring) }

    /// Has the answer under a key put into memory, if the file has it.
    ///
    /// - Parameter clock: on which `patience` is measured.
    @Loop
    package func recall(_ key: QueryKey, clock: any LoopClock) async {
        guard mayRecall else { return }
        await withCheckedContinuation { continuation in
            let recall = Recall(key: key.array, continuation)
            let isTaken = shared.withLock { shared in
                guard shared.recalls.count < PendingChanges.limit, !shared.isStopping else { return false }
                shared.recalls.append(recall)
                return true
            }
            guard isTaken else { return recall.finish() }
            _ = clock.schedule(after: Self.patience) { recall.finish() }
            wake.post()
        }
    }

    // MARK: Policy

    /// Goes over to another policy: what the file has is measured by it from now on.
    package func adopt(_ identity: PolicyIdentity, _ freshness: FreshnessPolicy, flushInterval: Duration) {
        shared.withLock { shared in
            shared.identity = identity
            shared.freshness = freshness
            shared.flushInterval = flushInterval
        }
        // What was not to be used under the old policy may be now.
        hasMore.store(true, ordering: .releasing)
        wake.post()
    }

    // MARK: State

    /// Keeps a record in place of an older one of its kind and name; none that is too long.
    package func keep(_ record: StateRecord) {
        guard record.fits else { return }
        change { $0.keep(record) }
    }

    package func forget(_ kind: StateRecord.Kind, _ name: String) {
        change { $0.forget(StateRecord.Key(kind: kind, name: name)) }
    }

    /// Forgets all records of a kind.
    package func forgetAll(_ kind: StateRecord.Kind) { change { $0.forgetAll(kind) } }

    /// All records of the last time, once the file is open; none when it cannot be opened.
    package func states() async -> [StateRecord] {
        await withCheckedContinuation { continuation in
            let isTaken = shared.withLock { shared in
                guard !shared.isStopping else { return false }
                shared.stateReaders.append(continuation)
                return true
            }
            if isTaken { wake.post() } else { continuation.resume(returning: []) }
        }
    }
}
