import DNSResolver
import DNSWire
import Scheduling
import TestSupport

// When a client may be answered with SERVFAIL or a preset of last resort.

extension SimulationOracle.Case {
    /// Earlier failures have no effect after this time: a flight's time, the longest pause, and a margin.
    private static let memory: Duration = .seconds(10)

    /// Faults of a SERVFAIL, or of last-resort addresses sent instead of it.
    func despair(_ servers: [SimulatedServer]) -> [String] {
        // A late query may have no time left.
        guard isFailure || isLastResort, isUndisturbed, client.lateness == .zero else { return [] }
        switch route {
        case .protect:
            guard type.isAddress else {
                return reign.policy.guardsServiceBindings ? ["despair: an HTTPS record is denied, never SERVFAIL"] : []
            }
            return despairOfProvider(servers) + despairOfLocalDNS(servers)
        case .bypass: return isWell(.localDNS(reign.policy.localDNS), servers) ? ["despair: LocalDNS is well"] : []
        case .forward(_, let number):
            return isWell(.forwarder(number), servers) ? ["despair: the forward servers are well"] : []
        }
    }

    private func despairOfProvider(_ servers: [SimulatedServer]) -> [String] {
        guard !client.isSigned else { return [] }
        // The address after a silent one is asked after 0.3 s, the next after another second.
        var left = reign.mode == .localDNSFirst ? 2 : 3
        for number in reign.providers(for: name, type, in: plan) {
            if isWell(.provider(number), servers) { return ["despair: provider \(number) is well"] }
            left -= plan.providers[number].addresses
            if left < 0 { return [] }
        }
        return []
    }

    private func despairOfLocalDNS(_ servers: [SimulatedServer]) -> [String] {
        guard reign.mode != .httpdnsOnly, isWell(.localDNS(reign.policy.localDNS), servers),
            let server = servers.first(where: { $0.giver == .localDNS(reign.policy.localDNS) }),
            server.conduct.reply == .addresses
        else { return [] }
        let isGood =
            reign.mode == .localDNSFirst
            ? !server.conduct.addresses.contains(where: \.isLiar)
            : server.conduct.addresses.allSatisfy { $0 == .honest }
        return isGood && reign.check(of: name) != .off ? ["despair: LocalDNS is well, and honest"] : []
    }

    /// Whether all servers of a source have been well for `memory`, and have answered since they last were not.
    private func isWell(_ giver: SimulatedAddress.Giver, _ servers: [SimulatedServer]) -> Bool {
        servers.filter { $0.giver == giver }.allSatisfy { server in
            guard server.conduct.isWell, client.at - chronicle.conductSince[server.index] >= Self.memory else {
                return false
            }
            if isAskedAgainSoon(giver) { return true }
            // An address stays in backoff for longer when there are others that may be asked.
            let last = chronicle.asks.last { ask in
                ask.server == server.index && !ask.isAttackers && (ask.isTold || !ask.isWell)
                    && ask.ended.map { $0 < client.at } ?? false
            }
            // An attacker's question may start the probe that detects a server's conduct.
            if let failed = chronicle.lastFailedProbe[server.index], failed >= last?.ended ?? failed { return false }
            return last?.isWell ?? true
        }
    }

    /// Faults of an answer from LocalDNS to a protected name: a provider that is well answers, whatever an attacker
    /// does.
    func loss(_ servers: [SimulatedServer]) -> [String] {
        guard route.isProtected, reign.mode == .httpdnsFirst, type.isAddress, !client.isSigned, isUndisturbed,
            client.lateness == .zero, case .localDNS? = addresses.first??.giver,
            let first = reign.providers(for: name, type, in: plan).first, isWell(.provider(first), servers)
        else { return [] }
        // LocalDNS is asked for a name that it may have and that a provider denies.
        let denies = servers.contains { server in
            server.giver == .provider(first) && server.conduct.result(for: type) == .nameError
        }
        if denies, reign.mayBeLocal(name) { return [] }
        // The answer may be older.
        let isOlder = chronicle.tellings.contains { telling in
            guard case .localDNS = telling.giver else { return false }
            return telling.name == name && telling.type == type && telling.network == scope.network
                && telling.flightBegan < client.at
        }
        return isOlder ? [] : ["loss: LocalDNS's answer though provider \(first) is well"]
    }

    /// Faults of the time that a client waited for LocalDNS's answer: providers that have been silent for long are in
    /// backoff, whatever an attacker does, and at most one of two questions per second waits for a probe.
    func delay(_ servers: [SimulatedServer]) -> [String] {
        guard route.isProtected, reign.mode == .httpdnsFirst, type.isAddress, !client.isSigned, isUndisturbed,
            client.lateness == .zero, waited >= .milliseconds(1_500),
            let local = servers.first(where: { $0.giver == .localDNS(reign.policy.localDNS) }),
            local.conduct.reply == .addresses, local.conduct.delay <= .milliseconds(250),
            client.at - chronicle.conductSince[local.index] >= Self.memory
        else { return [] }
        let providers = reign.providers(for: name, type, in: plan)
        let isSilent = servers.allSatisfy { server in
            guard case .provider(let number) = server.giver, providers.contains(number) else { return true }
            return wasFoundSilent(server)
        }
        return !providers.isEmpty && isSilent ? ["delay: silent providers are waited for"] : []
    }

    /// Whether a question to it must have started a probe that has failed since, and none was answered.
    private func wasFoundSilent(_ server: SimulatedServer) -> Bool {
        let since = max(
            chronicle.conductSince[server.index], chronicle.networkChanges.last ?? client.at - .seconds(3_600))
        let asks = chronicle.asks.filter { $0.server == server.index && $0.at >= since }
        return server.conduct.reply == .silence && !asks.contains(where: \.isTold)
            && asks.contains { ask in
                guard let ended = ask.ended else { return false }
                // A successful probe counts for 5 s, and a failing one takes 1 s.
                return ask.at >= since + .seconds(6) && ended - ask.at >= .milliseconds(300)
                    && ended + .milliseconds(1_100) <= client.at
            }
    }

    /// Whether a provider is probed again within `memory` whatever it did: it is the only one, and has one address. A
    /// question that arrives during the probe waits for its result (section 10). Refused access is handled otherwise.
    private func isAskedAgainSoon(_ giver: SimulatedAddress.Giver) -> Bool {
        guard case .provider(let number) = giver, plan.providers[number].addresses == 1,
            reign.providers(for: name, type, in: plan) == [number]
        else { return false }
        return !chronicle.tellings.contains { $0.giver == giver && $0.result == .failure(.authentication("signature")) }
    }
}
