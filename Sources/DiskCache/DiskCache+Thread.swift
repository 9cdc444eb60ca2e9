import DNSCache
import DNSWire
import Platform
import Synchronization

// The thread's writes to the memory cache.

extension DiskCache {
    /// Stores an answer of the file in memory, unless memory has one, or the answer must not be used any more.
    ///
    /// - Returns: whether it was stored.
    func remember(_ row: AnswerFile.Row, from store: OpenStore) -> Bool {
        let reading = clock.reading
        let key = row.answer.key
        let bytes = key.array
        // Under the lock: a caller that removes answers notes it here first, and only then removes them from memory.
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
