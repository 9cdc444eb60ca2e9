import DNSWire
import Scheduling

/// What LocalDNS answered in place of the providers while they could not: forgotten as soon as one of them answers again.
///
/// A hijacker may be behind it, also behind what a certificate verified once. At most `capacity` answers are remembered,
/// the latest; older ones live for their own short time.
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

    /// - Parameter strategy: by which it was obtained.
    func add(_ key: FlightKey, _ type: RecordType, of strategy: Strategy) {
        // The older half has mostly reached the end of its time.
        if entries.count >= Self.capacity { entries.removeFirst(Self.capacity / 2) }
        entries.append(Entry(key: key, type: type))
        strategy.whenProviderRecovers { [self] in forgetAll() }
    }

    private func forgetAll() {
        for entry in entries { cache.forgetFallback(entry.key, entry.type) }
        entries = []
    }
}
