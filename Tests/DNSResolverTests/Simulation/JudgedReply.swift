import DNSWire
import TestSupport

/// One reply to an honest client, or an attacker, and what the oracle judges it by.
@Loop
struct JudgedReply {
    let reply: SimulatedReply
    let client: SimulatedWorld.Client
    let chronicle: Chronicle
    let plan: SimulationPlan
    let servers: [SimulatedServer]
    /// Nil for one that no simulated source can have answered.
    let addresses: [SimulatedAddress?]

    init(
        _ reply: SimulatedReply, to client: SimulatedWorld.Client, _ chronicle: Chronicle, _ plan: SimulationPlan,
        _ servers: [SimulatedServer]
    ) {
        (self.reply, self.client, self.chronicle) = (reply, client, chronicle)
        (self.plan, self.servers) = (plan, servers)
        addresses = reply.answers.compactMap(\.address).map { SimulatedAddress($0) }
    }

    var name: Int { client.name }
    var type: RecordType { client.question.type }
    var now: Instant { chronicle.clock.now }
    /// Time since the resolver received its query.
    var waited: Duration { now - client.at }
    var reign: Chronicle.Reign { chronicle.reign }
    var route: DocumentedRoute { reign.route(of: name) }
    var scope: DocumentedScope { reign.scope(of: client.client, for: name, in: plan) }
    /// The providers that may be asked, in order.
    var providers: [Int] { reign.providers(for: name, type, isSigned: client.isSigned, in: plan) }
    var lastResort: SimulationPlan.Preset? { reign.preset(of: name, among: reign.policy.lastResort) }
    /// Whether neither policy nor network changed while the client waited.
    var isUndisturbed: Bool { client.epoch == chronicle.epoch }
    var isFailure: Bool { reply.responseCode == .serverFailure }
    /// Whether the answer is a preset of last resort.
    var isLastResort: Bool { reply.error?.code == .other && reply.error?.text == "preset of last resort" }
    /// Whether nothing that a source has answered is given.
    var hasNone: Bool { isFailure || isLastResort }
    /// Whether it is a denial that the resolver made.
    var isMadeHere: Bool { reply.answers.isEmpty && reply.denial == .ours }
    var isOfLocalDNS: Bool { if case .localDNS? = origins.first?.giver { true } else { false } }
    var binding: SimulatedBinding? { reply.answers.first.flatMap { SimulatedBinding($0.rdata) } }

    /// The responses of sources that it may be, the last one first: addresses of LocalDNS say no number. None where records
    /// are of several sources, of another name, or of none.
    var origins: [Chronicle.Telling] {
        if reply.answers.isEmpty {
            guard case .sourced(let number)? = reply.denial else { return [] }
            return telling(number).filter {
                $0.result == .nameError || $0.result == .noData && reply.responseCode == .noError
            }
        }
        guard type.isAddress else { return reply.answers.count == 1 ? telling(binding?.telling ?? -1) : [] }
        guard addresses.count == reply.answers.count, let first = addresses.first ?? nil,
            addresses.allSatisfy({ $0?.giver == first.giver && $0?.name == name })
        else { return [] }
        switch first.giver {
        case .preset, .lastResort, .hint: return []
        case .provider, .forwarder:
            return addresses.allSatisfy { $0?.telling == first.telling } ? telling(first.telling) : []
        case .localDNS:
            return chronicle.tellings.reversed().filter { telling in
                telling.name == name && telling.type == type && telling.giver == first.giver
                    && telling.result == .records
                    && addresses.allSatisfy { address in
                        let place = (address?.number ?? 0) % 8
                        return telling.addresses.indices.contains(place) && telling.addresses[place] == address?.kind
                    }
            }
        }
    }

    /// Whether it is LocalDNS's answer in place of a provider's, and neither certificates verify it, nor those of the other
    /// family's addresses, nor a provider that has called it empty.
    var isUnverified: Bool {
        guard isOfLocalDNS, route.isProtected, !providers.isEmpty, type.isAddress else { return false }
        if reign.asksLocalDNSFirst, reign.isBelowUnverified(name) { return false }
        guard reply.answers.isEmpty else {
            return reign.check(of: name) == .off || !addresses.allSatisfy { $0?.kind?.isHonest ?? false }
        }
        return !chronicle.tellings.contains { telling in
            guard telling.name == name, telling.network == scope.network else { return false }
            if telling.type == type { return telling.result == .empty }
            guard case .localDNS = telling.giver else { return false }
            return telling.result == .records && telling.addresses.contains(where: \.isHonest)
        }
    }

