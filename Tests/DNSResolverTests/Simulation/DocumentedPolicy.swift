import DNSCache
import DNSResolver
import DNSWire

// What Documentation/Strategy.md says of one name under a policy, stated in the simplest way and without the resolver's
// own code.

/// The source that answers a name (section 1).
enum DocumentedRoute: Equatable {
    case protect(isListed: Bool)
    case bypass
    /// `entry`: the number of the `[[forward]]` that matches. `servers`: its set of servers.
    case forward(entry: Int, servers: Int)

    var isProtected: Bool { if case .protect = self { true } else { false } }
}

/// The clients that share an answer (Providers.md, "The client's network").
enum DocumentedScope: Hashable {
    case everyone
    /// Clients whose network is not sent to any provider.
    case undisclosed
    case network(String)

    /// The network that is sent, if any.
    var network: String? { if case .network(let network) = self { network } else { nil } }
}

extension Chronicle.Reign {
    /// The scope of the answer that a client receives. A nil `client` stands for a question of the resolver's own.
    func scope(of client: SimulatedClient?, for name: Int, in plan: SimulationPlan) -> DocumentedScope {
        let isSent =
            route(of: name).isProtected
            && policy.providers.contains { number in
                let provider = plan.providers[number]
                return provider.receivesNetworks
                    && (provider.names.isEmpty
                        || provider.names.contains { SimulationPlan.name(name).isWithin($0) })
            }
        guard isSent else { return .everyone }
        return client?.networks[plan.networkBits].map { .network($0) } ?? .undisclosed
    }

    /// The route of every name, by its number (section 1).
    var documentedRoutes: [DocumentedRoute] {
        (0..<SimulationPlan.names.count + Attack.domains.count).map { documentedRoute(of: SimulationPlan.name($0)) }
    }

    func route(of name: Int) -> DocumentedRoute { routes[name] }

    private func documentedRoute(of name: String) -> DocumentedRoute {
        let listed = listedRoute(of: name)
        let route: DocumentedRoute =
            if let listed {
                listed
            } else if !policy.protect.isEmpty || !name.contains(".") {
                .bypass
            } else if providerNames.joined().contains(where: { name.isWithin($0) }) {
                .protect(isListed: true)
            } else {
                .protect(isListed: false)
            }
        let mayBeAnswered = providerNames.contains { $0.isEmpty || $0.contains { name.isWithin($0) } }
        return route.isProtected && (mode == .localDNSOnly || !mayBeAnswered) ? .bypass : route
    }

    /// Whether LocalDNS may have a name that HTTPDNS denies (section 1).
    func mayBeLocal(_ name: Int) -> Bool {
        policy.searchDomains.contains { SimulationPlan.name(name).isWithin($0) }
    }

    private func listedRoute(of name: String) -> DocumentedRoute? {
        var best: (length: Int, route: DocumentedRoute)?
        func take(_ suffixes: [String], _ route: DocumentedRoute) {
            for suffix in suffixes where name.isWithin(suffix) && suffix.count > best?.length ?? 0 {
                best = (suffix.count, route)
            }
        }
        // Of entries of equal length the first wins.
        for (index, entry) in policy.forwards.enumerated() {
            take(entry.suffixes, .forward(entry: index, servers: entry.servers))
        }
        take(policy.bypass, .bypass)
        take(policy.protect, .protect(isListed: true))
        return best?.route
    }

    /// The preset of a name among `entries` (section 2).
    func preset(of name: Int, among entries: [SimulationPlan.Preset]) -> SimulationPlan.Preset? {
        let text = SimulationPlan.name(name)
        if let own = entries.first(where: { !$0.isWildcard && $0.name == text }) { return own }
        return entries.filter { $0.isWildcard && text.isWithin($0.name) && text != $0.name }
            .max { $0.name.count < $1.name.count }
    }

    /// What is done with LocalDNS's addresses that are unverified (section 8).
    enum Check { case strict, lenient, off }

    func check(of name: Int) -> Check {
        guard case .protect(let isListed) = route(of: name) else { return .off }
        if isBelowUnverified(name) { return .off }
        return switch policy.certificates {
        case .auto: isListed ? .strict : .lenient
        case .strict: .strict
        case .lenient: .lenient
        case .off: .off
        }
    }

