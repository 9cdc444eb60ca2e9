import DNSWire
import Scheduling

/// One part of the cache, used under one lock: who stays and who goes.
///
/// Entries lie in two rings. New ones enter the nursery, an eighth of the memory. From its end those that were asked for
/// meanwhile move on to the main ring, and the others go, unless the main ring has room to spare. At the end of the main
/// ring an entry that was asked for goes round once more. So a scan over many names drives out only itself.
///
/// In misses this equals SIEVE (within a percentage point on Zipf-distributed names, `Benchmarks/HitRate`), without its
/// links: entries have no allocation of their own, there are no holes, and every byte is counted.
struct Shard: ~Copyable {
    private var store: Store
    private var rings: InlineArray<2, Ring>
    /// Where the main ring's memory begins, and the nursery's ends.
    private let boundary: Int
    private let maximumSlots: Int
    /// Bytes that it may take.
    let limit: Int
    /// How long past expiry entries are worth their memory.
    private let policy: FreshnessPolicy

    private(set) var count = 0
    private(set) var hits = 0
    private(set) var misses = 0
    /// Entries looked at so far to make room for the one at hand, and the most there were for one.
    private var steps = 0
    private(set) var longestWalk = 0

    private static let nursery = 0
    private static let main = 1
    /// One part in so many of the limit is for the index: enough for blocks of 66 bytes and more.
    private static let indexShare = 12
    private static let nurseryShare = 8
    private static let smallestIndex = 16
    private static let smallestRing = 1_024
    /// How many entries may be moved to make room for one; after so many, each that is looked at goes.
    private static let longestReprieve = 64

    /// Takes no more than `limit` bytes, its index included, once that is more than a few kilobytes.
    init(limit: Int, policy: FreshnessPolicy) {
        self.limit = limit
        maximumSlots = max(Self.smallestIndex, limit / Self.indexShare / Slot.size)
        let bytes = max(8 * Self.smallestRing, min(Slot.maximumOffset, limit - maximumSlots * Slot.size))
        boundary = bytes / Self.nurseryShare & ~(Block.granule - 1)
        rings = [
            Ring(capacity: Self.smallestRing, maximum: boundary),
            Ring(
                start: boundary, capacity: Self.smallestRing, maximum: (bytes - boundary) & ~(Block.granule - 1)),
        ]
        store = Store(bytes: bytes, slots: Self.smallestIndex)
        self.policy = policy
    }

    /// Bytes of the rings as far as they have grown, and of the index.
    var bytes: Int { rings[Self.nursery].capacity + rings[Self.main].capacity + store.slotCount * Slot.size }

    /// The longest block: no entry drives out more than a seventh of the others.
    private var maximumBlock: Int { boundary }

    /// Has the memory fetched in which the answer for a hash may lie.
    @inline(__always)
    func prefetch(hash: UInt32) { store.prefetch(hash: hash) }

    /// Writes the reply to a query if its answer is here, fresh, and of the policy's `generation`.
    @inline(__always)
    mutating func answer(
        _ echo: Reply.Echo, name: Span<UInt8>, tail: KeyTail, hash: UInt32, message: Span<UInt8>, now: UInt32,
        generation: UInt32, limit: Int, into output: inout OutputSpan<UInt8>
    ) -> Bool {
        if let slot = store.find(name, tail, hash: hash) {
            let block = store.block(inSlot: slot)
            let age = FreshnessPolicy.age(from: block.header.storedAt, to: now)
            if block.header.generation == generation, age < block.header.hitLifetime {
                hits &+= 1
                // Written only when it changes: a write takes the cache line from the other threads.
                if block.header.marks.rawValue != EntryMarks.afterHit.rawValue {
                    block.update { $0.marks = .afterHit }
                }
                return block.write(echo, message: message, age: age, limit: limit, into: &output)
            }
        }
        misses &+= 1
        return false
    }

    /// The same for a query that was already counted as a miss, perhaps by another shard: only the sum over all is told.
    mutating func answerScoped(
        _ echo: Reply.Echo, name: Span<UInt8>, tail: KeyTail, hash: UInt32, message: Span<UInt8>, now: UInt32,
        generation: UInt32, limit: Int, into output: inout OutputSpan<UInt8>
    ) -> Bool {
        misses &-= 1
        return answer(
            echo, name: name, tail: tail, hash: hash, message: message, now: now, generation: generation, limit: limit,
            into: &output)
    }

    /// Whether there is an entry for a key; it does not count as asked for.
    func holds(_ name: Span<UInt8>, _ tail: KeyTail, hash: UInt32) -> Bool {
        store.find(name, tail, hash: hash) != nil
    }

