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
    /// Whether it was reported that the disk is not used.
    private var isReportedUnavailable = false
    private var flushAt: Instant?
    private var replacedAt: Instant?

    /// Answers read from the file in one go: less than a millisecond, so that a query does not wait for the loading.
    private static let page = 256
    /// Slots of the memory cache that are walked in one go when all entries are written.
    private static let slotsPerStep = 1_024

    init(_ cache: DiskCache) {
        self.cache = cache
        folder = StoreFolder(path: cache.settings.path)
        backoff = Backoff(cache.settings.retry)
    }

    /// Real time: the thread's waits do not depend on the clock of the answers.
    private var now: Instant { .bootTime }

    /// Runs until the cache is stopped.
    func run() {
        while true {
            let isStopping = cache.shared.withLock { $0.isStopping }
            if open == nil, !isStopping || !isReportedUnavailable, retryAt.map({ $0 <= now }) ?? true { openFile() }
            if isStopping { return finish() }
            answerStateReaders()
            guard cache.shared.withLock({ $0.identity != nil }) else {
                wait()
                continue
            }
            answerRecalls()
            if let damage = cache.shared.withLock({ $0.damage.take() }), open != nil {
                replaceFile(because: damage)
                continue
            }
            if flushIfDue() || load() { continue }
            wait()
        }
    }

    /// Writes the remaining changes, and resumes all waiting callers.
    private func finish() {
        if open != nil, cache.shared.withLock({ !$0.pending.isEmpty }) { flush() }
        close()
        answerRecalls()
        answerStateReaders()
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
        do throws(OpenFailure) {
            open = try OpenStore(folder, cache.settings, cache.clock)
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
        cache.hasMore.store(true, ordering: .releasing)
        // After a fault only a write shows whether the file is usable again.
        if cache.shared.withLock({ $0.pending.needsAll }), !flush() { return }
        backoff.succeeded()
        cache.shared.withLock { shared in
            shared.status.reason = ""
            shared.status.state = .loading
        }
        if isReportedUnavailable { cache.report(.back) }
        isReportedUnavailable = false
    }

    /// Continues in memory only, and schedules a retry.
    private func fail(_ reason: String) {
        close()
        cache.hasMore.store(false, ordering: .releasing)
        cache.shared.withLock { shared in
            shared.pending.needsAll = true
            shared.status.state = .memoryOnly
            shared.status.reason = reason
        }
        let now = now
        retryAt = now + backoff.failed(at: now)
        if !isReportedUnavailable { cache.report(.unavailable(reason: reason)) }
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
        if let replacedAt, now - replacedAt < cache.settings.retry.upperBound {
            return fail("\(folder.path): \(reason)")
        }
        replacedAt = now
        close()
        let target = folder.quarantine(at: cache.clock.reading.secondsSince1970)
        cache.report(.quarantined(path: target, reason: reason))
        cache.shared.withLock { $0.pending.needsAll = true }
        retryAt = now
    }

    private func close() {
        open?.check?.stop()
        open = nil
        flushAt = nil
        // The damage reported is of the file that is closed now.
        cache.shared.withLock { $0.damage = nil }
    }

    // MARK: Reading

    private func answerRecalls() {
        let recalls = cache.shared.withLock { shared in
            let recalls = shared.recalls
            shared.recalls = []
            return recalls
        }
        for recall in recalls {
            if let open {
                do throws(SQLiteError) {
                    if let row = try open.file.find(recall.key), cache.remember(row, from: open) {
                        cache.shared.withLock { $0.status.recalled += 1 }
                    }
                } catch {
                    fail(error)
                }
            }
            recall.finish()
        }
    }

    private func answerStateReaders() {
        let readers = cache.shared.withLock { shared in
            let readers = shared.stateReaders
            shared.stateReaders = []
            return readers
        }
        for reader in readers { reader.resume(returning: open?.states ?? []) }
    }

    /// Reads the next answers into memory, until there are no more or no room.
    ///
    /// - Returns: whether there was anything to do.
    private func load() -> Bool {
        guard let open, let position = open.loadPosition, cache.shared.withLock({ $0.mayLoad }) else { return false }
        do throws(SQLiteError) {
            let (rows, next, isDamaged) = try open.file.page(from: position, limit: Self.page)
            open.isDamaged = open.isDamaged || isDamaged
            open.read += rows.count
            open.loadPosition = next
            let before = cache.memory.statistics.entries
            let cached = rows.count { cache.remember($0, from: open) }
            let grown = cache.memory.statistics.entries - before
            open.loaded += cached
            cache.shared.withLock { $0.status.loaded += cached }
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
        if isComplete, !open.isDamaged { cache.hasMore.store(false, ordering: .releasing) }
        if open.read > 0 { cache.report(.loaded(count: open.loaded, isComplete: isComplete)) }
        guard !open.isDamaged else { return replaceFile(because: "answers are not as they were written") }
        cache.shared.withLock { $0.status.state = .used }
        guard !open.file.isNew else { return }
        do throws(SQLiteError) { try open.file.beginStillness() } catch { return fail(error) }
        // Where no thread can be created there is no check: damage is detected when it is read.
        open.check = try? SoundnessCheck(folder.path, system: cache.settings.system) { [cache] in
            cache.shared.withLock { $0.damage = "SQLite finds it damaged" }
            cache.wake.post()
        }
        if open.check == nil { try? open.file.endStillness() }
    }

    // MARK: Writing

    /// - Returns: whether something was written.
    private func flushIfDue() -> Bool {
        guard let open else { return false }
        let (changedAt, interval, isLarge) = cache.shared.withLock {
            ($0.changedAt, $0.flushInterval, $0.pending.isLarge)
        }
        guard let changedAt else {
            flushAt = nil
            return false
        }
        let due = changedAt + interval
        guard isLarge || due <= now else {
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
        let due = cache.shared.withLock { shared -> (PendingChanges, PolicyIdentity, FreshnessPolicy)? in
            guard let identity = shared.identity else { return nil }
            shared.changedAt = nil
            shared.isWriting = true
            return (shared.pending.take(), identity, shared.freshness)
        }
        guard let (changes, identity, freshness) = due else { return true }
        defer { cache.shared.withLock { $0.isWriting = false } }
        do throws(SQLiteError) {
            if open.check?.hasEnded ?? false {
                open.check = nil
                try open.file.endStillness()
            }
            let written = try open.write(changes, identity, freshness)
            cache.shared.withLock { $0.status.written += written }
            try takeOtherTime(of: open, identity, freshness)
            if changes.needsAll { try writeAll(to: open, identity, freshness) }
            try open.file.shrink()
            let memory = cache.memory.statistics
            // Memory has begun to evict answers, which the file still has.
            if memory.bytes > memory.limit / 16 * 15 { cache.hasMore.store(true, ordering: .releasing) }
            return true
        } catch {
            cache.shared.withLock { $0.pending.putBack(changes) }
            fail(error)
            return false
        }
    }

    /// After the clock was set: writes answers stored by the wrong time again, by the right one, and allows answers to
    /// be read that seemed too old.
    private func takeOtherTime(
        of open: OpenStore, _ identity: PolicyIdentity, _ freshness: FreshnessPolicy
    ) throws(SQLiteError) {
        guard open.hasOtherTime else { return }
        open.hasOtherTime = false
        try writeAll(to: open, since: open.opened, identity, freshness)
        if open.loaded < open.read { cache.hasMore.store(true, ordering: .releasing) }
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
            for answer in answers { changes.store(answer.entry, for: answer.key().array) }
            let written = try open.write(changes, identity, freshness)
            cache.shared.withLock { $0.status.written += written }
        }
    }
}
