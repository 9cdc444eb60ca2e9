import DNSWire
import Testing

@testable import DNSCache

/// When the UDP threads leave an answer to the loop, so that it can be prefetched before it expires.
struct RefreshTests {
    let query = TestQuery("www.example.com")

    private func cache(lifetime: UInt32, margin: UInt32) throws -> MemoryCache {
        let cache = MemoryCache(memory: 1 << 20)
        let answer = try #require(PackedAnswer(checksummed("www.example.com", ttl: lifetime), for: query.question))
        let entry = CacheEntry(
            answer: answer, storedAt: at(1_000), lifetime: lifetime, generation: 1, refreshMargin: margin)
        #expect(cache.store(entry, for: query.key))
        #expect(cache.entry(for: query.key) == entry)
        return cache
    }

    @Test func `an entry is a hit up to its margin, and fresh to the end of its lifetime`() throws {
        let cache = try cache(lifetime: 100, margin: 10)
        #expect(cache.reply(to: query, at: at(1_089)) != nil)
        #expect(cache.reply(to: query, at: at(1_090)) == nil)
        let entry = try #require(cache.entry(for: query.key))
        #expect(entry.lifetime == 100 && entry.refreshMargin == 10)
        #expect(entry.freshness(at: at(1_099), FreshnessPolicy()) == .fresh(remaining: 1))
        #expect(entry.isHit(at: at(1_089)) && !entry.isHit(at: at(1_090)))
    }

    @Test func `it is claimed once, by the first question after a hit, and is then a hit to its end`() throws {
        let cache = try cache(lifetime: 100, margin: 10)
        #expect(!cache.claimRefresh(of: query.key))
        #expect(cache.claimRefresh(of: query.key))
        #expect(!cache.claimRefresh(of: query.key))
        #expect(try cache.message(to: query, at: at(1_099))?.answers.map(\.ttl) == [1])
        #expect(cache.reply(to: query, at: at(1_100)) == nil)
        #expect(cache.entry(for: query.key)?.lifetime == 100)
    }

    @Test func `a newer answer is claimed again, and only after a hit of its own`() throws {
        let cache = try cache(lifetime: 100, margin: 10)
        _ = cache.reply(to: query, at: at(1_001))
        let entry = try #require(cache.entry(for: query.key))
        cache.store(entry, for: query.key)
        #expect(!cache.claimRefresh(of: query.key))
        #expect(cache.claimRefresh(of: query.key))
    }

    @Test func `an entry without margin, and one that is not there, are never claimed`() throws {
        let cache = try cache(lifetime: 100, margin: 0)
        _ = cache.reply(to: query, at: at(1_001))
        #expect(!cache.claimRefresh(of: query.key))
        #expect(!cache.claimRefresh(of: TestQuery("other.example.com").key))
    }

    @Test(
        arguments: [
            (9, 0), (10, 3), (30, 3), (60, 6), (300, 30), (86_400, 8_640), (604_800, 60_480), (1 << 30, 65_535),
        ] as [(UInt32, UInt32)])
    func `the margin is a tenth of the lifetime, if that is not too short`(lifetime: UInt32, margin: UInt32) throws {
        #expect(FreshnessPolicy().refreshMargin(lifetime: lifetime) == margin)
        #expect(FreshnessPolicy(prefetches: false).refreshMargin(lifetime: lifetime) == 0)
        #expect(try cache(lifetime: lifetime, margin: margin).entry(for: query.key)?.refreshMargin == margin)
    }

    @Test func `RCODE and denial are stored beside each other`() throws {
        for code in [ResponseCode.noError, .nameError] {
            for isNegative in [false, true] {
                let cache = MemoryCache(memory: 1 << 20)
                let answer = try #require(PackedAnswer(Answer(responseCode: code), for: query.question))
                let entry = CacheEntry(
                    answer: answer, storedAt: at(0), lifetime: 1, generation: 1, isNegative: isNegative)
                cache.store(entry, for: query.key)
                #expect(cache.entry(for: query.key) == entry)
            }
        }
    }

    @Test func `an entry's fixed fields take 38 bytes`() { #expect(MemoryLayout<EntryHeader>.size == 38) }
}
