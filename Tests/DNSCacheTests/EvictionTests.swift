import DNSWire
import Testing

@testable import DNSCache

struct EvictionTests {
    /// Enough for one shard of some thousands of entries.
    let memory = 256 << 10

    @Test func `the cache stays within its memory, keeps filling it, and counts what it evicts`() {
        let cache = MemoryCache(memory: memory)
        for number in 0..<20_000 {
            cache.put(checksummed("host\(number).example.com"), for: TestQuery("host\(number).example.com"))
            if number == 100 { #expect(cache.statistics.evictions == 0) }
        }
        let statistics = cache.statistics
        #expect(statistics.bytes <= memory)
        #expect(statistics.entries * 100 > memory * 9 / 10)
        #expect(statistics.evictions == 20_000 - statistics.entries)
        #expect(cache.reply(to: TestQuery("host19999.example.com")) != nil)
        #expect(cache.reply(to: TestQuery("host10000.example.com")) == nil)
    }

    @Test func `a sample tells how many entries are past their TTL, and what the others have left`() {
        let cache = MemoryCache()
        cache.put(Answer(), for: TestQuery("a.example.com"), at: at(1_000), lifetime: 300)
        cache.put(Answer(), for: TestQuery("b.example.com"), at: at(1_000), lifetime: 100)
        let sample = cache.sample(from: .max, now: at(1_100))
        #expect(sample.fresh == 1 && sample.stale == 1 && sample.seconds == 200)
    }

    @Test func `a sample of one slot finds one entry or none, and each from some start`() {
        let cache = MemoryCache(memory: memory)
        for text in ["a", "b", "c"] { cache.put(Answer(), for: TestQuery(text), at: at(1_000), lifetime: 300) }
        let found = (0..<100).map { cache.sample(slots: 1, from: $0, now: at(1_000)).fresh }
        #expect(Set(found) == [0, 1])
        #expect(cache.sample(slots: 100, from: 7, now: at(1_000)).fresh == 3)
    }

    @Test func `entries shorter than the index expects stay within the memory too`() {
        let cache = MemoryCache(memory: memory)
        for number in 0..<20_000 {
            let query = TestQuery(String(number, radix: 36))
            cache.put(Answer(), for: query)
        }
        #expect(cache.statistics.bytes <= memory)
        #expect(cache.statistics.entries > 3_000)
        #expect(cache.reply(to: TestQuery(String(19_999, radix: 36))) != nil)
    }

    @Test func `a small cache is not touched in full`() {
        let cache = MemoryCache()
        for number in 0..<100 {
            cache.put(checksummed("host\(number).example.com"), for: TestQuery("host\(number).example.com"))
        }
        #expect(cache.statistics.bytes < 512 << 10)
    }

    @Test func `a scan over many drives out only what was never asked for again`() {
        let cache = MemoryCache(memory: memory)
        let popular = (0..<1_000).map { TestQuery("popular\($0).example.com") }
        for query in popular {
            cache.put(checksummed("popular.example.com"), for: query)
            _ = cache.reply(to: query)
        }
        for number in 0..<10_000 {
            cache.put(checksummed("host\(number).example.com"), for: TestQuery("host\(number).example.com"))
        }
        #expect(popular.filter { cache.reply(to: $0) != nil }.count == popular.count)
    }

    @Test func `when every entry is popular, a new one still gets in`() {
        let cache = MemoryCache(memory: memory)
        var stored: [TestQuery] = []
        for number in 0..<6_000 {
            let query = TestQuery("host\(number).example.com")
            cache.put(checksummed("host\(number).example.com"), for: query)
            stored.append(query)
            for query in stored.suffix(4_000) where number % 1_000 == 999 { _ = cache.reply(to: query) }
            #expect(cache.reply(to: query) != nil)
        }
        #expect(cache.statistics.bytes <= memory)
    }

    @Test func `entries too stale to be served make room before the ring grows`() {
        let cache = MemoryCache(memory: 4 << 20, policy: FreshnessPolicy(staleMax: .zero))
        for round in 0..<40 {
            for number in 0..<500 {
                let text = "host\(number)-\(round).example.com"
                cache.put(checksummed(text), for: TestQuery(text), at: at(Int64(round) * 1_000), lifetime: 60)
            }
        }
        #expect(cache.statistics.bytes < 512 << 10)
        #expect(cache.reply(to: TestQuery("host499-39.example.com"), at: at(39_000)) != nil)
    }

    @Test func `replaced answers of changing length do not make the cache grow`() {
        let cache = MemoryCache(memory: 4 << 20)
        for round in 0..<2_000 {
            for number in 0..<20 {
                let query = TestQuery("host\(number).example.com")
                let addresses = (0...UInt32((round + number) % 7)).map { IPAddress.v4($0) }
                cache.put(Answer(name: query.question.name, addresses: addresses, ttl: 300), for: query)
            }
        }
        #expect(cache.statistics.entries == 20)
        #expect(cache.statistics.bytes < 64 << 10)
    }

    /// Makes random calls, and compares with a dictionary: a hit must be the answer that was stored last.
    @Test(arguments: 0..<8) func `whatever is stored, replaced, removed and evicted, a hit is the latest answer`(
        seed: Int
    )
        throws
    {
        var random = Random(state: UInt64(seed) &* 0x9e37_79b9_7f4a_7c15 | 1)
        let cache = MemoryCache(memory: seed < 4 ? 16 << 10 : 256 << 10)
        let queries = (0..<(seed.isMultiple(of: 2) ? 200 : 1_500)).map { TestQuery("n\($0).example") }
        var latest: [Int: [IPAddress]] = [:]
        for _ in 0..<15_000 {
            let number = Int(random.next() % UInt64(queries.count))
            let query = queries[number]
            switch random.next() % 16 {
            case 0...6:
                let count = random.next() % 8 == 0 ? random.next() % 90 : random.next() % 4
                let addresses = (0..<count).map { _ in IPAddress.v4(UInt32(truncatingIfNeeded: random.next())) }
                let isCached = cache.put(Answer(name: query.question.name, addresses: addresses, ttl: 300), for: query)
                latest[number] = isCached ? addresses : nil
            case 7:
                cache.remove(query.key)
                latest[number] = nil
            default:
                if let reply = try cache.message(to: query) {
                    #expect(reply.answers.compactMap(\.address) == latest[number])
                }
            }
        }
        #expect(cache.statistics.entries <= latest.count)
        #expect(cache.statistics.hits > 100)
    }

    @Test func `one store moves few entries, also when all holes lie at the other end`() {
        let cache = MemoryCache(memory: memory)
        let queries = (0..<3_000).map { TestQuery("host\($0).example.com") }
        for query in queries {
            cache.put(checksummed("host.example.com"), for: query)
            _ = cache.reply(to: query)
        }
        // The newest of the main ring are removed; the oldest, which are reclaimed first, are all there.
        let cached = queries.filter { cache.reply(to: $0) != nil }
        for query in cached.dropFirst(cached.count / 2) { cache.remove(query.key) }
        for number in 0..<500 {
            cache.put(checksummed("new.example.com"), for: TestQuery("new\(number).example.com"))
            #expect(cache.reply(to: TestQuery("new\(number).example.com")) != nil)
        }
        // 64 that are moved, and as many again as are needed to free the bytes of one.
        #expect(cache.statistics.longestWalk > 0)
        #expect(cache.statistics.longestWalk < 80)
    }
}

/// A small reproducible generator (xorshift).
struct Random {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state >> 11
    }
}
