import DNSCache
import DNSWire
import Scheduling
import TestSupport

@testable import DNSResolver

// Never a wrong address: an answer is that of one source, which may answer this client's question now, and it is not
// older than it may be.

extension SimulationOracle.Case {
    /// An address can be verified only if LocalDNS's answer leaves this much time for its handshake.
    private static let checkTime: Duration = .milliseconds(250)
    /// The same for an address whose handshake takes 0.7 s, with the head start of the first one and a margin.
    private static let slowCheckTime: Duration = .seconds(1)
    /// Seconds for which LocalDNS is believed for a protected name: in `localdns-first`, if certificates verify its addresses,
    /// and else.
    private static let verifiedTime: UInt32 = 600
    private static let unverifiedTime: UInt32 = 30
    /// Seconds for which a family that failed is NODATA beside the other one, with the time of its flight.
    private static let ownDenialTime: Int64 = 10
    /// How long after the start of its flight an answer may be stored, from when it ages: that includes a check that
    /// began after the answer was given.
    private static let settling: Duration = SimulatedWorld.patience + .milliseconds(1_500)

    var wrong: [String] {
        if isFailure { return [] }
        if reply.answers.isEmpty { return wrongDenial }
        return type == .https ? wrongBindings : wrongAddresses
    }

    // MARK: Addresses

    private var wrongAddresses: [String] {
        let addresses = addresses.compactMap(\.self)
        guard addresses.count == reply.answers.count, let first = addresses.first else {
            return ["origin: an address that no source has answered"]
        }
        guard addresses.allSatisfy({ $0.giver == first.giver }) else { return ["origin: addresses of several sources"] }
        if first.giver == .lastResort { return isExpectedLastResort(addresses) ? [] : ["last resort: another answer"] }
        guard addresses.allSatisfy({ $0.name == name }) else { return ["origin: an address of another name"] }
        switch first.giver {
        case .preset, .hint, .lastResort: return ["origin: an address that must not be given here"]
        case .provider, .forwarder:
            guard addresses.allSatisfy({ $0.telling == first.telling }) else {
                return ["origin: addresses of several answers"]
            }
            return faults(of: chronicle.tellings[first.telling])
        case .localDNS: return wrongAddressesOfLocalDNS(addresses)
        }
    }

    private func isExpectedLastResort(_ addresses: [SimulatedAddress]) -> Bool {
        guard let lastResort, lastResort.types.contains(type), isLastResort else { return false }
        return addresses == [lastResort.address(.lastResort, policy: reign.number)]
    }

    /// The preset of last resort of the name, if any.
    private var lastResort: SimulationPlan.Preset? { reign.preset(of: name, among: reign.policy.lastResort) }

    /// At least one of LocalDNS's responses with these addresses must have been valid to use.
    private func wrongAddressesOfLocalDNS(_ addresses: [SimulatedAddress]) -> [String] {
        var best: [String]?
        for telling in chronicle.tellings.reversed() {
            let isOrigin =
                telling.name == name && telling.type == type && telling.giver == addresses[0].giver
                && telling.result == .records
                && addresses.allSatisfy { address in
                    telling.addresses.indices.contains(address.number % 8)
                        && telling.addresses[address.number % 8] == address.kind
                }
            guard isOrigin else { continue }
            let faults = faults(of: telling) + forged(addresses.compactMap(\.kind), in: telling)
            if faults.isEmpty { return [] }
            if best.map({ faults.count < $0.count }) ?? true { best = faults }
        }
        return best ?? ["origin: addresses that LocalDNS has not answered"]
    }

