import DNSCache
import DNSResolver
import DNSWire
import Scheduling
import TestSupport

// No source that works is left out: what a client may get while a source that may answer its name works.

extension SimulationOracle.Case {
    /// Earlier failures have no effect after this time: a flight's time, the longest pause, and a margin.
    static let memory: Duration = .seconds(10)

    /// Faults of a response that is worse than what a source would have answered in time.
    func neglect(_ servers: [SimulatedServer]) -> [String] {
        // A late query may have no time left.
        guard isUndisturbed, client.lateness == .zero else { return [] }
        switch route {
        case .protect where !type.isAddress:
            return isFailure && reign.policy.guardsServiceBindings
                ? ["neglect: an HTTPS record is denied, never SERVFAIL"] : []
        case .protect:
            return neglectOfProvider(servers) + neglectOfLocalDNS(servers) + lateness(servers)
        case .bypass:
            return hasNone && isWell(.localDNS(reign.policy.localDNS), servers) ? ["neglect: of LocalDNS"] : []
        case .forward(_, let number):
            return hasNone && isWell(.forwarder(number), servers) ? ["neglect: of the forward servers"] : []
        }
    }

    /// A provider's answer is taken whenever it comes; NXDOMAIN may wait for the other family.
    private func lateness(_ servers: [SimulatedServer]) -> [String] {
        guard !client.isSigned, client.isFirst, reign.policy.families == .both, !reign.mayBeLocal(name),
            let time = providersTime(servers), time < Budget.lastStart, waited > time + Budget.hedge
        else { return [] }
        return ["slow: after \(waited), though a provider answers within \(time)"]
    }

    /// Whether the resolver denies a family by itself, and not because a provider called it empty.
    private var isOwnDenial: Bool {
        reply.denial == .ours && !reply.isStale && type.isAddress && reign.policy.families == .both
            && !chronicle.tellings.contains {
                $0.name == name && $0.result == .empty && now - $0.at < Self.emptyTime
            }
    }

    /// An empty response is used for 300 s at most, with the time of its flight.
    private static let emptyTime: Duration = .seconds(310)

    /// Whether no source's answer was given.
    private var hasNone: Bool { isFailure || isLastResort }

    // MARK: Providers

    private func neglectOfProvider(_ servers: [SimulatedServer]) -> [String] {
        guard let limit = limitOfProviders, !client.isSigned, client.isFirst, let time = providersTime(servers),
            time < limit, !(isOfLocalDNS && isOlder), !isDeniedByProvider, !isBesideDenial
        else { return [] }
        return ["neglect: a provider answers within \(time)"]
    }

    /// The time within which a provider's answer goes before what was given; nil: whatever it takes.
    private var limitOfProviders: Duration? {
        if hasNone { return Budget.lastStart }
        // The other family's addresses may have been verified.
        if isOwnDenial { return Budget.verified }
        if reply.isStale, !isOfLocalDNS { return reign.policy.freshness.staleWait }
        guard reign.mode == .httpdnsFirst, isOfLocalDNS else { return nil }
        let limit = isVerified ? Budget.verified : Budget.lastStart
        // A verified answer that yields to the providers is stale, and a client may be let wait for nothing better.
        return reply.isStale ? min(limit, reign.policy.freshness.staleWait) : limit
    }

    /// Whether a provider has said in this flight that the name does not exist: that is so for either family, and of a name
    /// that may be local LocalDNS is asked then, whatever other providers would have said.
    private var isDeniedByProvider: Bool {
        (reply.responseCode == .nameError || reign.mayBeLocal(name))
            && chronicle.tellings.contains { telling in
                guard case .provider = telling.giver else { return false }
                return telling.name == name && telling.network == scope.network && telling.result == .nameError
                    && telling.flightBegan == client.at
            }
    }

    /// Whether a provider has said so in an earlier flight that failed, and is remembered as failed.
    private var isDeniedInMemory: Bool {
        waited == .zero
            && chronicle.tellings.contains { telling in
                guard case .provider = telling.giver else { return false }
                return telling.name == name && telling.network == scope.network && telling.result == .nameError
                    && telling.flightBegan < client.at && client.at - telling.at <= Self.longestPause
            }
    }

    /// A question that failed is asked again after so long at the latest (Documentation/Strategy.md, section 6).
    private static let longestPause: Duration = .seconds(5)

    /// Whether LocalDNS answered what a provider has called empty in the same flight, or has denied where the name may be
    /// local: that is no answer in place of a provider's, and lives for its time.
    private var isBesideDenial: Bool {
        let ofType = chronicle.tellings.filter {
            $0.name == name && $0.type == type && $0.network == scope.network && now - $0.at < Self.longestFallback
        }
        return ofType.contains { telling in
            guard case .provider = telling.giver,
                telling.result == .empty || telling.result == .nameError && reign.mayBeLocal(name)
            else { return false }
            // Called empty it is only by all that may be asked.
            if telling.result == .empty, telling.flightBegan == client.at, !haveAllBeenAsked { return false }
            return ofType.contains {
                $0.giver == .localDNS(reign.policy.localDNS) && $0.flightBegan == telling.flightBegan
            }
        }
    }

