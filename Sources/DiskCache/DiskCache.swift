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

    /// What is shared with the disk's thread, and changes.
    struct State {
        var pending = PendingChanges()
        /// Callers that wait until the answer under a key was looked up.
        var recalls: [(key: [UInt8], caller: Waiter<Void>)] = []
        /// The caller that waits until so many answers are loaded.
        var warming: (enough: Int, caller: Waiter<Void>)?
        /// Callers that wait until what changed before is written.
        var settlements: [Waiter<Bool>] = []
        var stateReaders: [Waiter<[StateRecord]>] = []
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
        self.settings = settings
        self.memory = memory
        self.clock = clock
        self.report = report
        state = Mutex(State(identity: identity, freshness: freshness, flushInterval: settings.flushInterval))
        wake = try EventCounter()
        ended = try EventCounter()
    }

    /// Opens the file, on the thread, and begins to serve `recall`.
    ///
    /// - Throws: when no thread can be created.
    package func start() throws(SystemError) {
        let started = try NamedThread("disk") { [self] in
            DiskThread(self).run()
            state.withLock { $0.hasEnded = true }
            ended.post()
        }
        thread.withLock { $0 = started }
    }

    /// Begins to read the file's answers into memory, the most recently used first. Called once the server answers:
    /// earlier the reading would take CPU time from the start-up.
    package func load() {
        state.withLock { $0.mayLoad = true }
        wake.post()
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
        await wait(atMost: (.seconds(1), clock), else: ()) { state, caller in
            (state.mayLoad, state.warming) = (true, (enough, caller))
            return true
        }
    }

    /// Writes all pending changes, and closes the file. Blocks the calling thread until then.
    ///
    /// - Parameter limit: the longest wait: a disk may hang for ever.
    package func stop(within limit: Duration = .seconds(2)) {
        guard thread.withLock({ $0.take() }) != nil else { return }
        state.withLock { $0.isStopping = true }
        wake.post()
        let deadline = Instant.bootTime + limit
        while !state.withLock({ $0.hasEnded }), Instant.bootTime < deadline {
            ended.wait(atMost: Int32(clamping: (deadline - .bootTime).nanoseconds / 1_000_000 + 1))
        }
    }

    package var status: DiskStatus { state.withLock { $0.status } }

    /// The path of the file.
    package var path: String { settings.path }

    // MARK: Answers

    /// Adds an answer that was just stored in memory, under the key of a question without a scope.
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
    package func remove(_ removal: AnswerRemoval) { change { $0.remove(removal) } }

    private func change(_ body: (inout PendingChanges) -> Void) {
        let isFirst = state.withLock { state in
            let wasLarge = state.pending.isLarge
            body(&state.pending)
            guard state.changedAt == nil else { return !wasLarge && state.pending.isLarge }
            state.changedAt = .bootTime
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
        await wait(atMost: (Self.patience, clock), else: ()) { state, caller in
            guard state.recalls.count < PendingChanges.limit else { return false }
            state.recalls.append((key.array, caller))
            return true
        }
    }

    /// Waits for the disk's thread.
    ///
    /// - Parameters:
    ///   - limit: the longest wait, on a clock; nil: none.
    ///   - value: returned after this time, or at once when `enter` refuses, or the cache has stopped.
    ///   - enter: puts the caller where the thread finds it.
    @Loop
    private func wait<Value: Sendable>(
        atMost limit: (patience: Duration, clock: any LoopClock)? = nil, else value: Value,
        _ enter: (inout State, Waiter<Value>) -> Bool
    ) async -> Value {
        await withCheckedContinuation { (continuation: CheckedContinuation<Value, Never>) in
            let caller = Waiter(continuation)
            guard state.withLock({ !$0.isStopping && enter(&$0, caller) }) else { return caller.finish(value) }
            if let limit { _ = limit.clock.schedule(after: limit.patience) { caller.finish(value) } }
            wake.post()
        }
    }

    /// Adopts another policy: from now on the file's answers are judged by it.
    package func adopt(_ identity: PolicyIdentity, _ freshness: FreshnessPolicy, flushInterval: Duration) {
        state.withLock { state in
            state.identity = identity
            state.freshness = freshness
            state.flushInterval = flushInterval
        }
        // Answers that were unusable under the old policy may be usable now.
        hasMore.store(true, ordering: .releasing)
        wake.post()
    }

    // MARK: State

    /// Has everything that has changed so far written now, without waiting for the interval.
    ///
    /// - Parameter clock: on which `settlingPatience` is measured.
    /// - Returns: whether it is in the file, where the end of this process does no harm to it; false where the file cannot be
    ///   used, or the disk is too slow.
    @Loop
    package func settle(clock: any LoopClock) async -> Bool {
        await wait(atMost: (Self.settlingPatience, clock), else: false) { state, caller in
            guard state.settlements.count < PendingChanges.limit else { return false }
            state.settlements.append(caller)
            return true
        }
    }

    /// Stores a record; replaces an older one of its kind and name. One that is too long is not written.
    package func keep(_ record: StateRecord) { change { $0.keep(record) } }

    package func forget(_ kind: StateRecord.Kind, _ name: String) {
        change { $0.forget(StateRecord.Key(kind: kind, name: name)) }
    }

    /// Removes all records of a kind.
    package func forgetAll(_ kind: StateRecord.Kind) { change { $0.forgetAll(kind) } }

    /// All records of the previous run, once the file is open; none where it never can be opened, when the cache stops.
    @Loop
    package func states() async -> [StateRecord] {
        await wait(else: []) { state, caller in
            state.stateReaders.append(caller)
            return true
        }
    }
}

/// A caller that waits for the disk's thread; resumed once, from any thread.
final class Waiter<Value: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Value, Never>?>

    init(_ continuation: CheckedContinuation<Value, Never>) { self.continuation = Mutex(continuation) }

    /// Whether it goes on, with or without what it waited for.
    var isFinished: Bool { continuation.withLock { $0 == nil } }

    func finish(_ value: Value) { continuation.withLock { $0.take() }?.resume(returning: value) }
}
