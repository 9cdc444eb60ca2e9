import DNSCache
import DNSWire
import Platform
import Synchronization

extension DiskCache {
    /// Does the thread's work, until the cache is stopped.
    func work(isPaused: Bool) { DiskThread(self, isPaused: isPaused).run() }
}

/// The work of the disk's thread: opens, loads, looks up and writes; and tries again after a fault.
final class DiskThread {
    private let cache: DiskCache
    private let folder: StoreFolder
    private var open: OpenStore?
    /// The records of the file that was open last.
    private var records: [StateRecord.Key: StateRecord] = [:]
    private var backoff: Backoff
    private var replacedAt: Instant?
    /// Those that are being written; else none, with room for the next ones.
    private var changes = PendingChanges()
    /// Whether all that had changed by the last write outlasts a crash of the machine.
    private var isSynced = false
    private var isPaused: Bool
    /// What callers want, as far as it was taken from the others, in order.
    private var jobs: ArraySlice<DiskJob> = []
    /// Callers that wait for the records of the file, until there is one.
    private var readers: [Waiter<[StateRecord]>] = []

    /// Rows that are read, and jobs of callers that are done, in one go: less than a millisecond, so that a query does not
    /// wait for the loading, nor a write for a flood of queries.
    private static let few = 128

    init(_ cache: DiskCache, isPaused: Bool) {
        self.isPaused = isPaused
        self.cache = cache
        folder = StoreFolder(path: cache.path)
        backoff = Backoff(cache.retry)
    }

    func run() {
        while true {
            let isStopping = cache.state.withLock { $0.isStopping }
            if open == nil, !isPaused, backoff.nextProbe.map({ $0 <= .bootTime && !isStopping }) ?? true { openFile() }
            if isStopping { return finish() }
            let isMore = doJobs()
            if !flushIfDue(), !load(), !isMore { wait() }
        }
    }

    private func finish() {
        if cache.state.withLock({ $0.changedAt != nil }) { flush() }
        while doJobs() {}
        open = nil
        for reader in readers { reader.finish([]) }
        cache.state.withLock { $0.hasEnded = true }
    }

    /// Does some of what callers wait for. Returns whether there was anything to do.
    private func doJobs() -> Bool {
        // All at once: the lock is not held for longer where there are many.
        if jobs.isEmpty {
            var all: [DiskJob] = []
            cache.state.withLock { swap(&$0.jobs, &all) }
            jobs = all[...]
        }
        let turn = jobs.prefix(Self.few)
        jobs = jobs.dropFirst(turn.count)
        for job in turn { perform(job) }
        return !turn.isEmpty
    }

    private func perform(_ job: DiskJob) {
        switch job {
        // Under a flood most callers go on without the disk.
        case .lookUp(let key, let caller): if !caller.isFinished { caller.finish(lookUp(key)) }
        case .load(let enough, let caller): tellLoaded(caller, enough)
        case .settle(let caller): if !caller.isFinished { caller.finish(settle()) }
        case .records(let caller): tell(caller)
        case .pause(let caller):
            flush()
            close()
            isPaused = true
            caller.finish(())
        case .resume:
            guard isPaused else { return }
            isPaused = false
            openFile()
        }
    }

    private func wait() {
        let due = open == nil ? backoff.nextProbe : writingDue
        // Real time: the thread's waits do not depend on the clock of the answers.
        cache.wake.wait(atMost: isPaused ? nil : due.map { $0 - .bootTime })
    }

    private var notOurs: String { "\(folder.path) is not a cache of this program, and left as it is" }

    private func openFile() {
        do throws(SystemError) {
            try folder.prepare()
            guard try StoreFolder.isOurs(folder.path) else { return fail(notOurs) }
        } catch {
            return fail("\(error)")
        }
        do throws(SQLiteError) {
            let store = try OpenStore(folder, limit: cache.limit, cache.clock)
            // What takes the place of another file has the records of that one.
            var missing = PendingChanges()
            for (key, record) in records where key.kind.isLearned && store.records[key] == nil { missing.keep(record) }
            if !missing.states.isEmpty { cache.state.withLock { state in state.change { $0.putBack(missing) } } }
            open = store
        } catch {
            return error.isBusy ? fail("another process uses \(folder.path)") : fail(error)
        }
        cache.hasMore.store(true, ordering: .releasing)
        // After a fault only a write shows whether the file is usable again.
        if cache.state.withLock({ $0.pending.needsAll && $0.policy != nil }), !flush() { return }
        backoff.succeeded()
        if enter(.loading) { cache.report(.back) }
        for reader in readers { tell(reader) }
        readers = []
    }

    private func fail(_ reason: String) {
        close()
        cache.hasMore.store(false, ordering: .releasing)
        cache.state.withLock { state in state.change { $0.needsAll = true } }
        backoff.failed(at: .bootTime)
        if !enter(.memoryOnly, reason) { cache.report(.unavailable(reason: reason)) }
    }

    /// Says how the file is used. Returns whether it could not be used before.
    private func enter(_ state: DiskStatus.State, _ reason: String = "") -> Bool {
        cache.state.withLock { shared in
            defer { (shared.status.state, shared.status.reason) = (state, reason) }
            return shared.status.state == .memoryOnly
        }
    }

