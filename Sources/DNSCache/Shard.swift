import DNSWire
import Scheduling

/// One part of the cache, used under one lock: who stays and who goes.
///
/// Entries lie in a ring, new ones at the head. Where there is no room the oldest must go, unless it was asked for since
/// it was last looked at: then it moves to the head with its mark cleared. That is the visited bit of SIEVE on a queue
/// kept in order by moving: an entry needs no links and no allocation of its own, there are no holes, and every byte is
/// counted.
struct Shard: ~Copyable {
    private var store: Store
    private var ring: Ring
    private let maximumSlots: Int
    /// How long past expiry entries are worth their memory.
    private let policy: FreshnessPolicy

    private(set) var count = 0
    /// Bytes of the blocks of all entries; the rest of the ring is free, or was removed or replaced.
    private var liveBytes = 0
    private(set) var hits = 0
    private(set) var misses = 0

    /// One part in so many of the limit is for the index: enough for blocks of 66 bytes and more.
    private static let indexShare = 12
    private static let smallestIndex = 16
    private static let smallestRing = 4_096
    /// How many visited entries one insertion spares at most.
    private static let longestReprieve = 64

    /// Takes no more than `limit` bytes, its index included, once that is more than a few kilobytes.
    init(limit: Int, policy: FreshnessPolicy) {
        maximumSlots = max(Self.smallestIndex, limit / Self.indexShare / Slot.size)
        let bytes = min(Slot.maximumOffset, limit - maximumSlots * Slot.size)
        ring = Ring(capacity: Self.smallestRing, maximum: max(Self.smallestRing, bytes & ~(Block.granule - 1)))
        store = Store(bytes: ring.maximum, slots: Self.smallestIndex)
        self.policy = policy
    }

    /// Bytes of the ring as far as it has grown, and of the index.
    var bytes: Int { ring.capacity + store.slotCount * Slot.size }

    /// The longest block: no entry drives out more than an eighth of the others.
    private var maximumBlock: Int { ring.maximum / 8 }

    /// Writes the reply to a query if its answer is here, fresh, and of the policy's `generation`.
    @inline(__always)
    mutating func answer(
        _ echo: Reply.Echo, key: Span<UInt8>, hash: UInt32, message: Span<UInt8>, now: UInt32,
        generation: UInt32, limit: Int, into output: inout OutputSpan<UInt8>
    ) -> Bool {
        if let slot = store.find(key, hash: hash) {
            let block = store.block(inSlot: slot)
            let age = FreshnessPolicy.age(from: block.header.storedAt, to: now)
            if block.header.generation == generation, age < block.header.lifetime {
                hits &+= 1
                // Written only when it changes: a write takes the cache line from the other threads.
                if !block.header.isVisited { block.update { $0.isVisited = true } }
                return block.write(echo, message: message, age: age, limit: limit, into: &output)
            }
        }
        misses &+= 1
        return false
    }

    /// A copy of the entry for `key`, of whatever age and generation.
    func entry(for key: Span<UInt8>, hash: UInt32) -> CacheEntry? {
        guard let slot = store.find(key, hash: hash) else { return nil }
        let block = store.block(inSlot: slot)
        block.update { $0.isVisited = true }
        return block.entry
    }

    /// Stores an entry in place of an older one.
    ///
    /// - Returns: false when it is too large; the older one is gone then, too.
    mutating func insert(_ entry: CacheEntry, for key: Span<UInt8>, hash: UInt32) -> Bool {
        let size = Block.size(keyCount: key.count, answer: entry.answer)
        if let slot = store.find(key, hash: hash) {
            let old = store.block(inSlot: slot)
            if old.size == size {
                old.write(entry, key: key, hash: hash, size: size, isVisited: old.header.isVisited)
                return true
            }
            remove(slot)
        }
        guard size <= maximumBlock else { return false }
        reserveSlot()
        let offset = allocate(size, now: entry.storedAt.seconds)
        store.block(at: offset).write(entry, key: key, hash: hash, size: size, isVisited: false)
        store.insert(offset)
        count += 1
        liveBytes += size
        return true
    }

