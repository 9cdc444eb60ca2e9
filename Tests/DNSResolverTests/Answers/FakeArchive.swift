import DNSCache
import DNSWire

@testable import DNSResolver

/// A disk that notes what it is given, and that has one answer or none.
@Loop
final class FakeArchive: AnswerArchive {
    private(set) var stored: [RecordType] = []
    private(set) var removed: [RecordType] = []
    private(set) var reads = 0
    private let entry: CacheEntry?
    private let memory: MemoryCache?
    var mayRecall: Bool { entry != nil }

    /// - Parameters:
    ///   - entry: the answer to whatever it is asked for.
    ///   - memory: where it puts that.
    init(_ entry: CacheEntry? = nil, in memory: MemoryCache? = nil) { (self.entry, self.memory) = (entry, memory) }

    func store(_ entry: CacheEntry, for key: borrowing QueryKey) { stored.append(key.type) }

    func remove(_ key: borrowing QueryKey) { removed.append(key.type) }

    func remove(_ removal: AnswerRemoval) {}

    func recall(_ key: QueryKey, clock: any LoopClock) async {
        reads += 1
        if let entry { memory?.store(entry, for: key) }
    }
}
