import DNSCache
import DNSResolver
import DNSWire
import TestSupport

/// What happens in one simulated world: generated from a seed before anything begins, so that any part of it can be
/// left out while the rest stays as it was.
struct SimulationPlan: Sendable {
    /// The names that clients ask for; the index is the name's number.
    static let names = [
        "www.example.com", "api.example.com", "a.lan.example.com", "cdn.example.net", "shop.other.org", "other.org",
        "nas",
    ]

    /// An HTTPDNS provider; each policy may or may not use it.
    struct Provider: Sendable {
        var addresses: Int
        var answersBothFamilies: Bool
        var answersAnyType: Bool
        var isAuthenticated: Bool
        var names: [String]
        /// Whether clients' networks are sent to it.
        var receivesNetworks: Bool
        /// Whether it is asked beside another provider that is slow.
        var mayHedge: Bool
    }

    /// An entry of `[preset]`.
    struct Preset: Sendable {
        var name: String
        var isWildcard: Bool
        var types: [RecordType]
    }

    /// One configuration.
    struct Policy: Sendable {
        var mode: Mode
        var protect: [String]
        var bypass: [String]
        /// The suffixes of each `[[forward]]`, and the number of its set of servers.
        var forwards: [(suffixes: [String], servers: Int)]
        var searchDomains: [String]
        /// In the order in which they are asked.
        var providers: [Int]
        var localDNS: Int
        var presets: [Preset]
        var lastResort: [Preset]
        var families: FamilyPreference
        var certificates: RaceRules.CertificateCheck
        var unverified: [String]
        var guardsServiceBindings: Bool
        var freshness: FreshnessPolicy
        var preresolve: [String]
    }

    /// Clients that ask the same at the same time.
    struct Asking: Sendable {
        var name: Int
        var types: [RecordType]
        var isSigned = false
        var times = 1
        /// The index of the first client in `SimulatedClient.all`; the others follow it there.
        var client = 0
        /// How long their queries have waited before they reached the resolver: an early client leaves before its
        /// answer is there.
        var lateness: Duration = .zero
    }

    enum Step: Sendable {
        case ask(Asking)
        case pass(Duration)
        case conduct(server: Int, Conduct)
        case replacePolicy(Int)
        /// A reload that changes nothing that affects answers.
        case reload
        case turn(on: Bool)
        case changeNetwork
        case flush(name: Int?)
        /// The number of an attack, which goes on during the steps that follow.
        case attack(Int)
    }

    var providers: [Provider] = []
    /// The number of bits of an IPv4 address that form a client's network.
    var networkBits = 24
    var policies: [Policy] = []
    /// The conduct of each server at the start, in the order of `SimulatedWorld.servers`.
    var conducts: [Conduct] = []
    var steps: [Step] = []
    var attacks: [Attack] = []

    /// The number of LocalDNS servers, and of sets of forward servers.
    static let localDNSCount = 2
    static let forwarderCount = 2

    init(seed: UInt64) {
        var lots = SeededNumbers(seed)
        for _ in 0..<lots.number(1...3) { providers.append(.init(&lots)) }
        networkBits = lots.pick([16, 24])
        for _ in 0..<lots.number(1...3) { policies.append(.init(&lots, providers: providers.count)) }
        let servers = providers.reduce(0) { $0 + $1.addresses } + Self.localDNSCount + Self.forwarderCount
        // In some worlds all servers work at first, or few faults could show.
        let isHealthy = lots.happens(1, in: 3)
        for _ in 0..<servers {
            var conduct = Conduct(&lots)
            if isHealthy { conduct.reply = .addresses }
            conducts.append(conduct)
        }
        let rounds = lots.number(4...16)
        // Few names, so that each is asked for repeatedly.
        let names = (0..<lots.number(1...3)).map { _ in lots.number(0...(Self.names.count - 1)) }
        for _ in 0..<rounds { addRound(&lots, names: names, servers: servers) }
        addScenes(seed: seed, on: names)
    }

    /// The number of a name: for a name that honest clients ask for, its place in `names`; for an attacker's name, that
    /// of its domain, counted after these.
    static func number(of name: Name) -> Int? {
        let text = name.description
        return names.firstIndex(of: text)
            ?? Attack.domains.firstIndex { text.isWithin($0) }.map { names.count + $0 }
    }

    /// The name of this number; for an attacker's number, the domain.
    static func name(_ number: Int) -> String {
        isAttackers(number) ? Attack.domains[number - names.count] : names[number]
    }

    /// Whether the name of this number is one of an attacker.
    static func isAttackers(_ number: Int) -> Bool { number >= names.count }

