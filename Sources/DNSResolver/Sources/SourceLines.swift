public import DNSWire

/// The sources of a policy, and the line of them that each name has (Documentation/Strategy.md, sections 1 and 2).
@Loop
public final class SourceLines {
    private nonisolated let mode: Mode
    nonisolated let providers: [any Provider]
    /// The index of each: mostly all of them may be asked, and then no list is made for a question.
    private nonisolated let everyone: [Int]
    /// The most of clients' addresses that is sent to a provider; nil while none is sent any of them.
    public nonisolated let clientScoping: ClientScoping?
    nonisolated let filter: AddressFilter
    let probes: Probes
    private nonisolated let localDNS: any Upstream
    private nonisolated let forwarders: [any Upstream]
    nonisolated let checks: AddressChecks
    private nonisolated let certificateCheck: RaceRules.CertificateCheck
    private nonisolated let unverified: [Name]
    nonisolated let shared: (any SharedAnswers)?
    private nonisolated let guardsServiceBindings: Bool

    /// - Parameters:
    ///   - probes: those of the providers: lines that take the place of others go on with their probes.
    ///   - forwarders: one for each `[[forward]]` entry, in order.
    ///   - unverified: suffixes whose servers have no TLS.
    ///   - shared: looked at before a provider is asked for a protected name; nil: nothing is shared.
    ///   - guardsServiceBindings: false passes HTTPS and SVCB on like any other type.
    public nonisolated init(
        mode: Mode, providers: [any Provider], filter: AddressFilter = AddressFilter(), probes: Probes,
        localDNS: any Upstream, forwarders: [any Upstream], checks: AddressChecks,
        certificateCheck: RaceRules.CertificateCheck = .auto, unverified: [Name] = [],
        shared: (any SharedAnswers)? = nil, guardsServiceBindings: Bool = true
    ) {
        self.mode = mode
        self.providers = providers
        everyone = Array(providers.indices)
        clientScoping = providers.compactMap(\.clientScoping).max { $0.bits < $1.bits }
        self.filter = filter
        self.probes = probes
        self.localDNS = localDNS
        self.forwarders = forwarders
        self.checks = checks
        self.certificateCheck = certificateCheck
        self.unverified = unverified
        self.shared = shared
        self.guardsServiceBindings = guardsServiceBindings
    }

    // MARK: Clients

    /// For which clients an answer holds; nil for all.
    ///
    /// The same for all types of a name, and always the same under one policy: for a name that is asked for by client
    /// network, answers of LocalDNS are cached in that scope too.
    public nonisolated func scope(of client: ClientQuestion?, name: Name, route: Route) -> ClientScope? {
        guard let scoping = clientScoping, case .protect = route,
            providers.contains(where: { $0.clientScoping != nil && $0.serves(name) })
        else { return nil }
        guard let client else { return .undisclosed }
        return scoping.scope(of: client.client, hidesNetwork: client.hidesNetwork)
    }

    // MARK: Providers

    /// Whether there are providers, and LocalDNS is not asked before them.
    nonisolated var asksProvidersFirst: Bool { mode != .localDNSFirst && !providers.isEmpty }

    /// Whether a request waits for a free slot at its service.
    var isBacklogged: Bool {
        for provider in providers where provider.waitingRequests > 0 { return true }
        return false
    }

    /// When a backoff of a provider last ended, where that matters to a name.
    func lastRecovery(for key: FlightKey) -> Instant? {
        if case .protect = key.route { probes.lastRecovery } else { nil }
    }

    /// Whether no provider of a name can be asked, and the next question begins a probe.
    func isProbeDue(for key: FlightKey) -> Bool {
        guard case .protect = key.route else { return false }
        var isDue = false
        for index in eligible(for: key) where providers[index].unavailability == nil {
            for endpoint in providers[index].endpoints {
                let candidate = Candidate(index: index, provider: providers[index], endpoint: endpoint)
                if candidate.isUsable { return false }
                if candidate.backoff.isDue(at: probes.clock.now, isUrgent: true) { isDue = true }
            }
        }
        return isDue
    }

    /// Why none of the providers of a name could be asked.
    func reasonAgainstProviders(of key: FlightKey) -> UpstreamFailure {
        let eligible = eligible(for: key)
        guard !eligible.isEmpty else { return .unusable("no provider for this name and type") }
        for index in eligible {
            if let reason = providers[index].unavailability { return .network("\(providers[index].name): \(reason)") }
        }
        return .network("every address is in backoff after failures")
    }

    /// Whether some provider has a limit of calls.
    var hasCallLimit: Bool {
        for provider in providers where provider.callShare != nil { return true }
        return false
    }

    /// How many calls one client network may have caused since half of the limits was spent, `.max` before that; nil where a
    /// provider that may be asked has no limit.
    func callShare(for key: FlightKey) -> Int? {
        guard hasCallLimit else { return nil }
        var share: Int?
        for index in eligible(for: key) {
            guard let own = providers[index].callShare else { return nil }
            share = max(share ?? own, own)
        }
        return share
    }

    /// The providers that may be asked, best first: for DS those of the parent, which has it.
    ///
    /// With DO or CD those that carry any type come first: the others cannot return signatures.
    func eligible(for key: FlightKey) -> [Int] {
        var able = everyone
        let type = key.type ?? .a
        let (name, isGuarded) = (key.name.holder(of: type), isGuarded(key))
        for index in everyone {
            let provider = providers[index]
            guard provider.answers(type), provider.isAuthenticated || !isGuarded, provider.serves(name) else {
                able.removeAll { $0 == index }
                continue
            }
        }
        guard key.isSigned else { return able }
        return able.filter { providers[$0].answers(.rrsig) } + able.filter { !providers[$0].answers(.rrsig) }
    }

