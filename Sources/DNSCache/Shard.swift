import DNSWire

/// One shard of the cache, used under one lock; implements the eviction.
///
/// Entries are in two rings. New ones enter the nursery, an eighth of the memory. At its end, entries that were queried
/// meanwhile move on to the main ring, and the others are evicted, unless the main ring has room to spare. At the end
/// of the main ring an entry that was queried goes round once more. So a scan over many names evicts only its own
/// entries.
///
/// In misses this equals SIEVE (within a percentage point on Zipf-distributed names, `Benchmarks/HitRate`), without its
/// links: entries have no allocation of their own, there are no holes, and every byte is counted.
struct Shard: ~Copyable {
    private(set) var store: Store
    private var rings: InlineArray<2, Ring>
    /// Offset at which the main ring's memory begins, and the nursery's ends.
    private let boundary: Int
    private let maximumSlots: Int
    /// The most bytes that it may take.
    let limit: Int
    /// Determines how long past expiry entries are retained.
    private let policy: FreshnessPolicy

    private(set) var count = 0
    var hits = 0
    var misses = 0
    /// Entries that were removed to make room before they were too old to be served.
    private(set) var evictions = 0
    /// Entries examined so far to make room for the current one, and the most for any one.
    private var steps = 0
    private(set) var longestWalk = 0

    private static let nursery = 0
    private static let main = 1
    /// The index gets one part in this number of the limit: enough for blocks of 66 bytes and more.
    private static let indexShare = 12
    private static let nurseryShare = 8
    private static let smallestIndex = 16
    private static let smallestRing = 1_024
    /// The most entries that are moved to make room for one; beyond that, each one examined is evicted.
    private static let longestReprieve = 64

    /// Takes no more than `limit` bytes, its index included, once that is more than a few kilobytes; `older` is the index
    /// of the shard that this one replaces.
    init(limit: Int, policy: FreshnessPolicy, replacing older: consuming SlotTable = SlotTable()) {
        self.limit = limit
        maximumSlots = max(Self.smallestIndex, limit / Self.indexShare / Slot.size)
        let bytes = max(8 * Self.smallestRing, min(Slot.maximumOffset, limit - maximumSlots * Slot.size))
        boundary = bytes / Self.nurseryShare & ~(Block.granule - 1)
        rings = [
            Ring(capacity: Self.smallestRing, maximum: boundary),
            Ring(
                start: boundary, capacity: Self.smallestRing, maximum: (bytes - boundary) & ~(Block.granule - 1)),
        ]
        store = Store(bytes: bytes, slots: Self.smallestIndex...maximumSlots, replacing: older)
        self.policy = policy
    }

    /// Bytes of the rings' current capacities, and of the index.
    var bytes: Int { rings[Self.nursery].capacity + rings[Self.main].capacity + store.slotCount * Slot.size }

    /// The size of the longest block: no entry evicts more than a seventh of the others.
    private var maximumBlock: Int { boundary }

