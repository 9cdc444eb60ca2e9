import DNSResolver
import DNSWire

/// Plays a vector to a race, as what runs a race would: it has the records, and a cache.
struct Replay {
    /// An answer in the vector's words.
    private struct Text {
        var kind: String
        var source: String
        var addresses: [String]
    }

    private let world: JSON
    private var race: Race
    private var names: [String] = []
    /// LocalDNS's addresses for each type.
    private var local: [String: [String]] = [:]
    private var stale: [String: Text] = [:]
    private var cached: [String: Text] = [:]
    private var entries: [String: RaceAnswer] = [:]
    private var clients: [String] = []
    /// Those that wait, the oldest first, and those that have left.
    private var waiting: [(client: Int, part: RacePart, arrived: Int)] = []
    private var gone: Set<Int> = []
    private var asked: [String] = []
    private var checks: [String] = []
    private var replies: [String] = []
    private var again: [String] = []
    /// What each client got for a type: the rank, and when.
    private(set) var given: [String: (rank: RaceAnswer.Rank, at: Int)] = [:]
    /// When each source was asked for a type first.
    private(set) var askedAt: [String: Int] = [:]

    static func run(_ vector: Vector) -> [String] {
        var replay = Replay(vector.world)
        return replay.run(vector.events)
    }

    /// Plays other events than the vector's in its world.
    init(_ vector: Vector, _ events: [(at: Int, event: [JSON])]) {
        self.init(vector.world)
        _ = run(events)
    }

    /// The sources and types whose connection has broken once.
    private var broken: Set<[String]> = []

    private init(_ world: JSON) {
        self.world = world
        for entry in world["stale"].array {
            let kind = entry.array[1].text
            stale[entry.array[0].text] = Text(
                kind: kind, source: "stale", addresses: kind == "addresses" ? ["stale"] : [])
        }
        for entry in world["cached"].array {
            let (type, rank, kind) = (entry.array[0].text, entry.array[1].number ?? 1, entry.array[2].text)
            cached[type] = Text(kind: kind, source: "cache", addresses: kind == "addresses" ? ["cached"] : [])
            entries[type] = RaceAnswer(RaceAnswer.Rank(rawValue: UInt8(rank)) ?? .provider, Self.kind(kind), .cache)
        }
        race = Race(Self.rules(world, stale: Self.stale(world), cached: Self.cached(world)))
        names = Self.line(world)
    }

    private mutating func run(_ events: [(at: Int, event: [JSON])]) -> [String] {
        var todo = events[...]
        var now = -1
        while true {
            let due = race.wake.map { Int($0.nanoseconds / 1_000_000) }
            if let next = todo.first, due.map({ next.at <= $0 }) ?? true {
                todo.removeFirst()
                now = next.at
                if next.event[0].text == "change" {
                    change(next.event[1].text, at: now)
                } else {
                    apply(event(next.event, at: now), at: now)
                }
            } else if let due {
                now = due
                apply(.time, at: now)
            } else {
                break
            }
        }
        return asked + checks + replies + again
            + ["A", "AAAA"].compactMap { type in entries[type].map { "end cache \(type) \(text($0, type))" } }
    }

    private mutating func apply(_ event: RaceEvent, at now: Int) {
        for effect in race.apply(event, at: Self.instant(now)) {
            switch effect {
            case .ask(let place, let parts, let address):
                // A lone provider's second source counts its addresses from the second.
                let first = names[place].hasSuffix("/2") ? 1 : 0
                for type in Self.types(parts) where askedAt["\(names[place]) \(type)"] == nil {
                    askedAt["\(names[place]) \(type)"] = now
                }
                asked.append("\(now) ask \(names[place]) \(Self.types(parts)) at \(address - first)")
            case .check(let part, let addresses):
                checks.append("\(now) check \(Self.type(part)) \(self.addresses(addresses, Self.type(part)))")
            case .reply(let client, let part, let answer):
                waiting.removeAll { $0.client == client }
                guard !gone.contains(client) else { continue }
                let type = Self.type(part)
                given["\(clients[client]) \(type)"] = (answer.rank, now)
                replies.append("\(now) give \(clients[client]) \(type) \(text(answer, type))")
            case .store(let part, let answer):
                cached[Self.type(part)] = described(answer, Self.type(part))
                entries[Self.type(part)] = answer
            case .drop(let part): entries[Self.type(part)] = nil
            case .again(let client, let part): again.append("\(now) again \(clients[client]) \(Self.type(part))")
            }
        }
    }

