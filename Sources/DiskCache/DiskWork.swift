import DNSCache
import Platform
import Scheduling
import Synchronization

/// What the callers of the disk cache and its thread share.
final class DiskWork: Sendable {
    /// What changes of it.
    struct State {
        var pending = PendingChanges()
        /// When the oldest pending change was made, on the boot clock; nil: there is none.
        var changedAt: Instant?
        /// What callers want of the thread, in order.
        var jobs: [DiskJob] = []
        /// Nil until a policy is in force: until then nothing is read into memory, nor written.
        var rules: DiskRules?
        /// Whether the answers of the file may be read into memory before they are queried.
        var mayLoad = false
        /// Whether policy or time of day are others than when this loading began, so that what it did not use may be usable.
        var hasOtherRules = false
        var status = DiskStatus()
        var isStopping = false
        var hasEnded = false

        /// Makes pending changes.
        mutating func change(_ body: (inout PendingChanges) -> Void) {
            body(&pending)
            changedAt = changedAt ?? .bootTime
        }
    }

    let state = Mutex(State())
    /// The path of the file.
    let path: String
    let limit: Int
    let retry: ClosedRange<Duration>
    let memory: MemoryCache
    let clock: WallClock
    let report: @Sendable (DiskEvent) -> Void
    let wake: EventCounter
    /// Whether the file may have answers that memory does not.
    let hasMore = Atomic<Bool>(true)

    /// - Throws: when the limit of descriptors is reached.
    init(
        _ path: String, limit: Int, retry: ClosedRange<Duration>, memory: MemoryCache, clock: WallClock,
        report: @escaping @Sendable (DiskEvent) -> Void
    ) throws(SystemError) {
        self.path = path
        self.limit = limit
        self.retry = retry
        self.memory = memory
        self.clock = clock
        self.report = report
        wake = try EventCounter()
    }

    /// Notes that answers which were unusable may be usable now.
    func adoptOtherRules(_ state: inout State) {
        state.hasOtherRules = true
        hasMore.store(true, ordering: .releasing)
    }
}

/// What a caller wants of the disk's thread.
enum DiskJob: Sendable {
    /// That the answers of the row with the answer under a key are read into memory.
    case lookUp([UInt8], Waiter<Void>)
    /// To go on once so many answers are in memory, or no more can be read.
    case load(Int, Waiter<Void>)
    /// That all that has changed is written, whatever the interval; it gets whether it is in the file.
    case settle(Waiter<Bool>)
    /// The records of what was learned, once the file is open.
    case records(Waiter<[StateRecord]>)
    /// That all is written and the file closed, for another process; also where the caller has gone on.
    case pause(Waiter<Void>)
    /// That the file is opened again.
    case resume
}

/// A caller that waits for the disk's thread; resumed once, from any thread.
final class Waiter<Value: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Value, Never>?>

    init(_ continuation: CheckedContinuation<Value, Never>) { self.continuation = Mutex(continuation) }

    /// Whether it goes on, with or without what it waited for.
    var isFinished: Bool { continuation.withLock { $0 == nil } }

    func finish(_ value: Value) { continuation.withLock { $0.take() }?.resume(returning: value) }

    /// Gives it what `make` returns, unless it goes on already: under a flood most do without the disk.
    func serve(_ make: () -> Value) { if !isFinished { finish(make()) } }
}

/// An event of the disk cache that is reported to the operator.
package enum DiskEvent: Equatable, Sendable {
    /// The file cannot be used; answers are cached in memory only from now on.
    case unavailable(reason: String)
    /// The file is used again.
    case back
    /// The file was damaged or invalid, and a new one was started.
    ///
    /// - Parameter path: its new path; nil when it could not be renamed.
    case quarantined(path: String?, reason: String)
    /// The answers of the previous run are in memory.
    ///
    /// - Parameter isComplete: false when memory has no room for all: the others are read when they are queried.
    case loaded(count: Int, isComplete: Bool)
}

/// The status of the disk cache.
package struct DiskStatus: Equatable, Sendable {
    package enum State: String, Sendable {
        case opening
        /// The answers of the previous run are being read.
        case loading
        case used
        /// Nothing is read or written now.
        case memoryOnly = "memory only"
    }

    package var state = State.opening
    /// The reason why it is not used; empty when it is.
    package var reason = ""
    /// Answers read from the file, at the start and for queries.
    package var loaded = 0
    /// Answers written.
    package var written = 0
}