    /// Addresses of a protected name that a certificate shows to be forged, or could be.
    private func forged(_ kinds: [Conduct.Address], in telling: Chronicle.Telling) -> [String] {
        let check = reign.check(of: name)
        guard route.isProtected, check != .off, !isOfNetwork(telling) else { return [] }
        var faults: [String] = []
        let isKnown = reply.answers.compactMap(\.address).contains { address in
            guard let caught = chronicle.caught[address] else { return false }
            return caught.network == chronicle.epoch.network && caught.at < now && now - caught.at < .seconds(300)
        }
        if isKnown { faults.append("forged: an address that is known to be forged") }
        let isHonest = kinds.allSatisfy(\.isHonest)
        if check == .strict, !isHonest {
            faults.append("forged: an address that nothing verifies, of a name that is checked strictly")
        }
        guard telling.at + Self.checkTime <= telling.flightBegan + Duration.milliseconds(2_250) else { return faults }
        if kinds.contains(.hijacker) { faults.append("forged: an address that shows another's certificate") }
        if kinds.contains(.slowHijacker),
            telling.at + Self.slowCheckTime <= telling.flightBegan + Duration.milliseconds(2_250),
            !isCrowded(around: telling.at)
        {
            faults.append("slow forged: an address that shows another's certificate after 0.7 s")
        }
        if kinds.contains(.honest), !isHonest { faults.append("forged: a verified address among others") }
        return faults
    }

    /// Whether so many addresses are checked at that time that one may have to wait for its turn.
    private func isCrowded(around instant: Instant) -> Bool {
        let around = chronicle.tellings.count { telling in
            guard case .localDNS = telling.giver else { return false }
            return telling.at > instant - .seconds(2) && telling.at < instant + Self.slowCheckTime
        }
        return around * 3 > AddressChecks.limit
    }

    /// Whether a provider denied the name in the same flight, which may be one of the local network.
    private func isOfNetwork(_ telling: Chronicle.Telling) -> Bool {
        guard reign.mayBeLocal(name) else { return false }
        return chronicle.tellings.contains { other in
            guard case .provider = other.giver, other.name == name, other.type == telling.type else { return false }
            return other.result == .nameError && other.flightBegan == telling.flightBegan
        }
    }

    // MARK: Denials

    private var wrongDenial: [String] {
        guard case .sourced(let number)? = reply.denial else {
            let hasReason = reply.responseCode == .noError ? hasReasonForNoData : hasReasonForNameError
            return hasReason ? [] : ["rule: a denial without a reason"]
        }
        guard chronicle.tellings.indices.contains(number) else {
            return ["origin: a denial that no source has answered"]
        }
        let telling = chronicle.tellings[number]
        guard telling.result == .nameError || telling.result == .noData && reply.responseCode == .noError else {
            return ["origin: another denial than was answered"]
        }
        var faults = faults(of: telling)
        if isUnverified, reign.check(of: name) == .strict {
            faults.append("forged: LocalDNS is believed that there is nothing")
        }
        return faults
    }

    /// Whether the resolver itself may say that the name does not exist: a source of one family has, perhaps on another
    /// network, where it is stale.
    private var hasReasonForNameError: Bool {
        type.isAddress
            && chronicle.tellings.contains { $0.name == name && $0.type.isAddress && $0.result == .nameError }
    }

    /// Whether the resolver itself may say that there is nothing of this type.
    private var hasReasonForNoData: Bool {
        if type == .https, route.isProtected, reign.policy.guardsServiceBindings { return true }
        // A suppressed family says nothing of where the other one's answer is from.
        let areBothGiven = reign.policy.families == .both
        // It goes before the preset, and is NODATA beside the other family's.
        let wasDenied = chronicle.tellings.contains { $0.name == name && $0.type == type && $0.result == .nameError }
        if lastResort != nil, isLastResort || !areBothGiven || wasDenied { return true }
        return chronicle.tellings.contains { telling in
            guard telling.name == name, telling.network == scope.network else { return false }
            if telling.type == type { return telling.result == .empty }
            guard type.isAddress, telling.type == type.sibling, telling.result == .records else { return false }
            let lifetime = chronicle.reigns[telling.asked.policy].lifetime(telling.ttl, isDenial: false)
            let longest = Int64(lifetime) + Int64(reign.staleTime(lifetime)) + Self.ownDenialTime
            return !areBothGiven || now - telling.at <= .seconds(longest)
        }
    }

    // MARK: HTTPS

