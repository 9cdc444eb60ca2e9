import DNSCache
import DNSWire
import Testing

struct FreshnessTests {
    let policy = FreshnessPolicy()

    @Test(
        arguments: [
            (0, 300, Freshness.fresh(remaining: 300)),
            (299, 300, .fresh(remaining: 1)),
            (300, 300, .stale(isYoung: true)),
            (600, 300, .stale(isYoung: true)),
            (601, 300, .stale(isYoung: false)),
            (3_600 + 3_600, 3_600, .stale(isYoung: true)),
            (3_600 + 3_601, 3_600, .stale(isYoung: false)),
            // 100 x 300 s is less than a day.
            (300 + 30_000, 300, .stale(isYoung: false)),
            (300 + 30_001, 300, .dead),
            // Never less than an hour.
            (5 + 3_600, 5, .stale(isYoung: false)),
            (5 + 3_601, 5, .dead),
            // Never more than a day.
            (86_400 + 86_400, 86_400, .stale(isYoung: true)),
            (86_400 + 86_401, 86_400, .dead),
        ] as [(UInt32, UInt32, Freshness)])
    func `an answer is fresh, then stale and young for as long, then old, then dead`(
        age: UInt32, lifetime: UInt32, freshness: Freshness
    ) {
        #expect(policy.freshness(age: age, lifetime: lifetime) == freshness)
    }

    @Test(
        arguments: [
            (Duration.zero, 0), (.seconds(2), 2), (.milliseconds(1_500), 2),
            (Duration(secondsComponent: 0, attosecondsComponent: 1), 1), (.seconds(1), 1), (.milliseconds(-1), 0),
            (.seconds(-1), 0), (.seconds(0x7fff_fffe) + .milliseconds(1), 0x7fff_ffff),
            (.seconds(0x7fff_ffff) + .milliseconds(1), 0x7fff_ffff),
        ] as [(Duration, UInt32)])
    func `a setting counts in whole seconds, and part of one as one`(setting: Duration, seconds: UInt32) {
        #expect(FreshnessPolicy(minTTL: setting).minTTL == seconds)
    }

    @Test(
        arguments: [
            (0, 60, 0), (1, 60, 3_600), (86_400, 0, 3_600), (86_400, 36, 3_600), (86_400, 37, 3_700),
            (86_400, 863, 86_300), (86_400, 864, 86_400), (86_400, 865, 86_400), (86_400, .max, 86_400),
        ] as [(Int64, UInt32, UInt32)])
    func `a stale answer may be served for 100 times its TTL, at least an hour, and at most as set`(
        staleMax: Int64, lifetime: UInt32, seconds: UInt32
    ) {
        #expect(FreshnessPolicy(staleMax: .seconds(staleMax)).staleWindow(lifetime: lifetime) == seconds)
    }

    @Test func `the defaults are those of the settings`() {
        #expect(policy.minTTL == 0 && policy.maxTTL == 86_400 && policy.negativeTTL == 30)
        #expect(policy.staleMax == 86_400 && policy.staleWait == .milliseconds(200) && policy.prefetches)
    }

    @Test func `without serve-stale an answer is dead when it expires`() {
        let policy = FreshnessPolicy(staleMax: .zero)
        #expect(policy.freshness(age: 59, lifetime: 60) == .fresh(remaining: 1))
        #expect(policy.freshness(age: 60, lifetime: 60) == .dead)
    }

    @Test func `the largest values overflow nothing`() {
        let policy = FreshnessPolicy(staleMax: .seconds(Int64.max))
        #expect(policy.freshness(age: .max - 1, lifetime: 0x7fff_ffff) != .dead)
        #expect(policy.freshness(age: .max, lifetime: 1) == .dead)
    }

    @Test func `age is measured between instants, also across the wrap of 32 bits`() throws {
        let packed = try #require(PackedAnswer(Answer(), for: Question(name: .root, type: .a)))
        var entry = CacheEntry(answer: packed, storedAt: at(0xffff_ffff), lifetime: 60, generation: 1)
        #expect(entry.freshness(at: at(0x1_0000_0009), policy) == .fresh(remaining: 50))
        entry.storedAt = at(1_000)
        #expect(entry.freshness(at: at(990), policy) == .fresh(remaining: 60))
    }
}

struct FreshnessPolicyTests {
    let question = Question(name: name("www.example.com"), type: .a)

    private func soa(ttl: UInt32, minimum: UInt32) -> Record {
        var record = Record.negativeSOA(for: name("example.com"), ttl: minimum)
        record.ttl = ttl
        return record
    }

    private func normalized(
        _ answer: Answer, _ policy: FreshnessPolicy = FreshnessPolicy()
    ) -> (answer: Answer, lifetime: UInt32) {
        let normalized = policy.normalized(answer, for: question)
        return (normalized, policy.lifetime(of: normalized, for: question.type))
    }

