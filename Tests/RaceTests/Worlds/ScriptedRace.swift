import DNSResolver
import DNSWire

/// A race played to its end, or to a time: events at milliseconds, and what came of them.
struct ScriptedRace {
    struct Ask: Hashable {
        let at: Int
        let place: Int
        let parts: RaceParts
        let address: Int

        init(_ at: Int, _ place: Int, _ parts: RaceParts, address: Int = 0) {
            (self.at, self.place, self.parts, self.address) = (at, place, parts, address)
        }
    }

    struct Reply: Hashable {
        let at: Int
        let client: Int
        let part: RacePart
        let answer: RaceAnswer

        init(_ at: Int, _ client: Int, _ part: RacePart, _ answer: RaceAnswer) {
            (self.at, self.client, self.part, self.answer) = (at, client, part, answer)
        }
    }

    private var race: Race
    /// Whether anything that comes could still change what it gives.
    var isRunning: Bool { race.isRunning }
    private(set) var asked: [Ask] = []
    private(set) var checks: [RaceAnswer.Addresses] = []
    private(set) var replies: [Reply] = []
    /// The last answer that was stored of each type.
    private(set) var stored: [RacePart: RaceAnswer] = [:]
    /// The clients that belong to another race.
    private(set) var sentAway: [Int] = []

    init(_ rules: RaceRules, _ events: [(at: Int, event: RaceEvent)], until end: Int = .max) {
        race = Race(rules)
        var left = events[...]
        var now = -1
        while true {
            let due = race.wake.map { Int($0.nanoseconds / 1_000_000) }
            // Of what comes at the same time, the tick is the last.
            if let next = left.first, due.map({ next.at <= $0 }) ?? true {
                left.removeFirst()
                now = next.at
                apply(next.event, now)
            } else if let due, due <= end {
                now = due
                apply(.time, now)
            } else {
                break
            }
        }
    }

    private mutating func apply(_ event: RaceEvent, _ now: Int) {
        for effect in race.apply(event, at: Self.instant(now)) {
            switch effect {
            case .ask(let place, let parts, let address): asked.append(Ask(now, place, parts, address: address))
            case .check(_, let addresses): checks.append(addresses)
            case .reply(let client, let part, let answer): replies.append(Reply(now, client, part, answer))
            case .store(let part, let answer): stored[part] = answer
            case .drop(let part): stored[part] = nil
            case .again(let client, _): sentAway.append(client)
            }
        }
    }

    private static func instant(_ milliseconds: Int) -> Instant {
        Instant(nanoseconds: Int64(milliseconds) * 1_000_000)
    }
}

extension RaceRules.Source {
    static let first = Self(provider: 0)
    static let second = Self(provider: 1)
    static let third = Self(provider: 2)
}

extension RaceAnswer {
    /// The addresses of the provider at this place of the line.
    static func addresses(of place: Int) -> Self { Self(.provider, .records, .source(place)) }

    /// LocalDNS's addresses, verified.
    static func verified(_ addresses: Addresses, life: UInt32 = 30) -> Self {
        Self(.verified, .records, .localDNS(addresses), life: life)
    }

    /// LocalDNS's addresses, not verified.
    static func unverified(_ addresses: Addresses) -> Self {
        Self(.unproved, .records, .localDNS(addresses), life: 30)
    }

    static let staleAddresses = Self(.stale, .records, .stale, life: 5)

    /// What a family that failed takes of the other one.
    static func family(_ kind: Kind, _ rank: Rank = .failure) -> Self { Self(rank, kind, .family, life: 5) }

    static func serverFailure(isForged: Bool = false) -> Self {
        Self(.failure, .serverFailure, .nowhere(isForged: isForged), life: 5)
    }
}

extension RaceEvent {
    /// What a source says of both types.
    static func replied(_ place: Int, a: RaceReply?, aaaa: RaceReply?) -> RaceEvent {
        .replied(place, RaceReplies(a: a, aaaa: aaaa))
    }
}
