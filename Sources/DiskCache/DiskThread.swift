import DNSCache
import DNSWire
import Platform
import Scheduling
import Synchronization

/// The work of the disk's thread: opens, loads, looks up, writes, checks; and retries after a fault.
final class DiskThread {
    private let cache: DiskCache
    private let folder: StoreFolder
    private var open: OpenStore?
    /// When a file that could not be used is tried again.
    private var retryAt: Instant?
    private var backoff: Backoff
    private var flushAt: Instant?
    private var replacedAt: Instant?
    /// Room for the next changes of answers; none wait here.
    private var room = AnswerChanges()
    /// Keys to be looked up, each with the callers that wait for it.
    private var recalls: [(key: [UInt8], callers: [Waiter<Void>])] = []

    /// Rows read from the file in one go: less than a millisecond, so that a query does not wait for the loading, nor a
    /// write for queries.
    private static let page = 128
    /// Slots of the memory cache that are walked in one go when all entries are written.
    private static let slotsPerStep = 1_024

    init(_ cache: DiskCache) {
        self.cache = cache
        folder = StoreFolder(path: cache.settings.path)
        backoff = Backoff(cache.settings.retry)
    }

    /// Whether it was reported that the disk is not used.
    private var isReportedUnavailable: Bool { cache.status.state == .memoryOnly }

    /// Real time: the thread's waits do not depend on the clock of the answers.
    private var now: Instant { .bootTime }

    /// Runs until the cache is stopped.
    func run() {
        while true {
            let isStopping = cache.state.withLock { $0.isStopping }
            if open == nil, !isStopping || !isReportedUnavailable, retryAt.map({ $0 <= now }) ?? true { openFile() }
            if isStopping { return finish() }
            // A file that cannot be opened yet is tried again, and what was learned is of use then, too.
            if let open {
                for reader in take(\.stateReaders) { reader.finish(open.learned) }
            } else {
                refuseSettlements()
            }
            answerWarming()
            guard cache.state.withLock({ $0.identity != nil }) else {
                wait()
                continue
            }
            let isMore = answerRecalls()
            if flushIfDue() || load() || isMore { continue }
            wait()
        }
    }

    /// Writes the remaining changes, and resumes all waiting callers.
    private func finish() {
        if open != nil, cache.state.withLock({ !$0.pending.isEmpty }) { flush() }
        close()
        while answerRecalls() {}
        for reader in take(\.stateReaders) { reader.finish([]) }
        refuseSettlements()
    }

    /// Waits until there is work.
    private func wait() {
        let due = [open == nil ? retryAt : nil, flushAt].compactMap { $0 }.min()
        guard let due else { return cache.wake.wait() }
        let left = (due - now).nanoseconds
        guard left > 0 else { return }
        cache.wake.wait(atMost: Int32(clamping: left / 1_000_000 + 1))
    }

    // MARK: Opening

    private func openFile() {
        retryAt = nil
        do throws(SystemError) {
            try folder.prepare()
            guard try StoreFolder.isOurs(folder.path) else { return failNotOurs() }
        } catch {
            return fail("\(error)")
        }
        do throws(SQLiteError) {
            open = try OpenStore(folder, cache.settings, cache.clock)
        } catch {
            return error.isBusy ? fail("another process uses \(folder.path)") : fail(error)
        }
        cache.hasMore.store(true, ordering: .releasing)
        // After a fault only a write shows whether the file is usable again.
        if cache.state.withLock({ $0.pending.needsAll }), !flush() { return }
        backoff.succeeded()
        let wasReported = isReportedUnavailable
        cache.state.withLock { ($0.status.state, $0.status.reason) = (.loading, "") }
        if wasReported { cache.report(.back) }
    }

    /// Continues in memory only, and schedules a retry.
    private func fail(_ reason: String) {
        close()
        cache.hasMore.store(false, ordering: .releasing)
        let wasReported = isReportedUnavailable
        cache.state.withLock { state in
            state.pending.needsAll = true
            (state.status.state, state.status.reason) = (.memoryOnly, reason)
        }
        let now = now
        retryAt = now + backoff.failed(at: now)
        if !wasReported { cache.report(.unavailable(reason: reason)) }
    }

