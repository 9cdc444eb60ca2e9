public import DNSCache
public import DNSWire
public import Platform
import Synchronization

/// The memory cache's answers on disk, so that they are available after a restart or a crash, and without a network.
///
/// All disk access is on its own thread. The methods may be called from any thread, take one short lock and never wait;
/// only `recall`, `states`, `settle` and `pause` suspend. When the disk cannot be used, the server continues in memory.
public final class DiskCache: Sendable {
    /// The longest wait of a query for the disk.
    public static let patience: Duration = .milliseconds(100)
    /// The longest wait for something to be written, which may be thousands of answers.
    public static let settlingPatience: Duration = .seconds(2)
    /// The least limit in bytes: some pages, and the write-ahead log beside them.
    public static let smallestLimit = 1 << 20
    /// So many answers are read in a quarter of a second where nothing else runs.
    private static let enough = 100_000

    /// What callers and the thread share.
    struct State {
        var pending = PendingChanges()
        /// When the oldest pending change was made, on the boot clock; nil: there is none.
        var changedAt: Instant?
        /// What callers want of the thread, in order.
        var jobs: [DiskJob] = []
        /// Nil until a policy is in force: until then nothing is read into memory, nor written.
        var policy: PolicyIdentity?
        /// Whether the answers of the file may be read into memory before they are queried.
        var mayLoad = false
        /// Whether policy or time of day are others than when this loading began, so that what it did not use may be usable.
        var hasOtherRules = false
        var status = DiskStatus()
        var isStopping = false
        var hasEnded = false

        mutating func change(_ body: (inout PendingChanges) -> Void) {
            body(&pending)
            changedAt = changedAt ?? .bootTime
        }
    }

    let state = Mutex(State())
    /// The path of the file.
    public let path: String
    let limit: Int
    let retry: ClosedRange<Duration>
    let memory: MemoryCache
    let clock: WallClock
    let report: @Sendable (DiskEvent) -> Void
    let wake: EventCounter
    private let ended: EventCounter
    /// Whether the file may have answers that memory does not.
    let hasMore = Atomic<Bool>(true)

    /// Opens the file, on the thread, while there is no policy yet.
    ///
    /// - Parameters:
    ///   - path: of the file; its folder is created if only that is missing.
    ///   - limit: the most bytes of answers in the file; beyond, the oldest are removed. At least `smallestLimit`.
    ///   - retry: the first and the longest delay before a file that cannot be used is tried again. Default 1 s to 1 min.
    ///   - memory: filled from the file, and the source of what is written again after a fault.
    ///   - isPaused: whether another process has the file: it is opened by `resume`.
    ///   - report: called on the disk's thread.
    /// - Throws: when the limit of descriptors is reached, or no thread can be created.
    public init(
        _ path: String, limit: Int, retry: ClosedRange<Duration> = .seconds(1) ... .seconds(60), memory: MemoryCache,
        clock: WallClock, isPaused: Bool = false, report: @escaping @Sendable (DiskEvent) -> Void
    ) throws(SystemError) {
        (self.path, self.limit, self.retry) = (path, max(limit, Self.smallestLimit), retry)
        (self.memory, self.clock, self.report) = (memory, clock, report)
        wake = try EventCounter()
        ended = try EventCounter()
        _ = try NamedThread("disk") { [self] in
            work(isPaused: isPaused)
            ended.post()
        }
    }

    /// Begins to read the file's answers into memory, the most recently used first. Called once the server answers:
    /// earlier the reading would take CPU time from the start-up.
    public func load() { tell { $0.mayLoad = true } }

    /// Begins the same before the server answers, and returns when enough answers are in memory, or no more can be read:
    /// how long that takes depends on what else the machine does. The time limit is for a disk that hangs.
    @Loop
    public func warm(clock: any LoopClock) async {
        load()
        await ask(atMost: (.seconds(1), clock), else: ()) { .load(Self.enough, $0) }
    }

    /// Writes all pending changes and closes the file, for another process to open it. Returns then, or after
    /// `settlingPatience`: a disk may hang. Until `resume` answers are cached in memory alone.
    @Loop
    public func pause(clock: any LoopClock) async {
        await ask(atMost: (Self.settlingPatience, clock), else: ()) { .pause($0) }
    }

    /// Opens the file again, before anything that is asked of it afterwards.
    public func resume() { tell { $0.jobs.append(.resume) } }

    /// Writes all pending changes, and closes the file. Blocks the thread until then, or for `limit`: a disk may hang for
    /// ever.
    public func stop(within limit: Duration = .seconds(2)) {
        tell { $0.isStopping = true }
        let deadline = Instant.bootTime + limit
        while !state.withLock({ $0.hasEnded }), Instant.bootTime < deadline {
            ended.wait(atMost: deadline - .bootTime)
        }
    }

    public var status: DiskStatus { state.withLock { $0.status } }

    /// Adds an answer that was just stored in memory, under the key of a question without a scope.
    public func store(_ entry: CacheEntry, for key: borrowing QueryKey) {
        let key = copy key
        change { $0.store(entry, for: key) }
    }

    /// Removes the answer under a key.
    public func remove(_ key: borrowing QueryKey) {
        let bytes = key.array
        change { $0.remove(bytes) }
    }

