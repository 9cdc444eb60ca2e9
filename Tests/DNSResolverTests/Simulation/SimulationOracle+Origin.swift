import DNSCache
import DNSResolver
import DNSWire
import Scheduling
import TestSupport

// Which sources' answers may be returned, for how long, and with which TTL.

extension SimulationOracle.Case {
    /// An address can be verified only if LocalDNS's answer leaves this much time for its handshake.
    private static let checkTime: Duration = .milliseconds(250)
    /// Seconds for which LocalDNS's unverified answers are cached.
    private static let unverifiedTime: UInt32 = 60

    var origin: [String] {
        if isFailure { return [] }
        if reply.answers.isEmpty { return denial }
        return type == .https ? bindings : addressFaults
    }

    // MARK: Addresses

    private var addressFaults: [String] {
        let addresses = addresses.compactMap(\.self)
        guard addresses.count == reply.answers.count, let first = addresses.first else {
            return ["origin: an address that no source has answered"]
        }
        guard addresses.allSatisfy({ $0.giver == first.giver }) else { return ["origin: addresses of several sources"] }
        guard addresses.allSatisfy({ $0.name == name || $0.giver == .lastResort }) else {
            return ["origin: an address of another name"]
        }
        switch first.giver {
        case .preset, .hint: return ["origin: an address that must not be given here"]
        case .lastResort: return lastResort(addresses)
        case .provider, .forwarder:
            guard addresses.allSatisfy({ $0.telling == first.telling }) else {
                return ["origin: addresses of several answers"]
            }
            return faults(of: chronicle.tellings[first.telling])
        case .localDNS: return localDNS(addresses)
        }
    }

    private func lastResort(_ addresses: [SimulatedAddress]) -> [String] {
        guard let preset = reign.preset(of: name, among: reign.policy.lastResort), preset.types.contains(type),
            addresses == [preset.address(.lastResort, policy: reign.number)], isLastResort, reply.ttl <= 30
        else { return ["last resort: another answer"] }
        return []
    }

    /// At least one of LocalDNS's responses with these addresses must have been valid to use.
    private func localDNS(_ addresses: [SimulatedAddress]) -> [String] {
        let kinds = addresses.compactMap(\.kind)
        let candidates = chronicle.tellings.filter { telling in
            telling.name == name && telling.type == type && telling.giver == addresses[0].giver
                && telling.network == scope.network
                && telling.result == .records
                && addresses.allSatisfy { address in
                    telling.addresses.indices.contains(address.number % 8)
                        && telling.addresses[address.number % 8] == address.kind
                }
        }
        var best: [String]?
        for telling in candidates.reversed() {
            let faults = faults(of: telling) + faults(of: kinds, in: telling)
            if faults.isEmpty { return [] }
            if best.map({ faults.count < $0.count }) ?? true { best = faults }
        }
        return best ?? ["origin: addresses that LocalDNS has not answered"]
    }

    /// Whether a provider denied the name in the same flight, which may be one of the local network (section 1).
    private func isOfNetwork(_ telling: Chronicle.Telling) -> Bool {
        guard reign.mayBeLocal(name) else { return false }
        return chronicle.tellings.contains { other in
            guard case .provider = other.giver, other.name == name, other.type == telling.type else { return false }
            return other.result == .nameError && other.flightBegan == telling.flightBegan
        }
    }

    /// Sections 8 and 9.
    private func faults(of kinds: [Conduct.Address], in telling: Chronicle.Telling) -> [String] {
        guard route.isProtected, !isOfNetwork(telling) else { return [] }
        let check = reign.check(of: name)
        guard check != .off else { return [] }
        var faults: [String] = []
        func wasCaught(before instant: Instant) -> Bool {
            reply.answers.compactMap(\.address).contains { address in
                guard let caught = chronicle.caught[address] else { return false }
                return caught.network == chronicle.epoch.network && caught.at < instant
                    && instant - caught.at < .seconds(300)
            }
        }
        // The outcome of a check that was displaced by others is not predicted.
        if wasCaught(before: now) {
            faults.append("forged: an address that is known to be forged")
        }
        guard reign.mode == .httpdnsFirst else { return faults }
        if check == .strict, !kinds.allSatisfy(\.isHonest) {
            faults.append("forged: an address that nothing verifies, of a name that is checked strictly")
        }
        let isInTime =
            telling.at + Self.checkTime <= telling.flightBegan + .milliseconds(2_250)
        if isInTime, kinds.contains(.hijacker) { faults.append("forged: an address that shows another's certificate") }
        if isInTime, kinds.contains(.honest), !kinds.allSatisfy(\.isHonest) {
            faults.append("forged: a verified address among others")
        }
        return faults
    }