    /// A copy of the entry for `key`, of whatever age and generation.
    func entry(for name: Span<UInt8>, _ tail: KeyTail, hash: UInt32) -> CacheEntry? {
        guard let slot = store.find(name, tail, hash: hash) else { return nil }
        let block = store.block(inSlot: slot)
        block.update { $0.marks.insert(.visited) }
        return block.entry
    }

    /// Copies the answers that `count` slots of the index lead to and whose name is wanted.
    ///
    /// - Returns: them, and the slot to go on with; nil when there is none.
    func answers(
        fromSlot start: Int, count: Int, where isWanted: (Name) -> Bool
    ) -> (found: [CachedAnswer], next: Int?) {
        var found: [CachedAnswer] = []
        guard start >= 0, start < store.slotCount else { return (found, nil) }
        let end = min(store.slotCount, start + max(1, count))
        for slot in start..<end where store.isUsed(slot) {
            let block = store.block(inSlot: slot)
            if let answer = CachedAnswer(key: block.key, entry: block.entry, where: isWanted) { found.append(answer) }
        }
        return (found, end < store.slotCount ? end : nil)
    }

    /// Becomes a shard of another limit and policy with the same entries, the oldest first to go.
    mutating func rebuild(limit: Int, policy: FreshnessPolicy) {
        var new = Shard(limit: limit, policy: policy)
        for queue in [Self.main, Self.nursery] {
            var next: Int? = rings[queue].isEmpty ? nil : rings[queue].tail
            while let offset = next {
                let block = store.block(at: offset)
                next = rings[queue].next(after: offset, size: block.size)
                guard block.header.marks.contains(.live), let entry = block.entry else { continue }
                let key = block.key
                let name = Array(key.dropLast(KeyTail.count))
                _ = new.insert(entry, for: name.span, KeyTail(key), hash: block.header.hash)
            }
        }
        new.hits = hits
        new.misses = misses
        new.longestWalk = max(longestWalk, new.longestWalk)
        self = new
    }

    /// Stores an entry in place of an older one.
    ///
    /// - Returns: false when it is too large or no entry at all; the older one is gone then, too.
    mutating func insert(_ entry: borrowing CacheEntry, for name: Span<UInt8>, _ tail: KeyTail, hash: UInt32) -> Bool {
        guard let size = Block.size(nameCount: name.count, answer: entry.answer) else {
            remove(name, tail, hash: hash)
            return false
        }
        // The largest would empty the nursery.
        var queue = size > boundary / 4 ? Self.main : Self.nursery
        if let slot = store.find(name, tail, hash: hash) {
            let old = store.block(inSlot: slot)
            if old.size == size {
                let isVisited = old.header.marks.contains(.visited)
                old.write(entry, name: name, tail: tail, hash: hash, size: size, isVisited: isVisited)
                return true
            }
            queue = max(queue, self.queue(of: store.offset(inSlot: slot)))
            remove(slot)
        }
        guard size <= maximumBlock else { return false }
        let now = entry.storedAt.seconds
        steps = 0
        reserveSlot(now: now)
        let offset = allocate(size, in: queue, now: now)
        longestWalk = max(longestWalk, steps)
        store.block(at: offset).write(entry, name: name, tail: tail, hash: hash, size: size, isVisited: false)
        store.insert(offset)
        rings[queue].liveBytes += size
        count += 1
        return true
    }

    /// Puts the entry for `key` under another generation of the policy.
    func restamp(_ name: Span<UInt8>, _ tail: KeyTail, hash: UInt32, generation: UInt32) {
        guard let slot = store.find(name, tail, hash: hash) else { return }
        store.block(inSlot: slot).update { $0.generation = generation }
    }

    /// What `MemoryCache.claimRefresh` does.
    func claimRefresh(of name: Span<UInt8>, _ tail: KeyTail, hash: UInt32) -> Bool {
        guard let slot = store.find(name, tail, hash: hash) else { return false }
        let block = store.block(inSlot: slot)
        guard block.header.refreshMargin > 0 else { return false }
        guard block.header.marks.contains(.hit) else {
            block.update { $0.marks.insert(.hit) }
            return false
        }
        block.update { $0.dropMargin() }
        return true
    }

    mutating func remove(_ name: Span<UInt8>, _ tail: KeyTail, hash: UInt32) {
        if let slot = store.find(name, tail, hash: hash) { remove(slot) }
    }

    mutating func removeAll() {
        store.removeAll()
        for queue in rings.indices { rings[queue].removeAll() }
        count = 0
    }

    private func queue(of offset: Int) -> Int { offset < boundary ? Self.nursery : Self.main }

