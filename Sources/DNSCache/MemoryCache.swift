public import DNSWire

/// The cached answers, shared by all threads and bounded in bytes.
///
/// Divided into shards by the hash of the key; a look-up locks one of them, for the time of one copy. Nothing runs in
/// the background: expired entries are removed when room is needed. Times are whole seconds of the boot clock.
public final class MemoryCache: Sendable {
    /// The most shards, enough that threads rarely contend.
    private static let maximumShards = 64
    /// The least size of a shard in bytes: an eighth of it must have room for the longest answer.
    private static let smallestShard = 1 << 20

    private let shards: InlineArray<64, Guarded>
    /// The number of shards in use, a power of two, less one.
    private let mask: Int
    private let hash = KeyHash()

    /// Uses no more than `memory` bytes, its own bookkeeping included, which are touched only as entries are stored: under
    /// 560 KiB the longest answers are not cached, and 8 KiB is the least. The policy says when an entry is too stale to be
    /// served, and is removed first.
    public init(memory: Int = 64 << 20, policy: FreshnessPolicy = FreshnessPolicy()) {
        var used = Self.maximumShards
        while used > 1, memory / used < Self.smallestShard { used /= 2 }
        let limit = memory / used
        shards = InlineArray { index in Guarded(Shard(limit: index < used ? limit : 0, policy: policy)) }
        mask = used - 1
    }

    /// What `answer` needs beside a query: the hash of its key.
    public struct Ticket: BitwiseCopyable, Sendable {
        let hash: UInt64

        fileprivate init(hash: UInt64) { self.hash = hash }

        /// A ticket for no query.
        public init() { hash = 0 }
    }

    /// The ticket of a query, parsed from `message` without a fault. Begins to fetch the place in memory that says where
    /// its answer is.
    ///
    /// Of a batch all tickets are made first, then `prefetch` is called with them, and only then the first query is
    /// answered, so that the waits of all for memory overlap.
    public func ticket(for query: Query, in message: Span<UInt8>) -> Ticket {
        let ticket = Ticket(hash: hash(message.extracting(query.nameRange), KeyTail(query)))
        shards[shard(ticket.hash)].prefetchSlot(hash: UInt32(truncatingIfNeeded: ticket.hash))
        return ticket
    }

    /// Warms the CPU's cache with the memory in which the answers of a batch may be, without waiting for it.
    ///
    /// Takes no lock, and may be called with any ticket: a wrong one only costs the fetch.
    public func prefetch(_ tickets: Span<Ticket>) {
        for index in tickets.indices {
            let hash = tickets[index].hash
            shards[shard(hash)].prefetchBlock(hash: UInt32(truncatingIfNeeded: hash))
        }
    }

    /// Writes the response to a query from the cache. May be called from any thread.
    ///
    /// Allocates nothing, and waits only for the shard's lock.
    ///
    /// - Parameters:
    ///   - query: parsed from `message`, without a fault.
    ///   - ticket: this query's.
    ///   - generation: the policy's; an entry of another one is no hit until the loop restamps it.
    ///   - limit: the longest response in bytes; a longer one is truncated.
    ///   - output: the response is appended to it.
    /// - Returns: whether there was an answer, fresh and of this generation, and a response was written.
    public func answer(
        _ query: Query, _ ticket: Ticket, message: Span<UInt8>, now: Instant, generation: UInt32, limit: Int,
        into output: inout OutputSpan<UInt8>
    ) -> Bool {
        let echo = Reply.Echo(query)
        let now = Self.seconds(now)
        let name = message.extracting(query.nameRange)
        let tail = KeyTail(query)
        let hash = ticket.hash
        return shards[shard(hash)].withLock { shard in
            shard.answer(
                echo, name: name, tail: tail, hash: UInt32(truncatingIfNeeded: hash), message: message, now: now,
                generation: generation, limit: limit, into: &output)
        }
    }

