import DNSCache
import DNSWire

/// One type of a flight: what its sources have answered, and what its clients were given. An object: each step refers to it.
@Loop
final class FlightLane {
    /// What a source has answered.
    struct Found {
        /// The source's place in the line.
        var place: Int
        var answer: Answer
        var source: Source
        var server: String
        /// Seconds for which it may be used at most, of an answer from the shared cache; nil: it is not from there.
        var sharedFor: UInt32?
        /// Whether it is stored, and not only given.
        var isStored = true
    }

    let type: RecordType
    var found = ShortList<Found>()
    /// LocalDNS's answer to a protected name, the server that gave it, and its addresses, each once.
    var local: Found?
    var localAddresses: [IPAddress] = []
    /// Whether there was no room or time for the check of one of them.
    var hasUnchecked = false
    /// Why the providers, and LocalDNS, have failed.
    var providerFailure: UpstreamFailure?
    var localFailure: UpstreamFailure?
    /// What was stored last, and what clients get of it.
    struct Given {
        let answer: RaceAnswer
        let outcome: FlightClients.Outcome
    }

    var given: Given?
    /// What the cache had in the beginning.
    private var cached: AnswerStore.Cached?
    private var lastResort: RaceAnswer.Kind?

    init(_ type: RecordType, _ key: FlightKey, _ policy: ResolverPolicy, _ store: AnswerStore) {
        self.type = type
        cached = store.cached(key, type)
        lastResort = policy.lastResort.answer(to: Question(name: key.name, type: type), ttl: 0)
            .map { $0.isNegative(for: type) ? .noData : .records }
    }

    /// Whether clients were given LocalDNS's addresses without proof.
    var isGivenUnverified: Bool { given?.answer.rank == .unproved }

    /// What the cache had in the beginning, or when that was past its TTL, where it is stale.
    var stale: AnswerStore.Cached? { cached?.isFresh == false ? cached : nil }

    func forgetCached() { cached = nil }

    /// Looks into the cache again.
    func recall(_ key: FlightKey, _ store: AnswerStore) { cached = store.cached(key, type) }

    /// Whether the cache had an answer within its TTL in the beginning, and nothing was stored since.
    var hasFresh: Bool { given == nil && cached?.isFresh == true }

    /// Whether the cache had an answer of a source in the beginning, fresh or stale.
    var hasAnswer: Bool { cached?.isFromSource ?? false }

    /// What is known of it when the race begins.
    func known(isRefresh: Bool, _ route: Route) -> RaceRules.Known {
        var known = RaceRules.Known(preset: lastResort)
        guard let cached else { return known }
        if case .stale(let isYoung) = cached.age {
            known.stale = RaceRules.Stale(cached.kind(type), isYoung: isYoung)
            return known
        }
        known.cached = RaceRules.Cached(
            SourceTags.rank(cached.source, by: route), cached.kind(type), isEnding: isRefresh)
        return known
    }

    func answer(at place: Int) -> Found? {
        // Mostly one source has answered.
        if let first = found.first, first.place == place { return first }
        var result: Found?
        found.forEach { if $0.place == place { result = $0 } }
        return result
    }
}

/// The clients that wait for a flight, by numbers that are used once.
@Loop
struct FlightClients {
    /// What the clients of one type get.
    enum Outcome: Sendable {
        case given(Response)
        /// No new answer, and why: what is left is one past its TTL, a preset of last resort, or SERVFAIL.
        case missing(stale: AnswerStore.Cached?, ExtendedError)
    }

    /// Called once: with the outcome, or with nil when the flight was given up and the client is to ask again.
    typealias Completion = @Loop (Outcome?) -> Void

    private struct Client {
        let number: Int
        /// When it must have its answer; nil: by the end of the race.
        let deadline: Instant?
        let done: Completion
    }

    /// The first one, mostly the only one, and the others.
    private var first: Client?
    private var others: [Int: Client] = [:]
    private var lastNumber = 0
    /// The first deadline before the end of the race.
    private(set) var firstDeadline: Instant?

    var count: Int { (first == nil ? 0 : 1) + others.count }

    mutating func add(until deadline: Instant?, _ done: @escaping Completion) -> Int {
        lastNumber += 1
        let client = Client(number: lastNumber, deadline: deadline, done: done)
        if first == nil { first = client } else { others[lastNumber] = client }
        if let deadline { firstDeadline = min(firstDeadline ?? deadline, deadline) }
        return lastNumber
    }

    /// Removes a client; nil when it no longer waits.
    mutating func take(_ number: Int) -> Completion? {
        first?.number == number ? first.take()?.done : others.removeValue(forKey: number)?.done
    }

    /// Removes all, the oldest first.
    mutating func takeAll() -> [Completion] {
        defer { (first, others, firstDeadline) = (nil, [:], nil) }
        return all.sorted { $0.number < $1.number }.map(\.done)
    }

    /// Those whose time is over. Each is to be removed.
    mutating func late(at now: Instant) -> [Int] {
        guard let due = firstDeadline, due <= now else { return [] }
        firstDeadline = all.compactMap(\.deadline).filter { $0 > now }.min()
        return all.filter { $0.deadline.map { $0 <= now } ?? false }.map(\.number)
    }

    private var all: [Client] { (first.map { [$0] } ?? []) + others.values }
}

extension FlightLane.Found {
    /// An answer that is made here.
    init(_ made: Answer, isStored: Bool = true) {
        self.init(place: -1, answer: made, source: .rule, server: "", isStored: isStored)
    }
}

extension AnswerStore.Cached {
    /// Whether it is an answer with this address.
    func holds(_ address: IPAddress, _ type: RecordType, _ name: Name) -> Bool {
        switch response.content {
        case .answer(let answer, _), .stale(let answer):
            answer.unpacked(for: Question(name: name, type: type))?.addresses.contains(address) ?? false
        case .failure: false
        }
    }

    /// What it says of a type.
    func kind(_ type: RecordType) -> RaceAnswer.Kind {
        switch response.content {
        case .answer(let answer, _), .stale(let answer):
            answer.responseCode == .nameError ? .nxDomain : answer.holds(type) ? .records : .noData
        case .failure: .serverFailure
        }
    }
}

extension Answer {
    /// What it says of a type, for a race.
    func said(_ type: RecordType) -> RaceReply {
        responseCode == .nameError ? .nxDomain : isNegative(for: type) ? .noData : .records(1)
    }
}