    private func fail(_ error: SQLiteError) {
        if error.isDamage { replaceFile(because: "\(error)") } else { fail("\(folder.path): \(error)") }
    }

    /// Renames the file and starts a new one at once; but not repeatedly, when the disk itself is failing.
    private func replaceFile(because reason: String) {
        // A file that was opened is ours, whatever its header is now; but it may have been replaced.
        let isOpened = open.map { $0.identity == folder.identity } ?? false
        if !isOpened, (try? StoreFolder.isOurs(folder.path)) != true { return fail(notOurs) }
        let now = Instant.bootTime
        if let replacedAt, now - replacedAt < cache.retry.upperBound { return fail("\(folder.path): \(reason)") }
        replacedAt = now
        close()
        let target = folder.quarantine()
        cache.report(.quarantined(path: target, reason: reason))
        cache.state.withLock { state in state.change { $0.needsAll = true } }
        openFile()
    }

    private func close() {
        records = open?.records ?? records
        (open, isSynced) = (nil, false)
    }

    private func tell(_ reader: Waiter<[StateRecord]>) {
        guard let open else { return readers.append(reader) }
        reader.finish(open.records.values.filter(\.kind.isLearned))
    }

    private func lookUp(_ key: [UInt8]) {
        guard let open else { return }
        do throws(SQLiteError) {
            _ = open.remember(try open.file.find(key), in: cache)
        } catch {
            fail(error)
        }
    }

    /// Resumes a caller once so many answers are in memory, or no more can be read. Until then it is asked again in each turn,
    /// so that a long file, or a slow disk, keeps nothing else waiting.
    private func tellLoaded(_ caller: Waiter<Void>, _ enough: Int) {
        let isWaitedFor = cache.state.withLock { state in
            let isLoading = open?.loadPosition != nil && state.policy != nil && state.status.loaded < enough
            guard isLoading, !state.isStopping, !caller.isFinished else { return false }
            state.jobs.append(.load(enough, caller))
            return true
        }
        if !isWaitedFor { caller.finish(()) }
    }

    /// Reads the next answers into memory. Returns whether there was anything to do.
    private func load() -> Bool {
        guard let open, open.loadPosition != nil, cache.state.withLock({ $0.mayLoad && $0.policy != nil }) else {
            return false
        }
        if open.loadPosition == .max { cache.state.withLock { $0.hasOtherRules = false } }
        do throws(SQLiteError) {
            guard let isComplete = try open.load(Self.few, into: cache) else { return true }
            cache.state.withLock { state in
                state.status.state = .used
                if isComplete, !state.hasOtherRules { cache.hasMore.store(false, ordering: .releasing) }
            }
            if let count = open.loaded { cache.report(.loaded(count: count, isComplete: isComplete)) }
        } catch {
            fail(error)
        }
        return true
    }

    /// When what has changed is to be written; nil: nothing has, or there is no policy.
    private var writingDue: Instant? {
        cache.state.withLock { state in
            guard let changedAt = state.changedAt, let policy = state.policy else { return nil }
            return state.pending.isLarge ? changedAt : changedAt + policy.flushInterval
        }
    }

    private func flushIfDue() -> Bool {
        guard open != nil, let due = writingDue, due <= .bootTime else { return false }
        flush()
        return true
    }

    /// Has all that has changed in the file, where it outlasts a crash of the machine, too. Returns whether it is: of many
    /// callers at once the first one's write does for all.
    private func settle() -> Bool {
        if isSynced, let open, folder.identity == open.identity, cache.state.withLock({ $0.changedAt == nil }) {
            return true
        }
        isSynced = flush(isSynced: true)
        return isSynced
    }

    /// Writes the pending changes, in one transaction, or after a fault all entries in memory in several; synced, so that
    /// they outlast a crash of the machine, too. Returns whether all that has changed is in the file.
    @discardableResult
    private func flush(isSynced: Bool = false) -> Bool {
        guard let open else { return false }
        // Writes to a database that was deleted would succeed without an error.
        if let reason = folder.loss(of: open.identity) {
            fail(reason)
            return false
        }
        let policy = cache.state.withLock { state in
            guard let policy = state.policy else { return nil as PolicyIdentity? }
            swap(&state.pending, &changes)
            state.changedAt = nil
            return policy
        }
        guard let policy else { return false }
        self.isSynced = false
        do throws(SQLiteError) {
            let (written, hasOtherTime) = try open.write(changes, of: cache.memory, policy, isSynced: isSynced)
            cache.state.withLock { state in
                state.status.written += written
                // What seemed too old may be read.
                if hasOtherTime { cache.adoptOtherRules(&state) }
            }
        } catch {
            cache.state.withLock { $0.pending.putBack(changes) }
            changes.removeAll()
            fail(error)
            return false
        }
        changes.removeAll()
        let memory = cache.memory.statistics
        // Memory has begun to evict answers, which the file still has.
        if memory.bytes > memory.limit / 16 * 15 { cache.hasMore.store(true, ordering: .releasing) }
        return true
    }
}