    // MARK: Denials

    private var denial: [String] {
        guard case .sourced(let number)? = reply.denial else { return ourDenial }
        guard chronicle.tellings.indices.contains(number) else {
            return ["origin: a denial that no source has answered"]
        }
        let telling = chronicle.tellings[number]
        guard telling.result == .nameError || telling.result == .noData && reply.responseCode == .noError else {
            return ["origin: another denial than was answered"]
        }
        var faults = faults(of: telling)
        if reply.isStale, case .localDNS = telling.giver, route.isProtected {
            faults.append("stale: LocalDNS's denial of a protected name")
        }
        if case .localDNS = telling.giver, route.isProtected, type.isAddress, reign.mode == .httpdnsFirst,
            reign.check(of: name) == .strict
        {
            faults.append("forged: LocalDNS is believed that there is nothing")
        }
        if reply.responseCode == .nameError, !client.isSigned, type.isAddress, reign.policy.families == .both,
            reign.mode != .localDNSFirst, !chronicle.mayBeFlushed(name, since: telling.at)
        {
            let hasSibling = chronicle.tellings.contains { other in
                other.ask == telling.ask && other.type == type.sibling && other.result == .records && other.ttl > 0
            }
            if hasSibling { faults.append("families: a name is denied whose other family was answered with it") }
        }
        return faults
    }

    /// NODATA that a rule of the resolver produced.
    private var ourDenial: [String] {
        guard reply.responseCode == .noError else {
            return ["origin: a denial of the name that no source has answered"]
        }
        guard reply.ttl <= 300 else { return ["rule: NODATA of ours for \(reply.ttl) s"] }
        let hasLastResort = reign.preset(of: name, among: reign.policy.lastResort) != nil
        if isLastResort { return hasLastResort ? [] : ["last resort: none"] }
        if type == .https, route.isProtected, reign.policy.guardsServiceBindings { return [] }
        let hasReason = chronicle.tellings.contains { telling in
            telling.name == name && telling.network == scope.network
                && (type.isAddress && telling.type == type.sibling && telling.result == .records
                    || telling.type == type && telling.result == .empty)
        }
        if reign.yields(type), hasLastResort { return [] }
        guard hasReason else { return ["rule: NODATA without a reason"] }
        if !chronicle.networkChanges.isEmpty { return [] }
        // Only what a provider answered for one family alone is cached (decision 3), and may be stale.
        let isAnswered = chronicle.tellings.contains { $0.name == name && $0.type == type && $0.result == .empty }
        return reply.isStale && !isAnswered ? ["rule: what was made up is stale"] : []
    }

    // MARK: HTTPS

    private var bindings: [String] {
        guard reply.answers.count == 1, let binding = SimulatedBinding(reply.answers[0].rdata),
            chronicle.tellings.indices.contains(binding.telling)
        else { return ["hints: a record that no source has answered"] }
        let telling = chronicle.tellings[binding.telling]
        var faults = faults(of: telling)
        let hints = binding.hints.map { SimulatedAddress($0) }
        guard route.isProtected, reign.policy.guardsServiceBindings else {
            if !hints.allSatisfy({ $0 == SimulatedAddress(.hint, name: name, number: 2 * binding.telling) }) {
                faults.append("hints: changed")
            }
            return faults
        }
        if telling.asked.policy != chronicle.epoch.policy { faults.append("hints: of an older policy") }
        let target = binding.target == "." ? SimulationPlan.names[name] : binding.target
        for hint in hints {
            guard let hint, case .provider = hint.giver, SimulationPlan.names[hint.name] == target,
                chronicle.tellings.indices.contains(hint.telling)
            else {
                faults.append("hints: an address that this server does not answer")
                continue
            }
            faults += self.faults(of: chronicle.tellings[hint.telling], asHint: true)
        }
        return faults
    }