    /// Puts the entry for `key` under another generation of the policy.
    func restamp(_ key: Span<UInt8>, hash: UInt32, generation: UInt32) {
        guard let slot = store.find(key, hash: hash) else { return }
        store.block(inSlot: slot).update { $0.generation = generation }
    }

    mutating func remove(_ key: Span<UInt8>, hash: UInt32) {
        if let slot = store.find(key, hash: hash) { remove(slot) }
    }

    mutating func removeAll() {
        store.removeAll()
        ring.removeAll()
        count = 0
        liveBytes = 0
    }

    /// Forgets an entry; its block stays in the ring until it is the oldest.
    private mutating func remove(_ slot: Int) {
        let block = store.block(inSlot: slot)
        block.update { $0.isLive = false }
        count -= 1
        liveBytes -= block.size
        store.remove(slot)
    }

    /// Finds room for a block of `size` bytes, letting the oldest entries go when the ring cannot grow.
    private mutating func allocate(_ size: Int, now: UInt32) -> Int {
        var reprieves = 0
        while true {
            if let offset = ring.push(size) { return offset }
            if ring.isWrapped {
                reclaimOldest(for: size, now: now, reprieves: &reprieves)
            } else if shouldGrow(for: size, now: now) {
                ring.grow(by: size)
            } else {
                ring.wrap()
            }
        }
    }

    /// Whether entries nearly fill the ring, even without those that are no longer worth their memory.
    ///
    /// The two bounds lie apart so that the walk over all entries is paid for by what it frees, or by growth.
    private mutating func shouldGrow(for size: Int, now: UInt32) -> Bool {
        guard ring.canGrow, isCrowded(by: size) else { return false }
        removeDead(now: now)
        return liveBytes + size > ring.capacity / 8 * 5
    }

    private func isCrowded(by size: Int) -> Bool { liveBytes + size > ring.capacity / 8 * 7 }

    /// Takes the oldest block from the tail: moves its entry to the head, or lets it go.
    private mutating func reclaimOldest(for size: Int, now: UInt32, reprieves: inout Int) {
        let offset = ring.tail
        let block = store.block(at: offset)
        let blockSize = block.size
        guard block.header.isLive else { return ring.pop(blockSize) }
        let slot = store.slot(of: offset, hash: block.header.hash)
        var stays = !isDead(block, now: now)
        // While the ring can grow, or replaced blocks are in the way, the entries only close ranks.
        if stays, !ring.canGrow, isCrowded(by: size) {
            stays = block.header.isVisited && reprieves < Self.longestReprieve
            reprieves += 1
            block.update { $0.isVisited = false }
        }
        ring.pop(blockSize)
        // It fits, for its own bytes have just become free.
        if stays, let target = ring.push(blockSize) {
            store.move(slot, from: offset, to: target)
        } else {
            remove(slot)
        }
    }

    private func isDead(_ block: Block, now: UInt32) -> Bool {
        policy.freshness(
            age: FreshnessPolicy.age(from: block.header.storedAt, to: now), lifetime: block.header.lifetime) == .dead
    }

    /// Removes every entry that is too stale to be served.
    private mutating func removeDead(now: UInt32) {
        var next: Int? = ring.isEmpty ? nil : ring.tail
        while let offset = next {
            let block = store.block(at: offset)
            next = ring.next(after: offset, size: block.size)
            if block.header.isLive, isDead(block, now: now) { remove(store.slot(of: offset, hash: block.header.hash)) }
        }
    }

    /// Keeps the index at most 7/10 full, so that probes stay short: grows it, or lets the oldest entry go.
    private mutating func reserveSlot() {
        while (count + 1) * 10 > store.slotCount * 7 {
            if store.slotCount < maximumSlots {
                store.resizeIndex(to: min(maximumSlots, store.slotCount + store.slotCount / 2))
            } else {
                removeOldest()
            }
        }
    }

    /// Lets the oldest entry go, however popular. For entries so short that the index is full before the ring.
    private mutating func removeOldest() {
        let block = store.block(at: ring.tail)
        let size = block.size
        if block.header.isLive { remove(store.slot(of: ring.tail, hash: block.header.hash)) }
        ring.pop(size)
    }
}