    /// Whether `localdns.unverified` has it: in `localdns-first` LocalDNS's addresses are as good as verified.
    func isBelowUnverified(_ name: Int) -> Bool {
        policy.unverified.contains { SimulationPlan.name(name).isWithin($0) }
    }

    var asksLocalDNSFirst: Bool { mode == .localDNSFirst }
    var asksLocalDNSLater: Bool { mode == .httpdnsFirst }
    var asksLocalDNS: Bool { mode != .httpdnsOnly }
    /// Whether the other family is preferred to this one.
    func yields(_ type: RecordType) -> Bool { policy.families.yielding == type }
    /// `cache.stale.wait`, and whether there are stale answers.
    var staleWait: Duration { policy.freshness.staleWait }
    var hasStale: Bool { policy.freshness.staleMax > 0 }

    /// Whether no upstream is asked for this type (section 3).
    func excludes(_ type: RecordType) -> Bool {
        policy.families == .ipv4Only && type == .aaaa || policy.families == .ipv6Only && type == .a
    }

    /// The providers that may be asked, in order: for signatures first those that return them.
    func providers(for name: Int, _ type: RecordType, isSigned: Bool = false, in plan: SimulationPlan) -> [Int] {
        guard route(of: name).isProtected else { return [] }
        let all = policy.providers.filter { number in
            let provider = plan.providers[number]
            let isGuarded = type == .https && policy.guardsServiceBindings
            return (type.isAddress || provider.answersAnyType) && (provider.isAuthenticated || !isGuarded)
                && (provider.names.isEmpty
                    || provider.names.contains { SimulationPlan.name(name).isWithin($0) })
        }
        guard isSigned else { return all }
        return [true, false].flatMap { returns in all.filter { plan.providers[$0].answersAnyType == returns } }
    }

    /// Whether a client that wants signatures may get other addresses than others (DNSSEC.md).
    func heedsFlags(_ name: Int, _ type: RecordType, in plan: SimulationPlan) -> Bool {
        !route(of: name).isProtected || !type.isAddress || mode == .localDNSFirst || policy.families != .both
            || providers(for: name, type, in: plan).contains { plan.providers[$0].answersAnyType }
    }

    /// Whether a source is in the line of a name, and may answer this type (section 1).
    func mayAnswer(_ giver: SimulatedAddress.Giver, _ name: Int, _ type: RecordType, _ plan: SimulationPlan) -> Bool {
        switch (giver, route(of: name)) {
        case (.provider(let number), .protect): providers(for: name, type, in: plan).contains(number)
        case (.localDNS(let number), .bypass): number == policy.localDNS
        case (.localDNS(let number), .protect):
            number == policy.localDNS && mode != .httpdnsOnly && !(type == .https && policy.guardsServiceBindings)
        case (.forwarder(let number), .forward(_, let servers)): number == servers
        default: false
        }
    }

    /// Whether a source may be asked a question: it is in the line of its name, and neither a preset nor
    /// `answers.families` answers it here.
    func mayBeAsked(_ ask: Chronicle.Ask, _ plan: SimulationPlan) -> Bool {
        preset(of: ask.name, among: policy.presets) == nil
            && (ask.isSigned || !ask.types.contains(where: excludes))
            && ask.types.allSatisfy { mayAnswer(ask.giver, ask.name, $0, plan) }
    }

    /// Seconds for which an answer with this TTL is cached (section 5).
    func lifetime(_ ttl: UInt32, isDenial: Bool) -> UInt32 {
        let longest = policy.freshness.maxTTL
        return isDenial ? min(ttl, 10_800, longest) : min(max(ttl, policy.freshness.minTTL), longest)
    }

    /// Seconds past expiry for which an answer with this lifetime may be served at most (section 6).
    func staleTime(_ lifetime: UInt32) -> UInt32 {
        let most = policy.freshness.staleMax
        return most > 0 ? max(3_600, UInt32(min(UInt64(most), 100 * UInt64(lifetime)))) : 0
    }
}

extension String {
    func isWithin(_ suffix: String) -> Bool { self == suffix || hasSuffix("." + suffix) }
}

extension SimulationPlan.Preset {
    /// All names that match a wildcard have the same address.
    func address(_ giver: SimulatedAddress.Giver, policy: Int) -> SimulatedAddress {
        let name = isWildcard ? nil : SimulationPlan.names.firstIndex(of: name)
        return SimulatedAddress(giver, name: name ?? 31, number: policy)
    }
}
