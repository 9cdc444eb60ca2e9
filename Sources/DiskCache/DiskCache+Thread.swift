import DNSCache
import DNSWire
import Platform
import Synchronization

// What the thread does to memory.

extension DiskCache {
    /// Puts an answer of the file into memory, unless memory has one, or the answer is not to be used any more.
    ///
    /// - Returns: whether it was put there.
    func remember(_ row: AnswerFile.Row, from store: OpenStore) -> Bool {
        let reading = clock.reading
        let key = row.answer.key
        let bytes = key.array
        // Under the lock: whoever forgets answers says so here first, and only then empties memory.
        return shared.withLock { shared in
            guard let identity = shared.identity, shared.pending.allows(bytes, row.answer),
                var entry = row.answer.entry(
                    identity, reading, isClockSound: store.knowsAge(of: row, at: reading)),
                entry.freshness(at: reading.now, shared.freshness) != .dead
            else { return false }
            if !identity.rules.contains(entry.source) {
                entry.refreshMargin = shared.freshness.refreshMargin(lifetime: entry.lifetime)
            }
            return memory.storeIfAbsent(entry, for: key)
        }
    }
}
