package import DNSCache
package import DNSWire
package import Scheduling

/// A store that retains answers longer than memory does: the disk. Nothing waits for it except `recall`.
@Loop
package protocol AnswerArchive: AnyObject, Sendable {
    /// Stores an answer that was just stored in memory.
    func store(_ entry: CacheEntry, for key: borrowing QueryKey)

    /// Removes the answer under a key.
    func remove(_ key: borrowing QueryKey)

    /// Removes answers, including those that memory does not have; called before memory removes them, and once more
    /// afterwards: all of memory may have been written in between.
    func remove(_ removal: AnswerRemoval)

    /// Removes answers that hold an address, as above.
    func remove(holding address: IPAddress)

    /// Whether it may have answers that memory does not.
    var mayRecall: Bool { get }

    /// Loads the answer under a key into memory if it has it; takes 100 ms at most.
    func recall(_ key: QueryKey, clock: any LoopClock) async
}

/// The answers that a user's command removes.
package enum AnswerRemoval: Sendable, Hashable {
    case all
    /// This name only.
    case name(Name)
    /// The name and all below it.
    case suffix(Name)
}