    private func fail(_ error: SQLiteError) {
        switch error.remedy {
        case .replaceFile: replaceFile(because: "\(error)")
        case .tryAgain: fail("\(folder.path): \(error)")
        }
    }

    private func failNotOurs() { fail("\(folder.path) is not a cache of this program, and left as it is") }

    /// Renames the file and starts a new one at once; but not repeatedly, when the disk itself is failing.
    private func replaceFile(because reason: String) {
        // A file that was opened is ours, whatever its header is now; but it may have been replaced.
        let isOpened = open.map { $0.identity == folder.identity } ?? false
        if !isOpened, (try? StoreFolder.isOurs(folder.path)) != true { return failNotOurs() }
        if let replacedAt, now - replacedAt < cache.settings.retry.upperBound {
            return fail("\(folder.path): \(reason)")
        }
        replacedAt = now
        close()
        let target = folder.quarantine()
        cache.report(.quarantined(path: target, reason: reason))
        cache.state.withLock { $0.pending.needsAll = true }
        retryAt = now
    }

    private func close() {
        open = nil
        flushAt = nil
    }

    // MARK: Reading

    /// Takes the callers that wait.
    private func take<Caller: Sendable>(_ callers: WritableKeyPath<DiskCache.State, [Caller]>) -> [Caller] {
        cache.state.withLock { state in
            defer { state[keyPath: callers] = [] }
            return state[keyPath: callers]
        }
    }

    /// Looks up what callers wait for, each key once; a few at a time, so that a flood of them does not keep the thread
    /// from writing.
    ///
    /// - Returns: whether there was anything to do.
    private func answerRecalls() -> Bool {
        if recalls.isEmpty {
            recalls = Dictionary(grouping: take(\.recalls), by: \.key).map { ($0, $1.map(\.caller)) }
        }
        guard !recalls.isEmpty else { return false }
        var left = Self.page
        while left > 0, let (key, callers) = recalls.popLast() {
            // Under a flood most have gone on without the disk.
            if let open, !callers.allSatisfy(\.isFinished) {
                left -= 1
                do throws(SQLiteError) {
                    let count = try open.file.find(key).map { open.remember($0, in: cache) } ?? 0
                    cache.state.withLock { $0.status.loaded += count }
                } catch {
                    fail(error)
                }
            }
            for caller in callers { caller.finish(()) }
        }
        return true
    }

    private func answerWarming() {
        let caller = cache.state.withLock { state -> Waiter<Void>? in
            guard let warming = state.warming, !state.status.isBehind(warming.enough) else { return nil }
            state.warming = nil
            return warming.caller
        }
        caller?.finish(())
    }

    /// Reads the next answers into memory, until there are no more or no room.
    ///
    /// - Returns: whether there was anything to do.
    private func load() -> Bool {
        guard let open, let position = open.loadPosition, cache.state.withLock({ $0.mayLoad }) else { return false }
        do throws(SQLiteError) {
            let (answers, next, _) = try open.file.page(from: position, limit: Self.page)
            open.hasRead = open.hasRead || !answers.isEmpty
            open.loadPosition = next
            let before = cache.memory.statistics.entries
            let cached = open.remember(answers, in: cache)
            let grown = cache.memory.statistics.entries - before
            open.loaded += cached
            cache.state.withLock { $0.status.loaded += cached }
            // Further answers would evict those read before, and are used less.
            let isFull = grown < cached - cached / 8
            if isFull { open.loadPosition = nil }
            guard open.loadPosition == nil else { return true }
            if !isFull { cache.hasMore.store(false, ordering: .releasing) }
            if open.hasRead { cache.report(.loaded(count: open.loaded, isComplete: !isFull)) }
            cache.state.withLock { $0.status.state = .used }
        } catch {
            fail(error)
        }
        return true
    }

