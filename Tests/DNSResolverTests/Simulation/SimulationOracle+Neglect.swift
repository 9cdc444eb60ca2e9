import DNSCache
import DNSResolver
import DNSWire
import Scheduling
import TestSupport

// Always an answer: what a client may get while a source that may answer its name works.

extension SimulationOracle.Case {
    /// Earlier failures have no effect after this time: a race, the longest pause, and a margin.
    static let memory: Duration = .seconds(10)

    /// Faults of a response that is worse than what a source would have answered in time.
    func neglect(_ servers: [SimulatedServer]) -> [String] {
        // A late query may have no time left.
        guard isUndisturbed, client.lateness == .zero else { return [] }
        switch route {
        case .protect where !type.isAddress:
            return isFailure && reign.policy.guardsServiceBindings
                ? ["neglect: an HTTPS record is denied, never SERVFAIL"] : []
        case .protect: return neglectOfProvider(servers) + neglectOfLocalDNS(servers) + lateness(servers)
        case .bypass:
            return hasNone && isWell(.localDNS(reign.policy.localDNS), servers) ? ["neglect: of LocalDNS"] : []
        case .forward(_, let number):
            return hasNone && isWell(.forwarder(number), servers) ? ["neglect: of the forward servers"] : []
        }
    }

    /// Whether no source's answer was given.
    private var hasNone: Bool { isFailure || isLastResort }

    // MARK: Providers

    private func neglectOfProvider(_ servers: [SimulatedServer]) -> [String] {
        guard let limit = limitOfProviders, !client.isSigned, client.isFirst, let time = providersTime(servers),
            time < limit, !isRecent
        else { return [] }
        return ["neglect: a provider answers within \(time)"]
    }

    /// The time within which a provider's answer goes before what was given; nil: whatever it takes.
    private var limitOfProviders: Duration? {
        if hasNone { return .milliseconds(1_900) }
        if reply.isStale { return min(.milliseconds(900), reign.policy.freshness.staleWait) }
        guard reign.mode == .httpdnsFirst, isOfLocalDNS, !reign.mayBeLocal(name) else { return nil }
        return .milliseconds(isUnverified ? 1_900 : 900)
    }

    /// Whether LocalDNS gave it in an earlier race, whose answer lives for 30 s.
    private var isRecent: Bool {
        isOfLocalDNS
            && chronicle.tellings.contains { telling in
                guard case .localDNS = telling.giver else { return false }
                return telling.name == name && telling.type == type && telling.network == scope.network
                    && telling.flightBegan < client.at && client.at - telling.flightBegan < .seconds(34)
            }
    }

    /// A provider's answer is taken whenever it comes; NXDOMAIN may wait for the other family.
    private func lateness(_ servers: [SimulatedServer]) -> [String] {
        guard !client.isSigned, client.isFirst, reign.policy.families == .both, !reign.mayBeLocal(name),
            reply.responseCode == .noError, !reply.answers.isEmpty, let time = providersTime(servers),
            time < .milliseconds(1_900), waited > time + .milliseconds(300)
        else { return [] }
        return ["slow: after \(waited), though a provider answers within \(time)"]
    }

    /// How long after the question a provider that works has answered, at the latest; nil where none may be in time.
    private func providersTime(_ servers: [SimulatedServer]) -> Duration? {
        let eligible = reign.providers(for: name, type, in: plan)
        let all = servers.filter { server in eligible.contains { server.giver == .provider($0) } }
        // In `localdns-first` they wait for LocalDNS's checks.
        var began: Duration = reign.mode == .localDNSFirst ? .milliseconds(900) : .zero
        // The family that yields is asked for after the other.
        if reign.policy.families.yielding == type { began += .milliseconds(300) }
        var best: Duration?
        if eligible.count == 1, all.allSatisfy({ $0.conduct.leavesOthers && hasBeenSo($0) }) {
            // Its second address is asked beside the first.
            let times = all.filter { client.usable.contains($0.index) }.compactMap { answerTime(of: [$0]) }
            let step: Duration = .milliseconds(plan.providers[eligible[0]].mayHedge ? 300 : 900)
            best = times.min().map { began + step + $0 }
        }
        for (place, number) in eligible.enumerated() {
            let own = all.filter { $0.giver == .provider(number) }
            guard own.allSatisfy({ client.usable.contains($0.index) }), let time = answerTime(of: own) else { continue }
            // One source, LocalDNS among them, each 0.3 s.
            let step = place < 2 ? place : place + 1
            let start: Duration =
                place == 0
                ? .zero
                : plan.providers[number].mayHedge
                    ? .milliseconds(300) * step : max(.milliseconds(900), .milliseconds(300) * step)
            best = min(best ?? .seconds(10), began + start + time)
        }
        return best
    }

    /// The longest time that these servers take to answer; nil where one may not, or where LocalDNS is asked as well.
    private func answerTime(of servers: [SimulatedServer]) -> Duration? {
        var longest: Duration?
        for server in servers {
            guard server.conduct.answers, server.conduct.delay < .seconds(1), hasBeenSo(server) else { return nil }
            longest = max(longest ?? .zero, server.conduct.delay)
        }
        return longest
    }

    // MARK: Plain servers

    private func neglectOfLocalDNS(_ servers: [SimulatedServer]) -> [String] {
        guard hasNone, reign.mode != .httpdnsOnly, isWell(.localDNS(reign.policy.localDNS), servers),
            let server = servers.first(where: { $0.giver == .localDNS(reign.policy.localDNS) }),
            server.conduct.reply == .addresses
        else { return [] }
        let kinds = server.conduct.addresses
        let isGood =
            switch reign.check(of: name) {
            case .off: !isLastResort
            case .strict: kinds.contains(.honest)
            case .lenient: kinds.contains(.honest) || !isLastResort && !kinds.contains(where: \.isHijacker)
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