    /// Whether every provider of the name that was usable has been asked in this flight.
    private var haveAllBeenAsked: Bool {
        reign.providers(for: name, type, in: plan).allSatisfy { number in
            chronicle.asks.contains {
                $0.giver == .provider(number) && $0.name == name && $0.flightBegan == client.at
            }
        }
    }

    /// LocalDNS's answers for protected names are used for so long at most.
    private static let longestFallback: Duration = .seconds(600)

    /// How long after the start of its flight an answer may be stored, with a check that goes on behind it.
    private static let settling: Duration = SimulatedWorld.patience + .milliseconds(1_500)

    /// Whether LocalDNS gave it in an earlier flight, and since then no provider has answered any question.
    private var isOlder: Bool {
        !hasNone
            && chronicle.tellings.contains { telling in
                guard case .localDNS = telling.giver else { return false }
                return telling.name == name && telling.type == type && telling.network == scope.network
                    && telling.flightBegan < client.at
                    && client.at - telling.flightBegan < Self.longestFallback + Self.settling
                    && !hasProviderAnswered(since: telling.flightBegan + Self.settling)
            }
    }

    /// Whether a provider that may be asked for the name has answered a question for any.
    private func hasProviderAnswered(since began: Instant) -> Bool {
        let eligible = reign.providers(for: name, type, in: plan)
        return chronicle.tellings.contains { telling in
            if case .failure = telling.result { return false }
            guard case .provider(let number) = telling.giver else { return false }
            return telling.at >= began && eligible.contains(number)
        }
    }

    /// How long after the question a provider that works has answered, at the latest; nil where none may be in time.
    private func providersTime(_ servers: [SimulatedServer]) -> Duration? {
        let eligible = reign.providers(for: name, type, in: plan)
        let all = servers.filter { server in eligible.contains { server.giver == .provider($0) } }
        let began: Duration = reign.mode == .localDNSFirst ? Budget.reserve : .zero
        guard all.contains(where: { client.usable.contains($0.index) }) else {
            // The next probe begins within 1 s, and then the question is asked there.
            return answerTime(of: all).map { began + .seconds(1) + $0 * 2 }
        }
        var best: Duration?
        if eligible.count == 1, all.allSatisfy({ $0.conduct.leavesOthers && hasBeenSo($0) }) {
            // Its second address is asked beside the first.
            let times = all.filter { client.usable.contains($0.index) }.compactMap { answerTime(of: [$0]) }
            best = times.min().map { began + Budget.latestHedge + $0 }
        }
        for (place, number) in eligible.enumerated() {
            let own = all.filter { $0.giver == .provider(number) }
            guard own.allSatisfy({ client.usable.contains($0.index) }), let time = answerTime(of: own) else { continue }
            // Those before it may be silent, each for 1 s, unless it is asked beside them.
            let start: Duration =
                place == 0
                ? .zero
                : plan.providers[number].mayHedge
                    ? Budget.latestHedge + Budget.hedge * (place - 1) : .seconds(place)
            best = min(best ?? .seconds(10), began + start + time)
        }
        return best
    }

    /// The longest time that these servers take to answer; nil where one may not, or where LocalDNS is asked as well.
    private func answerTime(of servers: [SimulatedServer]) -> Duration? {
        var longest: Duration?
        for server in servers {
            guard server.conduct.answers, server.conduct.delay < .seconds(1), hasBeenSo(server) else { return nil }
            // LocalDNS is asked for a name that it may have and that a provider denies.
            if reign.mayBeLocal(name), server.conduct.result(for: type) == .nameError { return nil }
            longest = max(longest ?? .zero, server.conduct.delay)
        }
        return longest
    }

    // MARK: Plain servers

    private func neglectOfLocalDNS(_ servers: [SimulatedServer]) -> [String] {
        guard hasNone, reign.mode != .httpdnsOnly, isWell(.localDNS(reign.policy.localDNS), servers),
            let server = servers.first(where: { $0.giver == .localDNS(reign.policy.localDNS) }),
            server.conduct.reply == .addresses,
            // LocalDNS's answer for a name that a provider denies is not verified, and the preset goes before it.
            !(isLastResort && (isDeniedByProvider || isDeniedInMemory))
        else { return [] }
        let kinds = server.conduct.addresses
        let isGood =
            if reign.check(of: name) == .off {
                !isLastResort
            } else if reign.mode == .localDNSFirst {
                !kinds.contains(where: \.isHijacker)
            } else {
                kinds.contains(.honest)
                    || reign.check(of: name) == .lenient && !isLastResort && !kinds.allSatisfy(\.isHijacker)
            }
        return isGood ? ["neglect of LocalDNS: it answers \(kinds)"] : []
    }

    private func isWell(_ giver: SimulatedAddress.Giver, _ servers: [SimulatedServer]) -> Bool {
        servers.allSatisfy { $0.giver != giver || $0.conduct.isWell && hasBeenSo($0) }
    }

    private func hasBeenSo(_ server: SimulatedServer) -> Bool {
        client.at - chronicle.conductSince[server.index] >= Self.memory
    }
}
