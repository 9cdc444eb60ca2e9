package import DNSCache
package import DNSWire
package import Platform
package import Scheduling
import Synchronization

/// The memory cache's answers on disk, so that they are available after a restart or a crash, and without a network.
///
/// All disk access is on its own thread. The methods may be called from any thread, take one short lock and never wait;
/// only `recall`, `states` and `settle` suspend. When the disk cannot be used, the server continues in memory.
package final class DiskCache: Sendable {
    /// The longest wait of a query for the disk.
    package static let patience: Duration = .milliseconds(100)
    /// The longest wait for something to be written, which may be thousands of answers.
    package static let settlingPatience: Duration = .seconds(2)

    let shared: DiskShared
    private let ended: EventCounter
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
        shared = try DiskShared(
            settings, memory: memory, clock: clock, identity: identity, freshness: freshness, report: report)
        ended = try EventCounter()
    }

    /// Opens the file, on the thread, and begins to serve `recall`.
    ///
    /// - Throws: when no thread can be created.
    package func start() throws(SystemError) {
        let started = try NamedThread("disk") { [self] in
            DiskThread(shared).run()
            shared.state.withLock { $0.hasEnded = true }
            ended.post()
        }
        thread.withLock { $0 = started }
    }

    /// Begins to read the file's answers into memory, the most recently used first. Called once the server answers:
    /// earlier the reading would take CPU time from the start-up.
    package func load() {
        shared.state.withLock { $0.mayLoad = true }
        shared.wake.post()
    }

    /// Begins the same before the server answers. Returns when all answers are in memory, or those used last, or none can
    /// be read.
    ///
    /// How long that takes depends on what else the machine does, so it is their number that is enough; the time limit is
    /// for a disk that hangs.
    ///
    /// - Parameter enough: as many as are read in a quarter of a second where nothing else runs.
    @Loop
    package func warm(enough: Int = 100_000, clock: any LoopClock) async {
        await withCheckedContinuation { continuation in
            let caller = Recall(key: [], continuation)
            shared.state.withLock { $0.warming = (enough, caller) }
            _ = clock.schedule(after: .seconds(1)) { caller.finish() }
            load()
        }
    }

    /// Writes all pending changes, and closes the file. Blocks the calling thread until then.
    ///
    /// - Parameter limit: the longest wait: a disk may hang for ever.
    package func stop(within limit: Duration = .seconds(2)) {
        guard thread.withLock({ $0.take() }) != nil else { return }
        shared.state.withLock { $0.isStopping = true }
        shared.wake.post()
        let deadline = Instant.bootTime + limit
        while !shared.state.withLock({ $0.hasEnded }), Instant.bootTime < deadline {
            ended.wait(atMost: Int32(clamping: (deadline - .bootTime).nanoseconds / 1_000_000 + 1))
        }
    }

    package var status: DiskStatus { shared.state.withLock { $0.status } }

    /// The path of the file.
    package var path: String { shared.settings.path }

    // MARK: Answers

    /// Adds an answer that was just stored in memory.
    package func store(_ entry: CacheEntry, for key: borrowing QueryKey) {
        let key = copy key
        change { $0.store(entry, for: key) }
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
        let isFirst = shared.state.withLock { state in
            let wasLarge = state.pending.isLarge
            body(&state.pending)
            guard state.changedAt == nil else { return !wasLarge && state.pending.isLarge }
            state.changedAt = .bootTime
            return true
        }
        if isFirst { shared.wake.post() }
    }

    /// Whether the file may answer a query that memory cannot. One atomic load; may be called from any thread.
    package var mayRecall: Bool { shared.hasMore.load(ordering: .acquiring) }

    /// Reads the answer under a key into memory, if the file has it.
    ///
    /// - Parameter clock: on which `patience` is measured.
    @Loop
    package func recall(_ key: QueryKey, clock: any LoopClock) async {
        guard mayRecall else { return }
        await withCheckedContinuation { continuation in
            let recall = Recall(key: key.array, continuation)
            let isTaken = shared.state.withLock { state in
                guard state.recalls.count < PendingChanges.limit, !state.isStopping else { return false }
                state.recalls.append(recall)
                return true
            }
            guard isTaken else { return recall.finish() }
            _ = clock.schedule(after: Self.patience) { recall.finish() }
            shared.wake.post()
        }
    }

    // MARK: Policy

    /// Adopts another policy: from now on the file's answers are judged by it.
    package func adopt(_ identity: PolicyIdentity, _ freshness: FreshnessPolicy, flushInterval: Duration) {
        shared.state.withLock { state in
            state.identity = identity
            state.freshness = freshness
            state.flushInterval = flushInterval
        }
        // Answers that were unusable under the old policy may be usable now.
        shared.hasMore.store(true, ordering: .releasing)
        shared.wake.post()
    }

    // MARK: State

    /// Has everything that has changed so far written now, without waiting for the interval.
    ///
    /// - Parameter clock: on which `settlingPatience` is measured.
    /// - Returns: whether it is in the file, where the end of this process does no harm to it; false where the file cannot be
    ///   used, or the disk is too slow.
    @Loop
    package func settle(clock: any LoopClock) async -> Bool {
        await withCheckedContinuation { continuation in
            let settlement = Settlement(continuation)
            let isTaken = shared.state.withLock { state in
                guard state.settlements.count < PendingChanges.limit, !state.isStopping else { return false }
                state.settlements.append(settlement)
                return true
            }
            guard isTaken else { return settlement.finish(isWritten: false) }
            _ = clock.schedule(after: Self.settlingPatience) { settlement.finish(isWritten: false) }
            shared.wake.post()
        }
    }

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

    /// All records of the previous run, once the file is open; none where it never can be opened, when the cache stops.
    package func states() async -> [StateRecord] {
        await withCheckedContinuation { continuation in
            let isTaken = shared.state.withLock { state in
                guard !state.isStopping else { return false }
                state.stateReaders.append(continuation)
                return true
            }
            if isTaken { shared.wake.post() } else { continuation.resume(returning: []) }
        }
    }
}
