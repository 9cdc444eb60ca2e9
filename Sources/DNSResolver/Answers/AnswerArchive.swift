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

// Answers that only the archive has.

extension AnswerStore {
    /// Whether there may be answers that memory does not have.
    var mayRecall: Bool { archive?.mayRecall ?? false }

    /// Whether only the archive may have an answer.
    func mustRecall(_ key: QueryKey) -> Bool {
        guard mayRecall, !key.isScoped else { return false }
        return memory.entry(for: key) == nil
    }

    /// Loads an answer into memory that only the archive has.
    ///
    /// - Returns: whether memory has it now and had not.
    @discardableResult
    func recall(_ key: QueryKey) async -> Bool {
        guard mustRecall(key) else { return false }
        await archive?.recall(key, clock: clock)
        return memory.entry(for: key) != nil
    }
}