    /// Whether a name's records may only come from authenticated providers, without their address hints.
    nonisolated func isGuarded(_ type: RecordType, by route: Route) -> Bool {
        if case .protect = route { type.isServiceBinding && guardsServiceBindings } else { false }
    }

    private nonisolated func isGuarded(_ key: FlightKey) -> Bool {
        key.type.map { isGuarded($0, by: key.route) } ?? false
    }

    // MARK: Lines

    /// The line of a name's sources, and what its race goes by. Begins the probes that are due.
    func line(for key: FlightKey, isInSearchDomain: Bool) -> (line: SourceLine, rules: RaceRules) {
        switch key.route {
        case .bypass: return (SourceLine(localDNS, .localDNS), Self.alone)
        case .forward(let index): return (SourceLine(forwarders[index], .forward(index: index)), Self.alone)
        case .portal, .protect: break
        }
        let isGuarded = isGuarded(key)
        let eligible = eligible(for: key)
        let mayUseLocalDNS = mode != .httpdnsOnly && !isGuarded
        // 1: what no provider may answer is LocalDNS's.
        if eligible.isEmpty, mayUseLocalDNS { return (SourceLine(localDNS, .localDNS), Self.alone) }
        let members = members(eligible)
        var sources: [RaceRules.Source] = []
        sources.reserveCapacity(members.count + 2)
        for (number, member) in members.enumerated() { sources.append(RaceRules.Source(number: number, member)) }
        let isUnverified = unverified.contains { key.name.isWithin($0) }
        var rules = RaceRules(
            raceMode(key.route, mayUseLocalDNS), consume sources,
            localDNS: mayUseLocalDNS ? RaceRules.Source(provider: nil, answersBoth: true) : nil,
            check: certificateCheck, isListed: key.route == .protect(explicit: true), isUnverified: isUnverified)
        if isUnverified || key.type != nil { rules.checksAddresses = false }
        rules.isClockWrong = checks.isClockDoubtful
        rules.isInSearchDomain = isInSearchDomain
        rules.isGuarded = isGuarded
        return (SourceLine(localDNS, .localDNS, members), rules)
    }

    /// LocalDNS, or the servers of a `forward` entry, alone: asked for what clients want.
    private nonisolated static let alone = RaceRules(.localDNSOnly, [], localDNS: RaceRules.Source(provider: nil))

    private func raceMode(_ route: Route, _ mayUseLocalDNS: Bool) -> RaceRules.Mode {
        guard mayUseLocalDNS else { return .httpdnsOnly }
        return route == .portal ? .portal : mode == .localDNSFirst ? .localDNSFirst : .httpdnsFirst
    }

    /// The providers that can be asked, with their addresses in order. An address in backoff is probed when that is due.
    private func members(_ eligible: [Int]) -> [SourceLine.Member] {
        var members: [SourceLine.Member] = []
        members.reserveCapacity(eligible.count)
        var hasUsable = false
        for index in eligible {
            let provider = providers[index]
            guard provider.unavailability == nil else {
                provider.leftOut()
                continue
            }
            let member = SourceLine.Member(index: index, provider: provider)
            hasUsable = hasUsable || !member.endpoints.isEmpty
            members.append(member)
        }
        for member in members {
            for candidate in member.inBackoff { probes.beginIfDue(candidate, isUrgent: !hasUsable) }
        }
        return members
    }
}

/// The sources of one race, in the order of its line.
@Loop
struct SourceLine {
    /// A provider, and its addresses that can be asked, in order.
    @Loop
    struct Member {
        let index: Int
        let provider: any Provider
        private(set) var endpoints: [any Endpoint] = []
        /// Whether that is all of them.
        private var isWhole = true

        init(index: Int, provider: any Provider) {
            self.index = index
            self.provider = provider
            refresh()
        }

        /// Looks for the addresses that can be asked once more.
        mutating func refresh() {
            endpoints = provider.endpoints
            isWhole = !provider.access.isActive
            // Mostly all of them: then no list is made.
            for endpoint in endpoints where !endpoint.health.isUsable { isWhole = false }
            if !isWhole { endpoints = provider.access.isActive ? [] : endpoints.filter(\.health.isUsable) }
        }

        /// One of its addresses that can be asked; nil: it has none at that place.
        func candidate(_ place: Int) -> Candidate? {
            guard endpoints.indices.contains(place) else { return nil }
            return Candidate(index: index, provider: provider, endpoint: endpoints[place])
        }

        /// The addresses that cannot be asked before a probe has been answered.
        var inBackoff: [Candidate] {
            guard !isWhole else { return [] }
            return provider.endpoints.map { Candidate(index: index, provider: provider, endpoint: $0) }
                .filter(\.isInBackoff)
        }
    }

    let upstream: any Upstream
    let upstreamSource: Source
    /// The providers that can be asked.
    var members: [Member]

    init(_ upstream: any Upstream, _ upstreamSource: Source, _ members: [Member] = []) {
        self.members = members
        self.upstream = upstream
        self.upstreamSource = upstreamSource
    }
}

extension RaceRules.Source {
    @Loop
    fileprivate init(number: Int, _ member: SourceLine.Member) {
        let isProbed = member.endpoints.isEmpty && member.inBackoff.contains(where: \.backoff.isProbing)
        self.init(
            provider: number, answersBoth: member.provider.answersBothFamilies, mayHedge: member.provider.mayHedge,
            health: !member.endpoints.isEmpty ? .usable : isProbed ? .probed : .backoff,
            addresses: max(1, member.endpoints.count))
    }
}
