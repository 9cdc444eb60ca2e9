import DNSWire
import Scheduling

/// The answers that LocalDNS gave instead of the providers while they could not: removed from the cache as soon as one
/// of them answers again.
///
/// They may be forged, even where a certificate verified them once. At most `capacity` answers are recorded, the
/// latest; older ones stay until their own short lifetime ends.
@Loop
final class FallbackAnswers {
    static let capacity = 10_000

    private struct Entry {
        let key: FlightKey
        let type: RecordType
    }

    private var entries: [Entry] = []
    private let cache: AnswerStore

    nonisolated init(cache: AnswerStore) { self.cache = cache }

    /// - Parameter strategy: the one that obtained the answer.
    func add(_ key: FlightKey, _ type: RecordType, of strategy: Strategy) {
        // The older half has mostly expired.
        if entries.count >= Self.capacity { entries.removeFirst(Self.capacity / 2) }
        entries.append(Entry(key: key, type: type))
        strategy.whenProviderRecovers { [self] in forgetAll() }
    }

    private func forgetAll() {
        for entry in entries { cache.forgetFallback(entry.key, entry.type) }
        entries = []
    }
}
