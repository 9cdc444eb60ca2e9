import DNSCache
import DNSWire
import Platform
import Scheduling
import Synchronization

/// The work of the disk's thread: opens, loads, looks up, writes, checks; and retries after a fault.
final class DiskThread {
    private let shared: DiskShared
    private let folder: StoreFolder
    private var open: OpenStore?
    /// When a file that could not be used is tried again.
    private var retryAt: Instant?
    private var backoff: Backoff
    /// Whether it was reported that the disk is not used.
    private var isReportedUnavailable = false
    private var flushAt: Instant?
    private var replacedAt: Instant?
    /// Room for the next changes of answers; none wait here.
    private var room = AnswerChanges()

    /// Rows read from the file in one go: less than a millisecond, so that a query does not wait for the loading.
    private static let page = 128
    /// Slots of the memory cache that are walked in one go when all entries are written.
    private static let slotsPerStep = 1_024

    init(_ shared: DiskShared) {
        self.shared = shared
        folder = StoreFolder(path: shared.settings.path)
        backoff = Backoff(shared.settings.retry)
    }

    /// Real time: the thread's waits do not depend on the clock of the answers.
    private var now: Instant { .bootTime }

    /// Runs until the cache is stopped.
    func run() {
        while true {
            let isStopping = shared.state.withLock { $0.isStopping }
            if open == nil, !isStopping || !isReportedUnavailable, retryAt.map({ $0 <= now }) ?? true { openFile() }
            if isStopping { return finish() }
            // A file that cannot be opened yet is tried again, and what was learned is of use then, too.
            if open != nil { answerStateReaders() } else { settle(isWritten: false) }
            answerWarming()
            guard shared.state.withLock({ $0.identity != nil }) else {
                wait()
                continue
            }
            answerRecalls()
            if let damage = shared.state.withLock({ $0.damage.take() }), open != nil {
                replaceFile(because: damage)
                continue
            }
            if flushIfDue() || load() { continue }
            wait()
        }
    }

    /// Writes the remaining changes, and resumes all waiting callers.
    private func finish() {
        if open != nil, shared.state.withLock({ !$0.pending.isEmpty }) { flush() }
        close()
        answerRecalls()
        answerStateReaders()
        settle(isWritten: false)
    }

    /// Waits until there is work.
    private func wait() {
        let due = [open == nil ? retryAt : nil, flushAt].compactMap { $0 }.min()
        guard let due else { return shared.wake.wait() }
        let left = (due - now).nanoseconds
        guard left > 0 else { return }
        shared.wake.wait(atMost: Int32(clamping: left / 1_000_000 + 1))
    }

    // MARK: Opening

    private func openFile() {
        retryAt = nil
        do throws(OpenFailure) {
            open = try OpenStore(folder, shared.settings, shared.clock)
        } catch {
            switch error {
            case .inUse: fail("another process uses \(folder.path)")
            case .notOurs: failNotOurs()
            case .system(let error): fail("\(error)")
            case .database(let error) where error.remedy == .replaceFile: replaceFile(because: "\(error)")
            case .database(let error): fail("\(folder.path): \(error)")
            }
            return
        }
        shared.hasMore.store(true, ordering: .releasing)
        // After a fault only a write shows whether the file is usable again.
        if shared.state.withLock({ $0.pending.needsAll }), !flush() { return }
        backoff.succeeded()
        shared.state.withLock { state in
            state.status.reason = ""
            state.status.state = .loading
        }
        if isReportedUnavailable { shared.report(.back) }
        isReportedUnavailable = false
    }

    /// Continues in memory only, and schedules a retry.
    private func fail(_ reason: String) {
        close()
        shared.hasMore.store(false, ordering: .releasing)
        shared.state.withLock { state in
            state.pending.needsAll = true
            state.status.state = .memoryOnly
            state.status.reason = reason
        }
        let now = now
        retryAt = now + backoff.failed(at: now)
        if !isReportedUnavailable { shared.report(.unavailable(reason: reason)) }
        isReportedUnavailable = true
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
        if !isOpened, (try? FileOwner(of: folder.path)) != .us { return failNotOurs() }
        if let replacedAt, now - replacedAt < shared.settings.retry.upperBound {
            return fail("\(folder.path): \(reason)")
        }
        replacedAt = now
        close()
        let target = folder.quarantine(at: shared.clock.reading.secondsSince1970)
        shared.report(.quarantined(path: target, reason: reason))
        shared.state.withLock { $0.pending.needsAll = true }
        retryAt = now
    }

    private func close() {
        open?.check?.stop()
        open = nil
        flushAt = nil
        // The damage reported is of the file that is closed now.
        shared.state.withLock { $0.damage = nil }
    }

    // MARK: Reading

    private func answerRecalls() {
        let recalls = shared.state.withLock { state in
            let recalls = state.recalls
            state.recalls = []
            return recalls
        }
        for recall in recalls {
            if let open {
                do throws(SQLiteError) {
                    if let row = try open.file.find(recall.key), shared.remember(row, from: open) > 0 {
                        shared.state.withLock { $0.status.recalled += 1 }
                    }
                } catch {
                    fail(error)
                }
            }
            recall.finish()
        }
    }

    private func answerWarming() {
        let caller = shared.state.withLock { state -> Recall? in
            guard let warming = state.warming, !state.status.isBehind(warming.enough) else { return nil }
            state.warming = nil
            return warming.caller
        }
        caller?.finish()
    }

