import DNSWire
import Testing

@testable import DNSCache

/// Walking over the cached answers without counting a use, and resizing the cache.
struct WalkTests {
    private func filled(_ count: Int, memory: Int = 4 << 20) -> MemoryCache {
        let cache = MemoryCache(memory: memory)
        for number in 0..<count {
            let question = Question(name: name("host\(number).example.com"), type: .a)
            let answer = Answer(name: question.name, addresses: [.v4(UInt32(number))], ttl: 60)
            guard let packed = PackedAnswer(answer, for: question) else { continue }
            cache.store(
                CacheEntry(answer: packed, storedAt: at(1_000), lifetime: 60, generation: 1),
                for: QueryKey(question, dnssecOK: false, checkingDisabled: false))
        }
        return cache
    }

    private func all(_ cache: MemoryCache, slots: Int, where isWanted: (Name) -> Bool = { _ in true }) -> [CachedAnswer]
    {
        var answers: [CachedAnswer] = []
        var cursor: CacheCursor? = .start
        while let place = cursor {
            let step = cache.walk(from: place, slots: slots, where: isWanted)
            #expect(step.answers.count <= slots)
            answers += step.answers
            cursor = step.next
        }
        return answers
    }

    @Test(arguments: [1, 7, 1_024]) func `a walk in steps of any length meets every entry once`(slots: Int) {
        let cache = filled(500)
        let names = all(cache, slots: slots).map(\.name)
        #expect(names.count == 500 && Set(names).count == 500)
    }

    @Test func `only wanted names are met`() {
        let met = all(filled(500), slots: 64) { $0 == name("host7.example.com") }
        #expect(met.map(\.name) == [name("host7.example.com")])
        #expect(met.first?.type == .a)
        #expect(met.first?.entry.answer.holds(.v4(7)) == true)
    }

    @Test func `an empty cache is walked to its end, and a cursor that means nothing ends at once`() {
        let cache = filled(0)
        #expect(all(cache, slots: 16).isEmpty)
        for text in ["65535.0", "0.4294967295"] {
            let cursor = CacheCursor(text)
            #expect(cursor.map { cache.walk(from: $0, where: { _ in true }).answers.isEmpty } == true)
        }
        for text in ["", "1", "1.2.3", "1..2", ".1.2", "1.2.", "-1.0", "a.b", "99999.0"] {
            #expect(CacheCursor(text) == nil)
        }
        #expect(CacheCursor("\(CacheCursor(shard: 3, slot: 70_000))") == CacheCursor(shard: 3, slot: 70_000))
    }

    @Test func `a walk gives every part of the keys`() throws {
        let cache = MemoryCache(memory: 1 << 20)
        var stored: Set<[UInt16]> = []
        for type in [1, 257, 65_280] as [UInt16] {
            for flags in 0..<UInt16(4) {
                let question = Question(name: name("www.example.com"), type: RecordType(rawValue: type))
                let answer = try #require(PackedAnswer(Answer(), for: question))
                cache.store(
                    CacheEntry(answer: answer, storedAt: at(1_000), lifetime: 60, generation: 1),
                    for: QueryKey(question, dnssecOK: flags & 1 != 0, checkingDisabled: flags & 2 != 0))
                stored.insert([type, flags])
            }
        }
        let met = all(cache, slots: 64).map { answer in
            let flags: UInt16 = (answer.dnssecOK ? 1 : 0) | (answer.checkingDisabled ? 2 : 0)
            return [answer.type.rawValue, flags]
        }
        #expect(met.count == stored.count && Set(met) == stored)
    }

    @Test(arguments: [[], [3, 97, 98], [3, 97, 98, 99], [200, 0], [0, 5], [1, 97, 0, 5]] as [[UInt8]])
    func `what is no key of an answer is met as none`(bytes: [UInt8]) throws {
        let question = Question(name: .root, type: .a)
        let answer = try #require(PackedAnswer(Answer(), for: question))
        let entry = CacheEntry(answer: answer, storedAt: at(1_000), lifetime: 60, generation: 1)
        let tail: [UInt8] = [0, 1, 0, 1, 0]
        #expect(CachedAnswer(key: [0] + tail, entry: entry, where: { _ in true }) != nil)
        #expect(CachedAnswer(key: bytes, entry: entry, where: { _ in true }) == nil)
        #expect(CachedAnswer(key: bytes + tail, entry: entry, where: { _ in true }) == nil)
    }

    @Test func `a cache that becomes larger or smaller retains what fits`() {
        let cache = filled(500)
        for memory in [16 << 20, 1 << 20] {
            for part in 0..<cache.partCount { cache.rebuild(part: part, memory: memory, policy: FreshnessPolicy()) }
            #expect(cache.statistics.limit == memory)
            #expect(cache.statistics.entries == 500)
            #expect(all(cache, slots: 1_024).allSatisfy { $0.entry.answer.counts.answer == 1 })
        }
        for part in 0..<cache.partCount { cache.rebuild(part: part, memory: 32 << 10, policy: FreshnessPolicy()) }
        #expect((1..<500).contains(cache.statistics.entries))
        #expect(cache.statistics.bytes <= 40 << 10)
    }

    @Test func `hits and misses are counted on over another size`() {
        let cache = filled(1)
        #expect(cache.reply(to: TestQuery("host0.example.com")) != nil)
        #expect(cache.reply(to: TestQuery("other.example.com")) == nil)
        for part in 0..<cache.partCount { cache.rebuild(part: part, memory: 8 << 20, policy: FreshnessPolicy()) }
        #expect(cache.statistics.hits == 1 && cache.statistics.misses == 1)
        #expect(cache.reply(to: TestQuery("host0.example.com")) != nil)
    }
}