    /// Forgets an entry; its block stays in its ring until it is the oldest.
    private mutating func remove(_ slot: Int) {
        let block = store.block(inSlot: slot)
        block.update { $0.marks.remove(.live) }
        rings[queue(of: store.offset(inSlot: slot))].liveBytes -= block.size
        count -= 1
        store.remove(slot)
    }

    /// Finds room for a block of `size` bytes in a ring, letting old entries go when it cannot grow.
    private mutating func allocate(_ size: Int, in queue: Int, now: UInt32) -> Int {
        while true {
            if let offset = rings[queue].push(size) { return offset }
            if rings[queue].isWrapped {
                let isFull = hasNoRoom(queue, for: size)
                reclaimOldest(of: queue, isFull: isFull, now: now)
            } else if shouldGrow(queue, for: size, now: now) {
                rings[queue].grow(by: size)
            } else {
                rings[queue].wrap()
            }
        }
    }

    /// Whether entries nearly fill a ring, even without those that are no longer worth their memory.
    ///
    /// The two bounds lie apart so that the walk over all entries is paid for by what it frees, or by growth.
    private mutating func shouldGrow(_ queue: Int, for size: Int, now: UInt32) -> Bool {
        guard rings[queue].canGrow, isCrowded(queue, by: size) else { return false }
        removeDead(in: queue, now: now)
        return rings[queue].liveBytes + size > rings[queue].capacity / 8 * 5
    }

    private func isCrowded(_ queue: Int, by size: Int) -> Bool {
        rings[queue].liveBytes + size > rings[queue].capacity / 8 * 7
    }

    /// Whether an entry must go for a new one. Else the entries only close ranks, or the ring can grow.
    private func hasNoRoom(_ queue: Int, for size: Int) -> Bool {
        !rings[queue].canGrow && isCrowded(queue, by: size)
    }

    /// Takes the oldest block from the tail of a ring: moves its entry on, or lets it go.
    ///
    /// A store waits for this under the shard's lock, so the moves are counted, also where nothing must go and the entries
    /// only close ranks over holes that may all lie at the other end.
    private mutating func reclaimOldest(of queue: Int, isFull: Bool, now: UInt32) {
        steps += 1
        let isSpared = steps <= Self.longestReprieve
        let offset = rings[queue].tail
        let block = store.block(at: offset)
        let header = block.header
        let size = block.size
        let isLive = header.marks.contains(.live)
        guard isLive, !isDead(header, now: now) else {
            if isLive { remove(store.slot(of: offset, hash: header.hash)) }
            return rings[queue].pop(size)
        }
        var target: Int?
        if isFull, queue == Self.nursery {
            rings[queue].pop(size)
            target = rings[Self.main].push(size)
            if target == nil, isSpared, header.marks.contains(.visited) || !hasNoRoom(Self.main, for: size) {
                target = allocate(size, in: Self.main, now: now)
            }
        } else {
            rings[queue].pop(size)
            if isSpared, !isFull || header.marks.contains(.visited) {
                // It fits, for its own bytes have just become free.
                target = rings[queue].push(size)
            }
        }
        let slot = store.slot(of: offset, hash: header.hash)
        guard let target else { return remove(slot) }
        if isFull { block.update { $0.marks.remove(.visited) } }
        rings[queue].liveBytes -= size
        rings[self.queue(of: target)].liveBytes += size
        store.move(slot, from: offset, to: target)
    }

    private func isDead(_ header: EntryHeader, now: UInt32) -> Bool {
        policy.freshness(age: FreshnessPolicy.age(from: header.storedAt, to: now), lifetime: header.lifetime) == .dead
    }

    /// Removes every entry of a ring that is too stale to be served.
    private mutating func removeDead(in queue: Int, now: UInt32) {
        var next: Int? = rings[queue].isEmpty ? nil : rings[queue].tail
        while let offset = next {
            let block = store.block(at: offset)
            let header = block.header
            next = rings[queue].next(after: offset, size: block.size)
            if header.marks.contains(.live), isDead(header, now: now) {
                remove(store.slot(of: offset, hash: header.hash))
            }
        }
    }

    /// Keeps the index at most 7/10 full, so that probes stay short: grows it, or lets the oldest entries go.
    ///
    /// The latter is for entries so short that the index is full before the rings.
    private mutating func reserveSlot(now: UInt32) {
        while (count + 1) * 10 > store.slotCount * 7 {
            if store.slotCount < maximumSlots {
                store.resizeIndex(to: min(maximumSlots, store.slotCount + store.slotCount / 2))
            } else {
                let queue = rings[Self.main].isEmpty ? Self.nursery : Self.main
                reclaimOldest(of: queue, isFull: true, now: now)
            }
        }
    }
}