    private mutating func addRound(_ lots: inout SeededNumbers, names: [Int], servers: Int) {
        switch lots.number(0...13) {
        case 0: steps.append(.replacePolicy(lots.number(0...(policies.count - 1))))
        case 1: steps.append(lots.happens(1, in: 3) ? .reload : .turn(on: lots.happens(1, in: 2)))
        case 2: steps.append(.changeNetwork)
        case 3: steps.append(.flush(name: lots.happens(1, in: 2) ? nil : lots.pick(names)))
        case 4...6: steps.append(.conduct(server: lots.number(0...(servers - 1)), Conduct(&lots)))
        case 7:
            // Many servers fail, or recover, together.
            let conduct = Conduct(&lots)
            for server in 0..<servers where lots.happens(1, in: 2) { steps.append(.conduct(server: server, conduct)) }
        default: break
        }
        if lots.happens(1, in: 12) {
            // More addresses than can be checked at once.
            for name in Self.names.indices {
                steps.append(.ask(Asking(name: name, types: [.a, .aaaa])))
            }
        }
        for _ in 0..<lots.number(1...3) {
            let types: [RecordType] =
                switch lots.number(0...9) {
                case 0...2: [.a]
                case 3...4: [.aaaa]
                case 5...7: [.a, .aaaa]
                case 8: [.https]
                default: [.https, .aaaa, .a]
                }
            steps.append(
                .ask(
                    Asking(
                        name: lots.pick(names), types: types, isSigned: lots.happens(1, in: 12),
                        times: lots.happens(1, in: 6) ? 3 : 1,
                        client: lots.number(0...(SimulatedClient.all.count - 1)),
                        lateness: lots.happens(1, in: 10) ? lots.pick(Self.latenesses) : .zero)))
            if lots.happens(1, in: 3) { steps.append(.pass(.milliseconds(lots.number(0...900)))) }
        }
        steps.append(.pass(lots.pick(Self.pauses)))
    }

    private static let latenesses: [Duration] = [
        .milliseconds(300), .seconds(1), .seconds(2), .milliseconds(2_200), .milliseconds(2_299), .seconds(4),
    ]

    private static let pauses: [Duration] = [
        .zero, .milliseconds(20), .milliseconds(150), .milliseconds(350), .milliseconds(700), .seconds(1), .seconds(2),
        .seconds(3), .seconds(3), .seconds(5), .seconds(9), .seconds(12), .seconds(28), .seconds(31), .seconds(58),
        .seconds(61), .seconds(75), .seconds(200), .seconds(290), .seconds(601), .seconds(1_800), .seconds(3_550),
        .seconds(3_700), .seconds(7_300), .seconds(86_000),
    ]
}

extension SimulationPlan.Provider {
    fileprivate init(_ lots: inout SeededNumbers) {
        addresses = lots.number(1...2)
        answersBothFamilies = lots.happens(2, in: 3)
        answersAnyType = lots.happens(1, in: 2)
        isAuthenticated = lots.happens(3, in: 4)
        names = lots.happens(1, in: 6) ? [lots.pick(["example.com", "other.org"])] : []
        receivesNetworks = lots.happens(1, in: 5)
        mayHedge = lots.happens(3, in: 4)
    }
}

extension SimulationPlan.Preset {
    fileprivate init(_ lots: inout SeededNumbers) {
        isWildcard = lots.happens(1, in: 4)
        name = isWildcard ? lots.pick(["example.com", "other.org"]) : lots.pick(SimulationPlan.names)
        types = lots.pick([[.a], [.aaaa], [.a, .aaaa]])
    }
}

extension SimulationPlan.Policy {
    private static let suffixes = [
        "example.com", "lan.example.com", "www.example.com", "example.net", "org", "other.org",
    ]

    fileprivate init(_ lots: inout SeededNumbers, providers count: Int) {
        mode = lots.pick([.httpdnsFirst, .httpdnsFirst, .httpdnsFirst, .localDNSFirst, .httpdnsOnly, .localDNSOnly])
        protect = lots.happens(1, in: 3) ? lots.some(of: Self.suffixes) : []
        bypass = lots.happens(1, in: 4) ? lots.some(of: Self.suffixes) : []
        forwards = []
        if lots.happens(1, in: 5) { forwards.append((lots.some(of: Self.suffixes), lots.number(0...1))) }
        searchDomains = lots.happens(1, in: 6) ? ["example.net"] : []
        var order = Array(0..<count)
        order.shuffle(using: &lots)
        providers = lots.happens(3, in: 4) ? order : Array(order.prefix(lots.number(0...count)))
        localDNS = lots.number(0...1)
        presets = lots.happens(1, in: 8) ? [.init(&lots)] : []
        lastResort = lots.happens(1, in: 6) ? [.init(&lots)] : []
        families = lots.happens(1, in: 4) ? lots.pick([.ipv4, .ipv6, .ipv4Only, .ipv6Only]) : .both
        certificates = lots.pick([.auto, .auto, .strict, .lenient, .off])
        unverified = lots.happens(1, in: 8) ? ["other.org"] : []
        guardsServiceBindings = lots.happens(4, in: 5)
        freshness = FreshnessPolicy(
            minTTL: lots.pick([.zero, .zero, .seconds(20), .seconds(90)]),
            maxTTL: lots.pick([.seconds(86_400), .seconds(600)]),
            negativeTTL: .seconds(30), staleMax: lots.pick([.seconds(86_400), .seconds(86_400), .zero]),
            staleWait: lots.pick([.milliseconds(200), .zero]), prefetches: lots.happens(3, in: 4))
        preresolve = lots.happens(1, in: 6) ? lots.some(of: SimulationPlan.names) : []
    }
}

extension SeededNumbers {
    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

    mutating func happens(_ times: Int, in all: Int) -> Bool { number(1...all) <= times }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[number(0...(elements.count - 1))] }

    /// A random selection of at least one.
    mutating func some<Element>(of elements: [Element]) -> [Element] {
        let few = elements.filter { _ in happens(1, in: 3) }
        return few.isEmpty ? [pick(elements)] : few
    }
}