    /// Writes the response to a query from the entries for its client's scope, after `answer` has found none for all
    /// clients.
    ///
    /// Both calls count as one look-up.
    /// - Parameters:
    ///   - key: of `query`, with the scope.
    public func answer(
        _ query: Query, key: borrowing QueryKey, message: Span<UInt8>, now: Instant, generation: UInt32, limit: Int,
        into output: inout OutputSpan<UInt8>
    ) -> Bool {
        let echo = Reply.Echo(query)
        let now = Self.seconds(now)
        return withShard(of: key) { shard, name, tail, hash in
            // The first call has counted a miss, perhaps in another shard: only the sum of all is reported.
            shard.misses &-= 1
            return shard.answer(
                echo, name: name, tail: tail, hash: hash, message: message, now: now, generation: generation,
                limit: limit, into: &output)
        }
    }

    /// A copy of the entry for `key`, fresh or not, of any generation.
    public func entry(for key: borrowing QueryKey) -> CacheEntry? {
        withBlock(of: key) { _, block in
            block.update { $0.marks.insert(.visited) }
            return block.entry
        }
    }

    /// Counts a hit on an entry that was read with `entry(for:)`, and remembers that a client has had it.
    public func noteHit(_ key: borrowing QueryKey) {
        withBlock(of: key) { shard, block in
            shard.hits &+= 1
            block.update { $0.marks = .afterHit }
        }
    }

    /// Counts a miss that was found with `entry(for:)`.
    public func noteMiss(_ key: borrowing QueryKey) { withShard(of: key) { shard, _, _, _ in shard.misses &+= 1 } }

    /// Stores an entry; replaces an older one. A lifetime of 0 stores nothing and leaves the older one. Returns whether it
    /// was stored; not if it needs more than an eighth of its shard.
    @discardableResult
    public func store(_ entry: borrowing CacheEntry, for key: borrowing QueryKey) -> Bool {
        guard entry.lifetime > 0 else { return false }
        return withShard(of: key) { shard, name, tail, hash in shard.insert(entry, for: name, tail, hash: hash) }
    }

    /// Stores an entry unless there is one already, which is newer. Returns whether there was none and it was stored.
    public func storeIfAbsent(_ entry: CacheEntry, for key: borrowing QueryKey) -> Bool {
        guard entry.lifetime > 0 else { return false }
        return withShard(of: key) { shard, name, tail, hash in
            shard.block(of: name, tail, hash: hash) == nil && shard.insert(entry, for: name, tail, hash: hash)
        }
    }

    /// Assigns an entry to another generation of the policy, in which its route is still valid, and its addresses may
    /// rotate.
    public func restamp(_ key: borrowing QueryKey, generation: UInt32, rotates: Bool) {
        withBlock(of: key) { _, block in
            block.update {
                $0.generation = generation
                $0.rotates = rotates
            }
        }
    }

    /// Decides whether the caller must refresh an entry that is queried within its refresh margin: if it has answered a
    /// client before. Then the UDP threads answer from it again, to the end of its lifetime, so there is at most one
    /// prefetch for each stored entry, whatever its result.
    public func claimRefresh(of key: borrowing QueryKey) -> Bool {
        withBlock(of: key) { _, block in block.claimRefresh() } ?? false
    }

    public func remove(_ key: borrowing QueryKey) {
        withShard(of: key) { shard, name, tail, hash in shard.remove(name, tail, hash: hash) }
    }

    /// Runs `body` on the shard of `key`, locked.
    @inline(__always)
    private func withShard<Result: Sendable>(
        of key: borrowing QueryKey, _ body: (inout Shard, Span<UInt8>, KeyTail, UInt32) -> Result
    ) -> Result {
        let bytes = key.storage.span.extracting(0..<key.count)
        let name = bytes.extracting(0..<(key.count - KeyTail.count))
        let tail = KeyTail(bytes)
        let hash = hash(name, tail)
        return shards[shard(hash)].withLock { body(&$0, name, tail, UInt32(truncatingIfNeeded: hash)) }
    }

