import CSystem.Prefetch
import Synchronization

/// A shard and its lock, and what needs no lock: the memory that an answer may be in, fetched ahead.
@safe
struct Guarded: ~Copyable, @unchecked Sendable {
    private let mutex = Mutex(())
    /// How often the lock was taken.
    ///
    /// Mutual exclusion is provided by the mutex alone. But the thread sanitizer does not see into the standard
    /// library's path for a contended mutex, and then reports every use of the shard as a race; an acquiring load and a
    /// releasing store, plain moves on x86-64, show it the order.
    private let turns = Atomic<Int>(0)
    private let shard: UnsafeMutablePointer<Shard>
    /// Where the shard's index is: perhaps an outdated place, but never freed memory. Never nil.
    private let words: Atomic<UnsafeMutablePointer<SlotTable.Word>?>
    /// The address of its blocks, from which none is read.
    private let memory: Atomic<UInt>

    init(_ shard: consuming Shard) {
        unsafe words = Atomic(shard.store.index.words)
        unsafe memory = Atomic(UInt(bitPattern: shard.store.memory))
        unsafe self.shard = .allocate(capacity: 1)
        unsafe self.shard.initialize(to: shard)
    }

    deinit {
        unsafe shard.deinitialize(count: 1)
        unsafe shard.deallocate()
    }

    /// Runs `body` while no other thread uses the shard.
    @inline(__always)
    func withLock<Result: Sendable>(_ body: (inout Shard) -> Result) -> Result {
        mutex.withLock { _ in
            let turn = turns.load(ordering: .acquiring)
            let result = unsafe body(&shard.pointee)
            turns.store(turn &+ 1, ordering: .releasing)
            return result
        }
    }

    /// Takes up where the shard has its memory, once it was rebuilt. Until then what is fetched ahead is of no use.
    ///
    /// A turn of its own: in one with the rebuilding, the compiler no longer inlines the writing of a hit's response.
    func follow() {
        withLock { shard in
            unsafe words.store(shard.store.index.words, ordering: .releasing)
            unsafe memory.store(UInt(bitPattern: shard.store.memory), ordering: .relaxed)
        }
    }

    /// Warms the CPU's cache with the slot of the index at which the look-up of a hash begins, without waiting for it.
    @inline(__always)
    func prefetchSlot(hash: UInt32) { unsafe cprefetch(hint(hash)) }

    /// Warms it with the block to which that slot refers.
    @inline(__always)
    func prefetchBlock(hash: UInt32) {
        let offset = unsafe Slot.offset(hint(hash).pointee.load(ordering: .relaxed))
        // Of an empty slot it is the address before the first block.
        let block = memory.load(ordering: .relaxed) &+ UInt(bitPattern: offset)
        unsafe cprefetch(UnsafeRawPointer(bitPattern: block))
        // Most entries are longer than one cache line.
        unsafe cprefetch(UnsafeRawPointer(bitPattern: block &+ 64))
    }

    @unsafe
    @inline(__always)
    private func hint(_ hash: UInt32) -> UnsafeMutablePointer<SlotTable.Word> {
        // Unwrapped without a check, which each hit would pay for twice.
        unsafe SlotTable.hint(hash, in: words.load(ordering: .acquiring).unsafelyUnwrapped)
    }
}
