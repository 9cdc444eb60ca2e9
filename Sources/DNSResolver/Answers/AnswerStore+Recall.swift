import DNSCache
import DNSWire
import Scheduling

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
