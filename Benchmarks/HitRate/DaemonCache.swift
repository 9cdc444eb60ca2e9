import DNSCache
import DNSWire

/// The daemon's own cache, queried with real messages.
struct DaemonCache: EvictionPolicy {
    private static let generation: UInt32 = 1
    /// The number of digits in a name, so that all entries are equally long.
    private static let digits = 8
    /// The offset of the digits: after the header and the length of the first label.
    private static let digitsStart = 13

    private let cache: MemoryCache
    private let entry: CacheEntry
    private let now: Instant
    private var message: [UInt8]

    /// - Parameter memory: the bound, in bytes.
    /// - Throws: never in practice, since the name is valid.
    init(memory: Int) throws {
        let name = try Name(String(repeating: "0", count: Self.digits) + ".example")
        let question = Question(name: name, type: .a, class: .internet)
        message = Message(id: 0, flags: .recursionDesired, questions: [question]).encoded
        now = Instant(nanoseconds: 1_000_000_000_000)
        let answer = Answer(name: name, addresses: [.v4(0xc000_0201)], ttl: 86_400)
        guard let packed = PackedAnswer(answer, for: question) else { throw NameError() }
        entry = CacheEntry(answer: packed, storedAt: now, lifetime: 86_400, generation: Self.generation)
        cache = MemoryCache(memory: memory)
    }

    /// Never thrown in practice: the answer does not fit into a message.
    struct NameError: Error {}

    mutating func request(_ name: Int) -> Bool {
        setName(name)
        guard let query = Query.read(message.span) else { return false }
        var isHit = false
        _ = [UInt8](capacity: 512) { reply in
            isHit = cache.answer(
                query, cache.ticket(for: query, in: message.span), message: message.span, now: now,
                generation: Self.generation, limit: 512, into: &reply)
        }
        if !isHit { cache.store(entry, for: QueryKey(query, in: message.span)) }
        return isHit
    }

    /// The largest number of entries that eviction examined to make room for one.
    var longestWalk: Int { cache.statistics.longestWalk }

    private mutating func setName(_ name: Int) {
        var rest = name
        for place in (Self.digitsStart..<Self.digitsStart + Self.digits).reversed() {
            message[place] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }

    /// The number of entries that fit into so much memory.
    static func capacity(memory: Int) throws -> Int {
        var full = try DaemonCache(memory: memory)
        var most = 0
        for name in 0..<memory / 32 {
            _ = full.request(name)
            if name.isMultiple(of: 64) { most = max(most, full.cache.statistics.entries) }
        }
        return most
    }
}
