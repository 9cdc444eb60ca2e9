import Synchronization

/// A shard and its lock.
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

    init(_ shard: consuming Shard) {
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
}