    private func answerStateReaders() {
        let readers = shared.state.withLock { state in
            let readers = state.stateReaders
            state.stateReaders = []
            return readers
        }
        for reader in readers { reader.resume(returning: open?.states ?? []) }
    }

    /// Reads the next answers into memory, until there are no more or no room.
    ///
    /// - Returns: whether there was anything to do.
    private func load() -> Bool {
        guard let open, let position = open.loadPosition, shared.state.withLock({ $0.mayLoad }) else { return false }
        do throws(SQLiteError) {
            let (rows, next, isDamaged) = try open.file.page(from: position, limit: Self.page)
            open.isDamaged = open.isDamaged || isDamaged
            open.read += rows.reduce(0) { $0 + $1.answers.count }
            open.loadPosition = next
            let before = shared.memory.statistics.entries
            let cached = rows.reduce(0) { $0 + shared.remember($1, from: open) }
            let grown = shared.memory.statistics.entries - before
            open.loaded += cached
            shared.state.withLock { $0.status.loaded += cached }
            // Further answers would evict those read before, and are used less.
            let isFull = grown < cached - cached / 8
            if isFull { open.loadPosition = nil }
            if open.loadPosition == nil { finishLoading(isComplete: !isFull) }
        } catch {
            fail(error)
        }
        return true
    }

    private func finishLoading(isComplete: Bool) {
        guard let open else { return }
        if isComplete, !open.isDamaged { shared.hasMore.store(false, ordering: .releasing) }
        if open.read > 0 { shared.report(.loaded(count: open.loaded, isComplete: isComplete)) }
        guard !open.isDamaged else { return replaceFile(because: "answers are not as they were written") }
        shared.state.withLock { $0.status.state = .used }
        guard !open.file.isNew else { return }
        do throws(SQLiteError) { try open.file.beginStillness() } catch { return fail(error) }
        // Where no thread can be created there is no check: damage is detected when it is read.
        open.check = try? SoundnessCheck(folder.path, system: shared.settings.system) { [shared] in
            shared.state.withLock { $0.damage = "SQLite finds it damaged" }
            shared.wake.post()
        }
        if open.check == nil { try? open.file.endStillness() }
    }

    // MARK: Writing

    /// - Returns: whether something was written.
    private func flushIfDue() -> Bool {
        guard let open else { return false }
        let (changedAt, interval, isUrgent) = shared.state.withLock {
            ($0.changedAt, $0.flushInterval, $0.pending.isLarge || !$0.settlements.isEmpty)
        }
        guard let changedAt else {
            flushAt = nil
            settle(isWritten: true)
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
        let due = shared.state.withLock { state -> (PendingChanges, PolicyIdentity, FreshnessPolicy, [Settlement])? in
            guard let identity = state.identity else { return nil }
            state.changedAt = nil
            state.isWriting = true
            let settlements = state.settlements
            state.settlements = []
            return (state.pending.take(leaving: &room), identity, state.freshness, settlements)
        }
        guard let (taken, identity, freshness, settlements) = due else { return true }
        var changes = taken
        defer { shared.state.withLock { $0.isWriting = false } }
        do throws(SQLiteError) {
            if open.check?.hasEnded ?? false {
                open.check = nil
                try open.file.endStillness()
            }
            if !settlements.isEmpty { try open.file.sync(true) }
            let written = try open.write(changes, identity, freshness)
            if !settlements.isEmpty { try open.file.sync(false) }
            shared.state.withLock { $0.status.written += written }
            changes.giveBack(&room)
            try takeOtherTime(of: open, identity, freshness)
            if changes.needsAll { try writeAll(to: open, identity, freshness) }
            try open.file.shrink()
            let memory = shared.memory.statistics
            // Memory has begun to evict answers, which the file still has.
            if memory.bytes > memory.limit / 16 * 15 { shared.hasMore.store(true, ordering: .releasing) }
            for settlement in settlements { settlement.finish(isWritten: true) }
            return true
        } catch {
            for settlement in settlements { settlement.finish(isWritten: false) }
            shared.state.withLock { $0.pending.putBack(changes) }
            fail(error)
            return false
        }
    }

    /// Resumes the callers that wait until what they changed is written.
    private func settle(isWritten: Bool) {
        let settlements = shared.state.withLock { state in
            let settlements = state.settlements
            state.settlements = []
            return settlements
        }
        for settlement in settlements { settlement.finish(isWritten: isWritten) }
    }

    /// After the clock was set: writes answers stored by the wrong time again, by the right one, and allows answers to
    /// be read that seemed too old.
    private func takeOtherTime(
        of open: OpenStore, _ identity: PolicyIdentity, _ freshness: FreshnessPolicy
    ) throws(SQLiteError) {
        guard open.hasOtherTime else { return }
        open.hasOtherTime = false
        try writeAll(to: open, since: open.opened, identity, freshness)
        if open.loaded < open.read { shared.hasMore.store(true, ordering: .releasing) }
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
            let step = shared.memory.walk(from: place, slots: Self.slotsPerStep) { _ in true }
            cursor = step.next
            let answers = step.answers.filter { $0.entry.storedAt >= start }
            guard !answers.isEmpty else { continue }
            var changes = PendingChanges()
            for answer in answers { changes.store(answer.entry, for: answer.key()) }
            let written = try open.write(changes, identity, freshness)
            shared.state.withLock { $0.status.written += written }
        }
    }
}