    @Test func `the records of an RRset share the least TTL, other RRsets have their own`() {
        let alias = Record(name: question.name, type: .cname, ttl: 600, rdata: name("cdn.example.net").wire)
        let addresses = zip([1, 2, 3] as [UInt32], [90, 60, 120] as [UInt32]).map { address, ttl in
            Record(name: name(address == 2 ? "CDN.example.net" : "cdn.example.net"), address: .v4(address), ttl: ttl)
        }
        let result = normalized(Answer(answers: [alias] + addresses))
        #expect(result.answer.answers.map(\.ttl) == [600, 60, 60, 60])
        #expect(result.lifetime == 60)
    }

    @Test func `a signature shares the TTL of the set that it covers`() {
        let address = Record(name: question.name, address: .v4(1), ttl: 60)
        let signature = Record(
            name: question.name, type: .rrsig, ttl: 300, rdata: [0, 1] + Array(repeating: 0, count: 20))
        let other = Record(
            name: question.name, type: .rrsig, ttl: 300, rdata: [0, 28] + Array(repeating: 0, count: 20))
        #expect(normalized(Answer(answers: [address, signature, other])).answer.answers.map(\.ttl) == [60, 60, 300])
    }

    @Test(arguments: [(5, 30), (30, 30), (70, 70), (900, 600), (0xffff_ffff, 30)] as [(UInt32, UInt32)])
    func `TTLs are limited to the configured bounds`(ttl: UInt32, clamped: UInt32) {
        let policy = FreshnessPolicy(minTTL: .seconds(30), maxTTL: .seconds(600))
        let result = normalized(Answer(name: question.name, addresses: [.v4(1)], ttl: ttl), policy)
        #expect(result.answer.answers.map(\.ttl) == [clamped])
        #expect(result.lifetime == clamped)
    }

    @Test func `a record below the lower bound is raised beside one that is at it`() {
        let policy = FreshnessPolicy(minTTL: .seconds(30))
        var answer = Answer(name: question.name, addresses: [.v4(1), .v4(2)], ttl: 30)
        for ttl in [5, 30, 0xffff_ffff] as [UInt32] {
            answer.answers[1].ttl = ttl
            #expect(normalized(answer, policy).answer.answers.map(\.ttl) == [30, 30])
        }
    }

    @Test func `an answer with TTL 0 is not cached`() {
        #expect(normalized(Answer(name: question.name, addresses: [.v4(1)], ttl: 0)).lifetime == 0)
    }

    @Test(
        arguments: [(900, 60, 60), (60, 900, 60), (0, 900, 0), (86_400, 86_400, 10_800)] as [(UInt32, UInt32, UInt32)])
    func `a negative answer lives as long as the lesser of its SOA's TTL and MINIMUM`(
        ttl: UInt32, minimum: UInt32, lifetime: UInt32
    ) {
        for code in [ResponseCode.noError, .nameError] {
            let result = normalized(Answer(responseCode: code, authorities: [soa(ttl: ttl, minimum: minimum)]))
            #expect(result.lifetime == lifetime)
            #expect(result.answer.authorities.map(\.ttl) == [lifetime])
        }
    }

    @Test func `the lower bound is not for negative answers, the upper is`() {
        let raised = FreshnessPolicy(minTTL: .seconds(600))
        #expect(normalized(Answer(authorities: [soa(ttl: 60, minimum: 60)]), raised).lifetime == 60)
        let cut = FreshnessPolicy(maxTTL: .seconds(10))
        #expect(normalized(Answer(authorities: [soa(ttl: 60, minimum: 60)]), cut).lifetime == 10)
        #expect(normalized(Answer(), cut).lifetime == 10)
    }

    @Test func `a negative answer without SOA gets one of ours`() throws {
        let result = normalized(Answer(responseCode: .nameError))
        let soa = try #require(result.answer.authorities.first)
        #expect(soa.type == .soa)
        #expect(soa.name == question.name)
        #expect(soa.ttl == 30)
        #expect(soa.soaMinimum == 30)
        #expect(result.lifetime == 30)
    }

    @Test func `an alias without the type asked for is negative and lives no longer than the alias`() {
        let alias = Record(name: question.name, type: .cname, ttl: 20, rdata: name("cdn.example.net").wire)
        let result = normalized(Answer(answers: [alias], authorities: [soa(ttl: 60, minimum: 60)]))
        #expect(result.lifetime == 20)
    }

    @Test func `a failure is not cached and gets no SOA`() {
        let result = normalized(Answer(responseCode: .serverFailure))
        #expect(result.lifetime == 0)
        #expect(result.answer.authorities.isEmpty)
    }
}