    // MARK: Responses

    /// Faults of using a server's response at this time.
    private func faults(of telling: Chronicle.Telling, asHint: Bool = false) -> [String] {
        var faults: [String] = []
        let route = reign.route(of: telling.name)
        let before = chronicle.reigns[telling.asked.policy].route(of: telling.name)
        if !asHint, telling.name != name || telling.type != type || telling.isSigned != client.isSigned {
            faults.append("origin: the answer to another question")
        }
        if telling.network != (asHint ? networkOfHint(telling.name) : scope.network) {
            faults.append("network: asked for \(telling.network ?? "none")")
        }
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
        if !isInForce { faults.append("origin: a source that is not in force") }
        if !asHint, chronicle.isFlushed(name, since: telling.flightBegan, before: client) {
            faults.append("age: it was flushed")
        }
        if isUnverified(telling), reign.preset(of: name, among: reign.policy.lastResort) != nil {
            faults.append("last resort: it keeps unverified answers of LocalDNS away")
        }
        return faults + (reply.isStale ? asHint ? [] : stale(telling) : fresh(telling))
    }

    /// The client network for which a hint's addresses are asked: the record's own, if the target's providers are sent
    /// one at all.
    private func networkOfHint(_ target: Int) -> String? {
        reign.scope(of: nil, for: target, in: plan) == .everyone ? nil : scope.network
    }

    /// Whether it is LocalDNS's unverified answer for a protected name, used instead of HTTPDNS's.
    private func isUnverified(_ telling: Chronicle.Telling) -> Bool {
        guard case .localDNS = telling.giver, route.isProtected, type.isAddress, reign.mode == .httpdnsFirst else {
            return false
        }
        return reign.check(of: name) == .off || telling.result != .records
            || !addresses.allSatisfy { $0?.kind?.isHonest ?? false }
    }

    private func lifetime(of telling: Chronicle.Telling) -> UInt32 {
        let isDenial = telling.result != .records
        let lifetime = chronicle.reigns[telling.asked.policy].lifetime(telling.ttl, isDenial: isDenial)
        guard case .localDNS = telling.giver, route.isProtected, type.isAddress else { return lifetime }
        let isCachedBriefly =
            reign.mode == .httpdnsFirst
            ? isUnverified(telling)
            : reign.check(of: name) != .off && !addresses.allSatisfy { $0?.kind?.isHonest ?? true }
        return isCachedBriefly ? min(lifetime, Self.unverifiedTime) : lifetime
    }

    /// The age of a response. A fallback answer of LocalDNS counts from when it is used, at the latest at the end of
    /// its flight, or from when it is verified (sections 7 and 9). A denied name waits for the other family, or for
    /// LocalDNS where a search list has it; a record of type HTTPS waits for its hints.
    private func age(of telling: Chronicle.Telling) -> Duration {
        var since = telling.at
        if telling.result == .nameError || telling.type == .https { since = since + .milliseconds(300) }
        if telling.result == .nameError, !reign.policy.searchDomains.isEmpty {
            since = max(since, telling.flightBegan + SimulatedWorld.patience)
        }
        if case .localDNS = telling.giver, route.isProtected {
            since = telling.flightBegan + SimulatedWorld.patience
            if reign.mode == .localDNSFirst { since = since + .milliseconds(1_500) }
        }
        // Clients that ask during a flight share its result.
        if now <= telling.flightBegan + SimulatedWorld.patience + .milliseconds(300) { return .zero }
        return max(.zero, now - since)
    }