    // MARK: The vector's words

    private mutating func event(_ event: [JSON], at now: Int) -> RaceEvent {
        func place() -> Int { names.firstIndex(of: event[1].text) ?? 0 }
        switch event[0].text {
        case "join":
            clients.append(event[1].text)
            waiting.append((clients.count - 1, Self.part(event[2].text), now))
            return .joined(clients.count - 1, Self.part(event[2].text))
        case "leave":
            // Leaving is no event of a race: what such a client is given is not recorded.
            gone.insert(clients.lastIndex(of: event[1].text) ?? 0)
            return .time
        case "late": return .timeUp(clients.lastIndex(of: event[1].text) ?? 0)
        case "reply":
            var replies: [String: RaceReply] = [:]
            for entry in event[2].array { replies[entry.array[0].text] = Self.reply(entry.array[1].text, count: 1) }
            return .replied(place(), a: replies["A"], aaaa: replies["AAAA"])
        case "local":
            let type = event[1].text
            let place = names.firstIndex(of: "LocalDNS") ?? 0
            local[type] = event[3].texts
            let reply = Self.reply(event[2].text, count: event[3].array.count)
            return .replied(place, a: type == "A" ? reply : nil, aaaa: type == "AAAA" ? reply : nil)
        case "verdict":
            let type = event[1].text
            let verdicts: [String: AddressVerdict] = [
                "proved": .verified, "another's": .forged, "unproved": .unverified, "wrong time": .wrongTime,
            ]
            let address = local[type]?.firstIndex(of: event[2].text) ?? 0
            return .checked(Self.part(type), address, verdicts[event[3].text] ?? .unverified)
        case "fail": return .failed(place(), Self.parts(event[2].texts))
        case "refuse": return .refused(place(), Self.parts(event[2].texts))
        case "busy": return .busy(place(), .both)
        case "broken":
            // What sends it again does not tell the race, but that it has failed after the second time.
            return broken.insert([event[1].text] + event[2].texts).inserted
                ? .time : .failed(place(), Self.parts(event[2].texts))
        case "probe": return .probed(place(), isUp: event[2].isTrue)
        default: return .time
        }
    }

    /// Section 7: what the cache has after another policy, or on another network.
    private mutating func change(_ what: String, at now: Int) {
        var stale = Self.stale(world)
        var fresh: [String: RaceRules.Cached] = [:]
        for (type, entry) in entries {
            if what == "network", entry.rank <= .verified {
                stale[type] = RaceRules.Stale(entry.kind, isYoung: true)
                self.stale[type] = cached[type]
            } else if what == "policy", entry.rank == .provider {
                fresh[type] = RaceRules.Cached(.provider, entry.kind)
                continue
            }
            entries[type] = nil
        }
        let clients = waiting
        let end = Self.instant((clients.first?.arrived ?? now) + 2_300)
        race = Race(Self.rules(world, stale: stale, cached: fresh), ends: end)
        for (client, part, _) in clients { apply(.joinedLate(client, part), at: now) }
    }

    private func text(_ answer: RaceAnswer, _ type: String) -> String {
        let described = described(answer, type)
        let life = answer.life.map { "\($0) s" } ?? "its TTL"
        return
            "rank \(answer.rank.rawValue) \(described.kind) of \(described.source) \(described.addresses) for \(life)"
    }

    private func described(_ answer: RaceAnswer, _ type: String) -> Text {
        let kinds: [RaceAnswer.Kind: String] = [
            .records: "addresses", .noData: "nodata", .nxDomain: "nxdomain", .serverFailure: "servfail",
        ]
        var text = Text(kind: kinds[answer.kind] ?? "", source: "", addresses: [])
        switch answer.origin {
        case .source(let place):
            text.source = names[place]
            if answer.kind == .records {
                text.addresses = text.source == "LocalDNS" ? local[type] ?? [] : ["\(text.source)/\(type)"]
            }
        case .localDNS(let addresses):
            text.source = "LocalDNS"
            text.addresses = self.addresses(addresses, type)
        case .stale: text = stale[type] ?? text
        case .cache: text = cached[type] ?? text
        case .preset: (text.source, text.addresses) = ("preset", answer.kind == .records ? ["preset"] : [])
        case .family: text.source = "family"
        case .translation: text.source = "translation"
        case .suppressed: text.source = "suppressed"
        case .nowhere(let isForged): text.source = isForged ? "forged" : "none"
        }
        return text
    }