    /// Runs `body` on the entry for `key`, if there is one, and its shard, locked.
    @discardableResult
    private func withBlock<Result: Sendable>(
        of key: borrowing QueryKey, _ body: (inout Shard, Block) -> Result?
    ) -> Result? {
        withShard(of: key) { shard, name, tail, hash in
            guard let block = shard.block(of: name, tail, hash: hash) else { return nil }
            return body(&shard, block)
        }
    }

    public func removeAll() {
        for index in shards.indices { shards[index].withLock { $0.removeAll() } }
    }

    /// The size of the cache, and its counters since the start.
    public struct Statistics: Equatable, Sendable {
        public var entries = 0
        /// Bytes of memory in use, bookkeeping included.
        public var bytes = 0
        /// Calls of `answer` that wrote a response, and those that did not.
        public var hits = 0
        public var misses = 0
        /// Entries that were removed to make room before they were too old to be served.
        public var evictions = 0
        /// The most bytes that it may take.
        public var limit = 0
        /// The most entries that were examined to make room for one.
        public var longestWalk = 0

        public init() {}
    }

    /// Sums over all shards, one after the other: exact only while nothing else happens.
    public var statistics: Statistics {
        var sum = Statistics()
        for index in 0...mask {
            shards[index].withLock { shard in
                sum.entries += shard.count
                sum.bytes += shard.bytes
                sum.hits += shard.hits
                sum.misses += shard.misses
                sum.evictions += shard.evictions
                sum.limit += shard.limit
                sum.longestWalk = max(sum.longestWalk, shard.longestWalk)
            }
        }
        return sum
    }

    /// The TTLs of the entries in some slots of each shard, whose number bounds how long its lock is held; another start
    /// samples other entries.
    public func sample(slots: Int = 16, from start: Int, now: Instant) -> TTLSample {
        var sample = TTLSample()
        let now = Self.seconds(now)
        for index in 0...mask {
            shards[index].withLock { $0.add(to: &sample, fromSlot: start, count: slots, now: now) }
        }
        return sample
    }

    /// Copies a part of the entries, without marking them as visited.
    ///
    /// A walk over a cache that changes meanwhile may return an entry twice or not at all, but returns every one that
    /// is not moved.
    /// - Parameters:
    ///   - slots: how many slots are examined, at least 1; bounds how long a shard's lock is held.
    ///   - isWanted: called with the name, in lower case.
    /// - Returns: the wanted entries, and the cursor to continue from; nil at the end.
    public func walk(
        from cursor: CacheCursor, slots: Int = 1_024, where isWanted: (Name) -> Bool
    ) -> (answers: [CachedAnswer], next: CacheCursor?) {
        guard (0...mask).contains(cursor.shard) else { return ([], nil) }
        let (answers, next) = shards[cursor.shard].withLock {
            $0.answers(fromSlot: cursor.slot, count: slots, where: isWanted)
        }
        if let next { return (answers, CacheCursor(shard: cursor.shard, slot: next)) }
        return (answers, cursor.shard < mask ? CacheCursor(shard: cursor.shard + 1, slot: 0) : nil)
    }

    /// Gives one shard, below `partCount`, another policy, and its part of another limit of the whole cache, in bytes; its
    /// entries are retained as far as there is room. The number of shards does not change: a cache that was created small
    /// retains few.
    public func rebuild(part index: Int, memory: Int, policy: FreshnessPolicy) {
        guard (0...mask).contains(index) else { return }
        shards[index].withLock { $0.rebuild(limit: memory / (mask + 1), policy: policy) }
        shards[index].follow()
    }

    /// The number of shards.
    public var partCount: Int { mask + 1 }

    /// Like `Instant.seconds`, which would be a function call from here.
    @inline(__always)
    private static func seconds(_ instant: Instant) -> UInt32 {
        UInt32(truncatingIfNeeded: instant.nanoseconds / 1_000_000_000)
    }

    @inline(__always)
    private func shard(_ hash: UInt64) -> Int {
        // The constant tells the compiler that there is such a shard.
        Int(truncatingIfNeeded: hash &>> 32) & mask & (Self.maximumShards - 1)
    }
}
