package import DNSCache
package import DNSWire
package import Platform
package import Scheduling
import Synchronization

/// The memory cache's answers on disk, so that they are available after a restart or a crash, and without a network.
///
/// All disk access is on its own thread. The methods may be called from any thread, take one short lock and never wait;
/// only `recall` and `states` suspend. When the disk cannot be used, the server continues in memory.
package final class DiskCache: Sendable {
    /// The state shared by the disk's thread and the others.
    struct Shared {
        var pending = PendingChanges()
        var recalls: [Recall] = []
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

    /// The longest wait of a query for the disk.
    package static let patience: Duration = .milliseconds(100)

    let shared: Mutex<Shared>
    let settings: DiskSettings
    let memory: MemoryCache
    let clock: WallClock
    let report: @Sendable (DiskEvent) -> Void
    let wake: EventCounter
    private let ended: EventCounter
    /// Whether the file may have answers that memory does not.
    let hasMore = Atomic<Bool>(true)
    private let thread = Mutex<NamedThread?>(nil)

    /// - Parameters:
    ///   - memory: filled from the file, and the source of what is written again after a fault.
    ///   - identity: of the policy in force; nil when `adopt` sets it later: the file is opened meanwhile.
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

    /// Opens the file, on the thread, and begins to serve `recall`.
    ///
    /// - Throws: when no thread can be created.
    package func start() throws(SystemError) {
        let started = try NamedThread("disk") { [self] in
            DiskThread(self).run()
            shared.withLock { $0.hasEnded = true }
            ended.post()
        }
        thread.withLock { $0 = started }
    }

    /// Begins to read the file's answers into memory, the most recently used first. Called once the server answers:
    /// earlier the reading would take CPU time from the start-up.
    package func load() {
        shared.withLock { $0.mayLoad = true }
        wake.post()
    }

    /// Writes all pending changes, and closes the file. Blocks the calling thread until then.
    ///
    /// - Parameter limit: the longest wait: a disk may hang for ever.
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

    /// The path of the file.
    package var path: String { settings.path }

    // MARK: Answers

    /// Adds an answer that was just stored in memory.
    package func store(_ entry: CacheEntry, for key: borrowing QueryKey) {
        let bytes = key.array
        change { $0.store(entry, for: bytes) }
    }

    /// Removes the answer under a key.
    package func remove(_ key: borrowing QueryKey) {
        let bytes = key.array
        change { $0.remove(bytes) }
    }

    /// Removes answers, including those that memory does not have. Called before they are removed from memory, so that
    /// answers being read from the file do not come back, and once more afterwards, for answers being written
    /// meanwhile.
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

    /// Whether the file may answer a query that memory cannot. One atomic load; may be called from any thread.
    package var mayRecall: Bool { hasMore.load(ordering: .acquiring) }

    /// Reads the answer under a key into memory, if the file has it.
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

    /// Adopts another policy: from now on the file's answers are judged by it.
    package func adopt(_ identity: PolicyIdentity, _ freshness: FreshnessPolicy, flushInterval: Duration) {
        shared.withLock { shared in
            shared.identity = identity
            shared.freshness = freshness
            shared.flushInterval = flushInterval
        }
        // Answers that were unusable under the old policy may be usable now.
        hasMore.store(true, ordering: .releasing)
        wake.post()
    }

    // MARK: State

    /// Stores a record; replaces an older one of its kind and name. Ignores one that is too long.
    package func keep(_ record: StateRecord) {
        guard record.fits else { return }
        change { $0.keep(record) }
    }

    package func forget(_ kind: StateRecord.Kind, _ name: String) {
        change { $0.forget(StateRecord.Key(kind: kind, name: name)) }
    }

    /// Removes all records of a kind.
    package func forgetAll(_ kind: StateRecord.Kind) { change { $0.forgetAll(kind) } }

    /// All records of the previous run, once the file is open; none when it cannot be opened.
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