    private func addresses(_ addresses: RaceAnswer.Addresses, _ type: String) -> [String] {
        (local[type] ?? []).enumerated().filter { addresses.contains(.at($0.offset)) }.map(\.element)
    }

    private static func rules(
        _ world: JSON, stale: [String: RaceRules.Stale], cached: [String: RaceRules.Cached]
    ) -> RaceRules {
        let modes: [String: RaceRules.Mode] = [
            "httpdns-first": .httpdnsFirst, "localdns-first": .localDNSFirst, "httpdns-only": .httpdnsOnly,
            "portal": .portal,
        ]
        let checks: [String: RaceRules.CertificateCheck] = ["strict": .strict, "lenient": .lenient, "off": .off]
        var rules = RaceRules(
            modes[world["mode"].text] ?? .httpdnsFirst,
            world["providers"].array.enumerated().map { number, provider in
                RaceRules.Source(
                    provider: number, answersBoth: provider["both"].isTrue, mayHedge: provider["hedge"].isTrue,
                    health: health(provider["health"].text), addresses: provider["addresses"].number ?? 1)
            },
            localDNS: RaceRules.Source(provider: nil, answersBoth: true, health: health(world["local"].text)),
            check: checks[world["check"].text] ?? .auto, isListed: world["listed"].isTrue,
            isUnverified: world["unverified"].isTrue)
        rules.isClockWrong = world["clock_wrong"].isTrue
        rules.isInSearchDomain = world["search"].isTrue
        func preset(_ type: String) -> RaceAnswer.Kind? {
            world["preset"].isNull ? nil : world["preset"].texts.contains(type) ? .records : .noData
        }
        rules.a = RaceRules.Known(stale: stale["A"], cached: cached["A"], preset: preset("A"))
        rules.aaaa = RaceRules.Known(stale: stale["AAAA"], cached: cached["AAAA"], preset: preset("AAAA"))
        return rules
    }

    private static func stale(_ world: JSON) -> [String: RaceRules.Stale] {
        var all: [String: RaceRules.Stale] = [:]
        for entry in world["stale"].array {
            all[entry.array[0].text] = RaceRules.Stale(
                kind(entry.array[1].text), isYoung: entry.array[2].text == "young")
        }
        return all
    }

    private static func cached(_ world: JSON) -> [String: RaceRules.Cached] {
        var all: [String: RaceRules.Cached] = [:]
        for entry in world["cached"].array {
            let rank = RaceAnswer.Rank(rawValue: UInt8(entry.array[1].number ?? 1)) ?? .provider
            all[entry.array[0].text] = RaceRules.Cached(
                rank, kind(entry.array[2].text), isEnding: entry.array[3].isTrue)
        }
        return all
    }

    private static func line(_ world: JSON) -> [String] {
        var providers = world["providers"].array.map { $0["name"].text }
        if providers.count == 1, world["providers"].array[0]["addresses"].number ?? 1 > 1 {
            providers.append(providers[0] + "/2")
        }
        return switch world["mode"].text {
        case "httpdns-only": providers
        case "localdns-first", "portal": ["LocalDNS"] + providers
        default: providers.prefix(2) + ["LocalDNS"] + providers.dropFirst(2)
        }
    }

    private static func instant(_ milliseconds: Int) -> Instant {
        Instant(nanoseconds: Int64(milliseconds) * 1_000_000)
    }

    private static func health(_ text: String) -> RaceRules.Health {
        ["backoff": .backoff, "probed": .probed][text] ?? .usable
    }

    private static func kind(_ text: String) -> RaceAnswer.Kind {
        ["addresses": .records, "nxdomain": .nxDomain][text] ?? .noData
    }

    private static func reply(_ text: String, count: Int) -> RaceReply {
        switch text {
        case "addresses": .records(count)
        case "nodata": .noData
        case "nxdomain": .nxDomain
        default: .empty
        }
    }

    private static func part(_ type: String) -> RacePart { type == "A" ? .a : .aaaa }

    private static func type(_ part: RacePart) -> String { part == .a ? "A" : "AAAA" }

    private static func parts(_ types: [String]) -> RaceParts {
        types.reduce(into: []) { $0.insert(RaceParts(part($1))) }
    }

    private static func types(_ parts: RaceParts) -> [String] {
        (parts.contains(.a) ? ["A"] : []) + (parts.contains(.aaaa) ? ["AAAA"] : [])
    }
}