    private var wrongBindings: [String] {
        guard reply.answers.count == 1, let binding = SimulatedBinding(reply.answers[0].rdata),
            chronicle.tellings.indices.contains(binding.telling)
        else { return ["hints: a record that no source has answered"] }
        let telling = chronicle.tellings[binding.telling]
        let faults = faults(of: telling)
        let hints = binding.hints.map { SimulatedAddress($0) }
        guard route.isProtected, reign.policy.guardsServiceBindings else {
            let own = SimulatedAddress(.hint, name: name, number: 2 * binding.telling)
            return hints.allSatisfy { $0 == own } ? faults : faults + ["hints: changed"]
        }
        return hints.isEmpty ? faults : faults + ["hints: of a protected name"]
    }

    // MARK: Responses

    /// Faults of using a server's response at this time.
    private func faults(of telling: Chronicle.Telling) -> [String] {
        var faults = misplaced(telling, network: scope.network) + aged(telling)
        if telling.name != name || telling.type != type || telling.isSigned != client.isSigned {
            faults.append("origin: the answer to another question")
        }
        if chronicle.isFlushed(name, since: telling.flightBegan, before: client) {
            faults.append("age: it was flushed")
        }
        if isUnverified, lastResort != nil, !isOfNetwork(telling) {
            faults.append("last resort: it takes the place of LocalDNS's unverified answers")
        }
        return faults
    }

    /// Faults of where it came from: the source may answer the name now, as it might then, and for this network.
    private func misplaced(_ telling: Chronicle.Telling, network: String?) -> [String] {
        let route = reign.route(of: telling.name)
        let before = chronicle.reigns[telling.asked.policy].route(of: telling.name)
        var faults: [String] = []
        if telling.network != network { faults.append("network: asked for \(telling.network ?? "none")") }
        if telling.asked != telling.answered { faults.append("age: asked before a change, and answered after it") }
        let isInForce =
            switch (telling.giver, route) {
            case (.provider(let number), .protect):
                reign.providers(for: telling.name, telling.type, in: plan).contains(number) && before.isProtected
            case (.localDNS(let number), .bypass):
                number == reign.policy.localDNS && before == .bypass
            case (.localDNS(let number), .protect):
                number == reign.policy.localDNS && before.isProtected && reign.mode != .httpdnsOnly
                    && telling.asked.policy == chronicle.epoch.policy
                    && (type != .https || !reign.policy.guardsServiceBindings)
            case (.forwarder(let number), .forward(_, let servers)):
                if case .forward(_, servers) = before { number == servers } else { false }
            default: false
            }
        return isInForce ? faults : faults + ["origin: a source that is not in force"]
    }

    /// Faults of its age.
    private func aged(_ telling: Chronicle.Telling) -> [String] {
        let lifetime = lifetime(of: telling)
        let age = max(.zero, now - (telling.flightBegan + Self.settling)).wholeSeconds
        if reply.isStale {
            let code: ExtendedError.Code = reply.responseCode == .nameError ? .staleNXDomainAnswer : .staleAnswer
            let isMarked = reply.error?.code == code && reply.ttl <= 30
            let faults = isMarked ? [] : ["stale: without saying so"]
            if age > lifetime + reign.staleTime(lifetime) { return faults + ["stale: after \(age) s of \(lifetime)"] }
            return faults
        }
        var faults: [String] = []
        if telling.answered.network != chronicle.epoch.network { faults.append("age: fresh, from another network") }
        if age >= max(lifetime, 1) { faults.append("age: fresh after \(age) s of \(lifetime)") }
        if reply.ttl + age > lifetime { faults.append("TTL: \(reply.ttl) after \(age) s of \(lifetime)") }
        return faults
    }

    private func lifetime(of telling: Chronicle.Telling) -> UInt32 {
        let isDenial = telling.result != .records
        let lifetime = chronicle.reigns[telling.asked.policy].lifetime(telling.ttl, isDenial: isDenial)
        guard case .localDNS = telling.giver, route.isProtected,
            !reign.providers(for: name, type, in: plan).isEmpty
        else { return lifetime }
        return min(lifetime, reign.mode == .localDNSFirst ? Self.verifiedTime : Self.unverifiedTime)
    }
}

extension RecordType {
    /// The other address family.
    var sibling: RecordType { self == .a ? .aaaa : .a }
}

extension Duration {
    /// Rounded down; not below 0.
    var wholeSeconds: UInt32 { UInt32(clamping: components.seconds) }
}
