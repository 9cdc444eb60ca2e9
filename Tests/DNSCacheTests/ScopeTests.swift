import DNSCache
import DNSWire
import Testing

/// Answers that are cached for one client network each.
struct ScopeTests {
    private let cache = MemoryCache(memory: 1 << 20)
    private let question = Question(name: name("www.example.com"), type: .a)
    private let scopes: [ClientScope?] =
        [nil, .undisclosed]
        + ["192.0.2.0/24", "192.0.3.0/24", "2001:db8::/56"]
        .map { text in AddressPrefix(text).map { .network($0) } }

    private func key(_ scope: ClientScope?) -> QueryKey {
        QueryKey(question, dnssecOK: false, checkingDisabled: true, scope: scope)
    }

    private func fill() throws {
        for (number, scope) in scopes.enumerated() {
            let answer = Answer(name: question.name, addresses: [.v4(UInt32(number))], ttl: 60)
            let entry = CacheEntry(
                answer: try #require(PackedAnswer(answer, for: question)), storedAt: at(1_000), lifetime: 60,
                generation: 1)
            #expect(cache.store(entry, for: key(scope)))
        }
    }

    @Test func `a walk meets each with its scope, and the key that it makes is the answer's own`() throws {
        try fill()
        var met: [CachedAnswer] = []
        var cursor: CacheCursor? = .start
        while let place = cursor {
            let step = cache.walk(from: place, slots: 64) { $0 == question.name }
            met += step.answers
            cursor = step.next
        }
        #expect(Set(met.map(\.scope)) == Set(scopes))
        for answer in met {
            #expect(answer.name == question.name)
            #expect(answer.checkingDisabled)
            #expect(cache.entry(for: answer.key()) == answer.entry)
            cache.remove(answer.key())
        }
        #expect(cache.statistics.entries == 0)
    }

    @Test func `they survive a change of the cache's size`() throws {
        try fill()
        for part in 0..<cache.partCount { cache.rebuild(part: part, memory: 2 << 20, policy: FreshnessPolicy()) }
        for (number, scope) in scopes.enumerated() {
            let entry = try #require(cache.entry(for: key(scope)))
            #expect(entry.answer.unpacked(for: question)?.addresses == [.v4(UInt32(number))])
        }
    }
}
