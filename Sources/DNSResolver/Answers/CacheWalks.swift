public import DNSCache
public import DNSWire

/// Walks over the whole cache, in steps between which the loop does its other work.
@Loop
public struct CacheWalks {
    /// Slots of the cache that one step visits: under a millisecond.
    private static let slotsPerStep = 1_024

    let memory: MemoryCache
    let archive: (any AnswerArchive)?
    let clock: any LoopClock

    /// Removes answers of every type. Returns how many.
    public func remove(_ removal: AnswerRemoval) async -> Int {
        archive?.remove(removal)
        // Removes what was written from memory meanwhile.
        defer { archive?.remove(removal) }
        switch removal {
        case .all:
            let count = memory.statistics.entries
            memory.removeAll()
            return count
        case .name, .suffix: return await removeAll { removal.covers($0, []) }
        case .holding(let address): return await removeAll(holding: address)
        }
    }

    private func removeAll(where isWanted: @Sendable (Name) -> Bool) async -> Int {
        var count = 0
        await forEach(where: isWanted) { answer in
            memory.remove(answer.key())
            count += 1
        }
        return count
    }

    /// Removes the answers that hold an address, and those of the other family of their names.
    private func removeAll(holding address: IPAddress) async -> Int {
        var count = 0
        await forEach(where: { _ in true }) { answer in
            guard answer.type.isAddress, answer.entry.answer.holds(address) else { return }
            memory.remove(answer.key())
            count += 1
            let sibling = answer.key(type: answer.type.otherFamily)
            guard memory.entry(for: sibling) != nil else { return }
            memory.remove(sibling)
            if !sibling.isScoped { archive?.remove(sibling) }
            count += 1
        }
        return count
    }

    /// Some of the answers, and where to go on: ends after the step in which `limit` were found. Names are in lower case.
    public func answers(
        from start: CacheCursor, limit: Int, where isWanted: @Sendable (Name) -> Bool
    ) async -> (answers: [CachedAnswer], next: CacheCursor?) {
        var found: [CachedAnswer] = []
        var cursor: CacheCursor? = start
        while let place = cursor, found.count < limit {
            // No more slots than answers are still wanted: a page is never longer than `limit`.
            let step = memory.walk(from: place, slots: min(Self.slotsPerStep, limit - found.count), where: isWanted)
            found += step.answers
            cursor = step.next
            if step.answers.isEmpty { await nextTurn() }
        }
        return (found, cursor)
    }

    private func forEach(where isWanted: @Sendable (Name) -> Bool, _ body: (CachedAnswer) -> Void) async {
        var cursor: CacheCursor? = .start
        while let place = cursor {
            let step = memory.walk(from: place, slots: Self.slotsPerStep, where: isWanted)
            for answer in step.answers { body(answer) }
            cursor = step.next
            await nextTurn()
        }
    }

    /// Rebuilds the cache with another size and other rules, part by part.
    public func rebuild(memory bytes: Int, freshness: FreshnessPolicy) async {
        for part in 0..<memory.partCount {
            memory.rebuild(part: part, memory: bytes, policy: freshness)
            await nextTurn()
        }
    }

    /// Lets the loop serve its sockets and timers.
    private func nextTurn() async { await clock.sleep(until: clock.now) }
}

/// A store that retains answers longer than memory does: the disk. Nothing waits for it except `recall`.
@Loop
public protocol AnswerArchive: AnyObject, Sendable {
    /// Stores an answer that was just stored in memory.
    func store(_ entry: CacheEntry, for key: borrowing QueryKey)

    /// Removes the answer under a key.
    func remove(_ key: borrowing QueryKey)

    /// Removes answers, including those that memory does not have; called before memory removes them, and once more
    /// afterwards: all of memory may have been written in between.
    func remove(_ removal: AnswerRemoval)

    /// Whether it may have answers that memory does not.
    var mayRecall: Bool { get }

    /// Loads the answer under a key into memory if it has it; takes 100 ms at most.
    func recall(_ key: QueryKey, clock: any LoopClock) async
}