    /// Writes the response to a query if its answer is here, fresh, and of the policy's `generation`.
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
                // Written only when it changes: a write invalidates the cache line for the other threads.
                if block.header.marks.rawValue != EntryMarks.afterHit.rawValue {
                    block.update { $0.marks = .afterHit }
                }
                return block.write(echo, message: message, age: age, limit: limit, into: &output)
            }
        }
        misses &+= 1
        return false
    }

    /// The entry for a key; does not mark it as visited.
    func block(of name: Span<UInt8>, _ tail: KeyTail, hash: UInt32) -> Block? {
        store.find(name, tail, hash: hash).map { store.block(inSlot: $0) }
    }

    /// Copies the answers in `count` slots of the index whose names are wanted. Returns these, and the slot to continue
    /// from; nil at the end.
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

    /// Adds the entries in some slots of the index to a sample, counted from any number around the index; marks none as
    /// visited.
    func add(to sample: inout TTLSample, fromSlot start: Int, count: Int, now: UInt32) {
        guard store.slotCount > 0 else { return }
        for step in 0..<min(count, store.slotCount) {
            let slot = (start &+ step) & Int.max % store.slotCount
            guard store.isUsed(slot) else { continue }
            let header = store.block(inSlot: slot).header
            let age = FreshnessPolicy.age(from: header.storedAt, to: now)
            sample.add(left: header.lifetime > age ? header.lifetime - age : 0)
        }
    }

    /// Becomes a shard of another limit and policy with the same entries, in the same order of eviction.
    mutating func rebuild(limit: Int, policy: FreshnessPolicy) {
        // The walk below finds the blocks by their rings.
        var new = Shard(limit: limit, policy: policy, replacing: store.takeIndex())
        for queue in [Self.main, Self.nursery] {
            var next: Int? = rings[queue].isEmpty ? nil : rings[queue].tail
            while let offset = next {
                let block = store.block(at: offset)
                next = rings[queue].next(after: offset, size: block.size)
                guard block.header.marks.contains(.live), let entry = block.entry else { continue }
                let key = block.key
                let name = Array(key.dropLast(KeyTail.count))
                _ = new.insert(entry, for: name.span, KeyTail(key.span), hash: block.header.hash)
            }
        }
        new.hits = hits
        new.misses = misses
        new.evictions += evictions
        new.longestWalk = max(longestWalk, new.longestWalk)
        self = new
    }

    /// Stores an entry; replaces an older one. Returns false when it is too large or inconsistent: the older one goes then,
    /// too.
    mutating func insert(_ entry: borrowing CacheEntry, for name: Span<UInt8>, _ tail: KeyTail, hash: UInt32) -> Bool {
        guard let size = Block.size(nameCount: name.count, answer: entry.answer) else {
            remove(name, tail, hash: hash)
            return false
        }
        // The largest entries would empty the nursery.
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

    mutating func remove(_ name: Span<UInt8>, _ tail: KeyTail, hash: UInt32) {
        if let slot = store.find(name, tail, hash: hash) { remove(slot) }
    }

    mutating func removeAll() {
        store.removeAll()
        for queue in rings.indices { rings[queue].removeAll() }
        count = 0
    }

    private func queue(of offset: Int) -> Int { offset < boundary ? Self.nursery : Self.main }

    /// Removes an entry; its block stays in its ring until it is the oldest.
    private mutating func remove(_ slot: Int) {
        let block = store.block(inSlot: slot)
        block.update { $0.marks.remove(.live) }
        rings[queue(of: store.offset(inSlot: slot))].liveBytes -= block.size
        count -= 1
        store.remove(slot)
    }

    /// Allocates a block of `size` bytes in a ring, evicting old entries when it cannot grow.
    private mutating func allocate(_ size: Int, in queue: Int, now: UInt32) -> Int {
        while true {
            if let offset = rings[queue].push(size) { return offset }
            if rings[queue].isWrapped {
                reclaimOldest(of: queue, isFull: hasNoRoom(queue, for: size), now: now)
            } else if shouldGrow(queue, for: size, now: now) {
                rings[queue].grow(by: size)
            } else {
                rings[queue].wrap()
            }
        }
    }

    /// Whether entries nearly fill a ring, even without those that are too stale to be retained.
    ///
    /// The two bounds differ so that the walk over all entries is amortized by the memory that it frees, or by growth.
    private mutating func shouldGrow(_ queue: Int, for size: Int, now: UInt32) -> Bool {
        guard rings[queue].canGrow, rings[queue].isFilled(beyond: 7, with: size) else { return false }
        removeDead(in: queue, now: now)
        return rings[queue].isFilled(beyond: 5, with: size)
    }

    /// Whether an entry must be evicted for a new one. Otherwise entries are only compacted, or the ring can grow.
    private func hasNoRoom(_ queue: Int, for size: Int) -> Bool {
        !rings[queue].canGrow && rings[queue].isFilled(beyond: 7, with: size)
    }

    /// Removes the oldest block from the tail of a ring: moves its entry on, or evicts it.
    ///
    /// A store waits for this under the shard's lock, so the moves are bounded, also where nothing must be evicted and
    /// the entries are only compacted over holes that may all be at the other end.
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
        rings[queue].pop(size)
        var target: Int?
        if isFull, queue == Self.nursery {
            target = rings[Self.main].push(size)
            if target == nil, isSpared, header.marks.contains(.visited) || !hasNoRoom(Self.main, for: size) {
                target = allocate(size, in: Self.main, now: now)
            }
        } else if isSpared, !isFull || header.marks.contains(.visited) {
            // It fits, since its own bytes have just become free.
            target = rings[queue].push(size)
        }
        let slot = store.slot(of: offset, hash: header.hash)
        guard let target else {
            evictions += 1
            return remove(slot)
        }
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

    /// Limits the index to 7/10 of its slots, so that probes stay short: grows it, or evicts the oldest entries.
    ///
    /// The latter applies to entries so short that the index is full before the rings.
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