    /// Whether a provider denied the name in the race of this response, so that it may be one of the local network.
    func isOfNetwork(_ telling: Chronicle.Telling) -> Bool {
        reign.mayBeLocal(name)
            && chronicle.tellings.contains { other in
                guard case .provider = other.giver, other.result == .nameError else { return false }
                return other.name == name && other.type == telling.type && other.flightBegan == telling.flightBegan
            }
    }

    /// Whether an HTTPS record has the hints of the response, or none where a protected name is to have none.
    func hasRightHints(_ telling: Chronicle.Telling) -> Bool {
        guard let hints = binding?.hints else { return reply.answers.isEmpty }
        let own = SimulatedAddress(.hint, name: name, number: 2 * telling.number)
        let isGuarded = route.isProtected && reign.policy.guardsServiceBindings
        return isGuarded ? hints.isEmpty : hints.allSatisfy { SimulatedAddress($0) == own }
    }

    /// Whether a response was asked for with the flags of this client, or with none where they change nothing.
    func hasRightFlags(_ telling: Chronicle.Telling) -> Bool {
        let reigns = [reign, chronicle.reigns[telling.asked.policy]]
        return telling.isSigned == client.isSigned
            || client.isSigned && reigns.contains { !$0.heedsFlags(name, type, in: plan) }
    }

    /// What a source said last, and alone in its race: neither a failure, nor addresses of LocalDNS that no
    /// certificate verifies.
    var lastAnswer: Chronicle.Telling? {
        let last = chronicle.tellings.last { telling in
            guard telling.name == name, telling.type == type || telling.result == .nameError,
                telling.network == scope.network,
                telling.isSigned == (client.isSigned && reign.heedsFlags(name, type, in: plan))
            else { return false }
            switch (telling.giver, telling.result) {
            case (_, .failure): return false
            case (.localDNS, .records):
                return telling.addresses.contains(where: \.isHonest) || reign.mayBeLocal(name)
            default: return true
            }
        }
        return last.flatMap { last in
            chronicle.tellings.allSatisfy { $0.number == last.number || !$0.isInRace(of: last) } ? last : nil
        }
    }

    /// Whether its race may have begun for another client: its line of sources is that of then.
    var hasJoined: Bool {
        chronicle.asks.contains { $0.name == name && $0.isUnderWay(at: client.at) && $0.at < client.at }
    }

    /// Whether a source has answered before the question, so that something stale may be there.
    var mayBeStale: Bool {
        let hasAnswered = chronicle.tellings.contains { telling in
            guard telling.name == name, telling.type == type, telling.at < client.at else { return false }
            if case .failure = telling.result { return false }
            return true
        }
        return reply.isStale || reign.hasStale && hasAnswered
    }

    /// Whether a server has behaved as it does for this long before the question.
    func isSteady(_ server: SimulatedServer, _ time: Duration) -> Bool {
        client.at - chronicle.conductSince[server.index] >= time
    }

    private func telling(_ number: Int) -> [Chronicle.Telling] {
        chronicle.tellings.indices.contains(number) ? [chronicle.tellings[number]] : []
    }

    /// A description for fault reports.
    var text: String {
        let answers = reply.answers.map { record in
            guard let address = record.address.flatMap({ SimulatedAddress($0) }) else { return "\(record)" }
            return "\(address.giver) \(address.number) \(address.kind.map { "\($0)" } ?? "") ttl \(record.ttl)"
        }
        return
            "\(client.question.name) \(type) signed \(client.isSigned), asked at \(client.at.nanoseconds / 1_000_000), "
            + "answered after \(waited): \(reply.responseCode)\(reply.isStale ? " stale" : "") \(answers) "
            + "\(reply.denial.map { "\($0)" } ?? "") \(reply.error.map { "EDE \($0.code.rawValue) \($0.text)" } ?? "") "
            + "by \(reign.mode), \(route), check \(reign.check(of: name)), policy \(reign.number)"
    }
}