    /// Removes answers, including those that memory does not have. Called before they are removed from memory, so that none
    /// comes back from the file, and once more afterwards, for answers being written meanwhile.
    public func remove(_ removal: AnswerRemoval) { change { $0.remove(removal) } }

    private func change(_ body: (inout PendingChanges) -> Void) {
        let isDue = state.withLock { state in
            let before = (isEmpty: state.changedAt == nil, isLarge: state.pending.isLarge)
            state.change(body)
            return before.isEmpty || !before.isLarge && state.pending.isLarge
        }
        if isDue { wake.post() }
    }

    /// Whether the file may answer a query that memory cannot. One atomic load; may be called from any thread.
    public var mayRecall: Bool { hasMore.load(ordering: .acquiring) }

    /// Reads the answer under a key into memory, if the file has it, within `patience` on a clock.
    @Loop
    public func recall(_ key: QueryKey, clock: any LoopClock) async {
        guard mayRecall else { return }
        let key = key.array
        await ask(atMost: (Self.patience, clock), else: ()) { .lookUp(key, $0) }
    }

    /// Has the disk's thread do something for a caller, and waits for it, so long at most. Returns `value` after that, or at
    /// once when too many wait, or the cache has stopped.
    @Loop
    private func ask<Value: Sendable>(
        atMost limit: (patience: Duration, clock: any LoopClock)? = nil, else value: Value,
        _ job: (Waiter<Value>) -> DiskJob
    ) async -> Value {
        await withCheckedContinuation { (continuation: CheckedContinuation<Value, Never>) in
            let caller = Waiter(continuation)
            let job = job(caller)
            let isTaken = state.withLock { state in
                guard !state.isStopping, state.jobs.count < PendingChanges.limit else { return false }
                state.jobs.append(job)
                return true
            }
            guard isTaken else { return caller.finish(value) }
            if let limit { _ = limit.clock.schedule(after: limit.patience) { caller.finish(value) } }
            wake.post()
        }
    }

    /// Adopts another policy: from now on the file's answers are judged by it.
    public func adopt(_ policy: PolicyIdentity) {
        tell { state in
            state.policy = policy
            adoptOtherRules(&state)
        }
    }

    private func tell(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
        wake.post()
    }

    /// Notes that answers which were unusable may be usable now.
    func adoptOtherRules(_ state: inout State) {
        state.hasOtherRules = true
        hasMore.store(true, ordering: .releasing)
    }

    /// Has everything that has changed so far written now, within `settlingPatience` on a clock. Returns whether it is in
    /// the file, where the end of this process does no harm to it.
    @Loop
    public func settle(clock: any LoopClock) async -> Bool {
        await ask(atMost: (Self.settlingPatience, clock), else: false) { .settle($0) }
    }

    /// Stores a record; replaces an older one of its kind and name. One that is too long is not written.
    public func keep(_ record: StateRecord) { change { $0.keep(record) } }

    public func forget(_ kind: StateRecord.Kind, _ name: String) {
        change { $0.forget(StateRecord.Key(kind: kind, name: name)) }
    }

    /// Removes all records of a kind.
    public func forgetAll(_ kind: StateRecord.Kind) { change { $0.forgetAll(kind) } }

    /// All records of the previous run, once the file is open; none where it never can be opened, when the cache stops.
    @Loop
    public func states() async -> [StateRecord] {
        await ask(else: []) { .records($0) }
    }
}

/// What a caller wants of the disk's thread.
enum DiskJob: Sendable {
    /// That the answers of the row with the answer under a key are read into memory.
    case lookUp([UInt8], Waiter<Void>)
    /// To go on once so many answers are in memory, or no more can be read.
    case load(Int, Waiter<Void>)
    case settle(Waiter<Bool>)
    case records(Waiter<[StateRecord]>)
    /// Also where the caller has gone on.
    case pause(Waiter<Void>)
    case resume
}

/// A caller that waits for the disk's thread; resumed once, from any thread.
final class Waiter<Value: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Value, Never>?>

    init(_ continuation: CheckedContinuation<Value, Never>) { self.continuation = Mutex(continuation) }

    /// Whether it goes on, with or without what it waited for.
    var isFinished: Bool { continuation.withLock { $0 == nil } }

    func finish(_ value: Value) { continuation.withLock { $0.take() }?.resume(returning: value) }
}

/// An event of the disk cache that is reported to the operator.
public enum DiskEvent: Equatable, Sendable {
    /// The file cannot be used; answers are cached in memory only from now on.
    case unavailable(reason: String)
    /// The file is used again.
    case back
    /// The file was damaged or invalid, and a new one was started. Without a path it could not be renamed.
    case quarantined(path: String?, reason: String)
    /// The answers of the previous run are in memory; of those for which it has no room each is read when it is queried.
    case loaded(count: Int, isComplete: Bool)
}

/// The status of the disk cache.
public struct DiskStatus: Equatable, Sendable {
    public enum State: String, Sendable {
        case opening
        /// The answers of the previous run are being read.
        case loading
        case used
        /// Nothing is read or written now.
        case memoryOnly = "memory only"
    }

    public var state = State.opening
    /// The reason why it is not used; empty when it is.
    public var reason = ""
    /// Answers read from the file, at the start and for queries.
    public var loaded = 0
    /// Answers written.
    public var written = 0
}