    // MARK: Writing

    /// - Returns: whether something was written.
    private func flushIfDue() -> Bool {
        guard let open else { return false }
        let (changedAt, interval, isUrgent, settled) = cache.state.withLock { state in
            // Taken at once: a caller that comes after a later change waits for that one.
            var settled: [Waiter<Bool>] = []
            if state.changedAt == nil { swap(&settled, &state.settlements) }
            return (state.changedAt, state.flushInterval, state.pending.isLarge || !state.settlements.isEmpty, settled)
        }
        for settlement in settled { settlement.finish(true) }
        guard let changedAt else {
            flushAt = nil
            return false
        }
        let due = changedAt + interval
        guard isUrgent || due <= now else {
            flushAt = due
            return false
        }
        flushAt = nil
        // Writes to a database that was deleted would succeed without an error.
        guard folder.identity == open.identity else {
            fail("\(folder.path) is gone")
            return true
        }
        return flush() || true
    }

    /// Writes the pending changes, in one transaction, or after a fault all entries in memory in several.
    ///
    /// - Returns: whether it succeeded.
    @discardableResult
    private func flush() -> Bool {
        guard let open else { return false }
        let due = cache.state.withLock { state -> (PendingChanges, PolicyIdentity, FreshnessPolicy, [Waiter<Bool>])? in
            guard let identity = state.identity else { return nil }
            state.changedAt = nil
            state.isWriting = true
            let settlements = state.settlements
            state.settlements = []
            return (state.pending.take(leaving: &room), identity, state.freshness, settlements)
        }
        guard let (taken, identity, freshness, settlements) = due else { return true }
        var changes = taken
        defer { cache.state.withLock { $0.isWriting = false } }
        do throws(SQLiteError) {
            if !settlements.isEmpty { try open.file.sync(true) }
            let written = try open.write(changes, identity, freshness)
            if !settlements.isEmpty { try open.file.sync(false) }
            cache.state.withLock { $0.status.written += written }
            changes.giveBack(&room)
            if open.hasOtherTime {
                // What was stored by the wrong time is written again by the right one, and what seemed too old may be read.
                open.hasOtherTime = false
                try writeAll(to: open, since: open.certain.now, identity, freshness)
                cache.hasMore.store(true, ordering: .releasing)
            }
            if changes.needsAll { try writeAll(to: open, identity, freshness) }
            try open.file.shrink()
            let memory = cache.memory.statistics
            // Memory has begun to evict answers, which the file still has.
            if memory.bytes > memory.limit / 16 * 15 { cache.hasMore.store(true, ordering: .releasing) }
            for settlement in settlements { settlement.finish(true) }
            return true
        } catch {
            for settlement in settlements { settlement.finish(false) }
            cache.state.withLock { $0.pending.putBack(changes) }
            fail(error)
            return false
        }
    }

    /// Resumes the callers that wait until what they changed is written, which it cannot be.
    private func refuseSettlements() {
        for settlement in take(\.settlements) { settlement.finish(false) }
    }

    /// Writes all entries in memory.
    ///
    /// - Parameter start: entries stored before, on the boot clock, are left out.
    private func writeAll(
        to open: OpenStore, since start: Instant = Instant(nanoseconds: .min), _ identity: PolicyIdentity,
        _ freshness: FreshnessPolicy
    ) throws(SQLiteError) {
        var cursor: CacheCursor? = .start
        while let place = cursor {
            let step = cache.memory.walk(from: place, slots: Self.slotsPerStep) { _ in true }
            cursor = step.next
            let answers = step.answers.filter { $0.entry.storedAt >= start }
            guard !answers.isEmpty else { continue }
            var changes = PendingChanges()
            for answer in answers where answer.scope == nil { changes.store(answer.entry, for: answer.key()) }
            let written = try open.write(changes, identity, freshness)
            cache.state.withLock { $0.status.written += written }
        }
    }
}