    private func fresh(_ telling: Chronicle.Telling) -> [String] {
        let (lifetime, age) = (lifetime(of: telling), age(of: telling).wholeSeconds)
        var faults: [String] = []
        if telling.answered.network != chronicle.epoch.network { faults.append("age: fresh, from another network") }
        if lifetime > 0 ? age >= lifetime : self.age(of: telling) > .milliseconds(400) {
            faults.append("age: fresh after \(age) s of \(lifetime)")
        }
        if reply.ttl + age > lifetime { faults.append("TTL: \(reply.ttl) after \(age) s of \(lifetime)") }
        return faults
    }

    /// Sections 6 and 12.
    private func stale(_ telling: Chronicle.Telling) -> [String] {
        let (lifetime, age) = (lifetime(of: telling), (now - telling.at).wholeSeconds)
        let isOfOtherNetwork = telling.answered.network != chronicle.epoch.network
        var faults: [String] = []
        if reply.ttl > 30 { faults.append("TTL: \(reply.ttl) of a stale answer") }
        let code: ExtendedError.Code = reply.responseCode == .nameError ? .staleNXDomainAnswer : .staleAnswer
        if reply.error?.code != code { faults.append("stale: without saying so") }
        let longest = lifetime + reign.staleTime(lifetime) + waited.wholeSeconds + 1
        if age > longest { faults.append("stale: after \(age) s of \(lifetime)") }
        // The lifetime of the addresses in an HTTPS record, and whether LocalDNS's were verified, is not known here.
        var least = type == .https ? 0 : lifetime
        if case .localDNS = telling.giver, route.isProtected, type.isAddress {
            // Stale as soon as a provider has answered anything.
            let mayYield = !reign.providers(for: telling.name, type, in: plan).isEmpty
            least = mayYield ? 0 : min(lifetime, Self.unverifiedTime)
        }
        // A denial that LocalDNS did not answer.
        if telling.result == .nameError, reign.mayBeLocal(telling.name) { least = min(least, 10) }
        if !isOfOtherNetwork, age + 2 < least { faults.append("stale: before its time, \(age) s of \(lifetime)") }
        let before = (client.at - telling.at).wholeSeconds
        if isUndisturbed, !client.isSigned || !reign.yields(type), !reign.yields(type) {
            let isShort = before + 1 < least + min(least, 600)
            if waited > (isShort ? reign.policy.freshness.staleWait : .milliseconds(1_800)) {
                faults.append("stale: waited for \(waited)")
            }
        }
        return faults
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

/// An HTTPS record as `SimulatedServer` makes it, read without the code that rewrites it.
private struct SimulatedBinding {
    var target = "."
    var hints: [IPAddress] = []
    var telling = -1

    init?(_ rdata: [UInt8]) {
        var at = 2
        var labels: [String] = []
        while at < rdata.count, rdata[at] > 0 {
            let end = at + 1 + Int(rdata[at])
            guard end <= rdata.count else { return nil }
            labels.append(String(decoding: rdata[(at + 1)..<end], as: UTF8.self))
            at = end
        }
        if !labels.isEmpty { target = labels.joined(separator: ".") }
        at += 1
        while at + 4 <= rdata.count {
            let key = UInt16(rdata[at]) << 8 | UInt16(rdata[at + 1])
            let length = Int(rdata[at + 2]) << 8 | Int(rdata[at + 3])
            guard at + 4 + length <= rdata.count else { return nil }
            let value = rdata[(at + 4)..<(at + 4 + length)]
            switch key {
            case 4, 6:
                let size = key == 4 ? 4 : 16
                guard length % size == 0 else { return nil }
                for start in stride(from: value.startIndex, to: value.endIndex, by: size) {
                    take(value[start..<(start + size)])
                }
            case SimulatedServer.mark: telling = value.reduce(0) { $0 << 8 | Int($1) }
            default: return nil
            }
            at += 4 + length
        }
    }

    private mutating func take(_ bytes: ArraySlice<UInt8>) {
        if let address = IPAddress(bytes: bytes) { hints.append(address) }
    }
}
