import DNSCache
import DNSResolver
import DNSWire
import Scheduling
import TestSupport

/// Answers that clients have received, as far as they constrain later answers.
@Loop
struct GivenAnswers {
    private struct Given {
        let type: RecordType
        let name: Int
        let isSigned: Bool
        let scope: DocumentedScope
        let at: Instant
        let ttl: UInt32
        let epoch: Chronicle.Epoch
        /// The number of the provider's response; nil for other sources.
        let telling: Int?
    }

    private var answers: [Given] = []

    mutating func take(_ one: SimulationOracle.Case) {
        guard one.type.isAddress, !one.reply.answers.isEmpty, !one.reply.isStale, !one.isLastResort, one.preset == nil
        else { return }
        var telling: Int?
        if let address = one.addresses.first ?? nil, case .provider = address.giver { telling = address.telling }
        answers.append(
            Given(
                type: one.type, name: one.name, isSigned: one.client.isSigned, scope: one.scope, at: one.now,
                ttl: one.reply.ttl,
                epoch: one.chronicle.epoch, telling: telling))
    }

    func faults(with one: SimulationOracle.Case) -> [String] { families(one) + despite(one) }

    /// The suppressed family is not answered as long as a client may use the addresses it received of the preferred one
    /// (section 3).
    private func families(_ one: SimulationOracle.Case) -> [String] {
        guard one.reign.yields(one.type), !one.client.isSigned, !one.reply.answers.isEmpty else { return [] }
        let preferred = answers.last { given in
            given.name == one.name && given.type == one.type.sibling && !given.isSigned && given.scope == one.scope
        }
        if came(with: one) {
            return ["families: \(one.type) though its reply had the other family too"]
        }
        // Addresses of LocalDNS may have been detected as forged since.
        guard let preferred, preferred.telling != nil, preferred.at < one.client.at,
            preferred.epoch == one.chronicle.epoch,
            one.now - preferred.at < .seconds(Int64(preferred.ttl)),
            !one.chronicle.mayBeFlushed(one.name, since: preferred.at)
        else { return [] }
        return ["families: \(one.type) though the other family was given"]
    }

    /// Whether the provider's response in use had addresses of the other family as well.
    private func came(with one: SimulationOracle.Case) -> Bool {
        guard let address = one.addresses.first ?? nil, case .provider = address.giver else { return false }
        let tellings = one.chronicle.tellings
        let given = tellings[address.telling]
        return tellings.contains { telling in
            telling.ask == given.ask && telling.type == one.type.sibling && telling.result == .records
                && telling.ttl > 0 && !isPreceded(telling, among: tellings)
        }
    }

    /// Whether another server answered the same question of the same flight earlier, with TTL 0.
    private func isPreceded(_ telling: Chronicle.Telling, among tellings: [Chronicle.Telling]) -> Bool {
        tellings.contains { earlier in
            earlier.flightBegan == telling.flightBegan && earlier.name == telling.name && earlier.type == telling.type
                && earlier.at < telling.at && earlier.result == .records && earlier.ttl == 0
        }
    }

    /// A provider's expired answer is preferred to SERVFAIL, a preset of last resort, and LocalDNS's unverified
    /// addresses (sections 6, 7 and 10), for at least an hour.
    private func despite(_ one: SimulationOracle.Case) -> [String] {
        guard one.type.isAddress, !one.reply.isStale else { return [] }
        guard one.isFailure || one.isLastResort || isUnverified(one) else { return [] }
        let earlier = answers.last { given in
            given.name == one.name && given.type == one.type && given.isSigned == one.client.isSigned
                && given.scope == one.scope
        }
        guard let earlier, let number = earlier.telling else { return [] }
        let chronicle = one.chronicle
        let telling = chronicle.tellings[number]
        guard earlier.at <= one.client.at, !chronicle.mayBeFlushed(one.name, since: telling.at),
            let lifetime = longest(telling, one), one.now - telling.at < .seconds(Int64(lifetime) + 3_590)
        else { return [] }
        // Only where no later response can have replaced it.
        let isLast = !chronicle.tellings[(number + 1)...].contains { later in
            guard later.name == one.name, later.type == one.type || later.type == one.type.sibling else { return false }
            if later.result == .empty { return false }
            if case .failure = later.result { return false }
            if case .provider = later.giver, later.result == .records, later.ttl > 0 { return false }
            return true
        }
        let reigns = chronicle.reigns[telling.asked.policy...]
        let route = reigns.first?.route(of: one.name)
        let isSteady = reigns.allSatisfy { reign in
            reign.route(of: one.name) == route && reign.policy.families == .both && reign.policy.freshness.staleMax > 0
                && reign.scope(of: one.client.client, for: one.name, in: one.plan) == one.scope
                && reign.providers(for: one.name, one.type, in: one.plan).contains { telling.giver == .provider($0) }
        }
        return isLast && isSteady ? ["stale: a provider's answer of \(one.now - telling.at) ago goes before"] : []
    }

    /// Seconds for which it is fresh; nil when it is not cached.
    private func longest(_ telling: Chronicle.Telling, _ one: SimulationOracle.Case) -> UInt32? {
        let lifetime = one.chronicle.reigns[telling.asked.policy].lifetime(telling.ttl, isDenial: false)
        return lifetime > 0 ? lifetime : nil
    }

    private func isUnverified(_ one: SimulationOracle.Case) -> Bool {
        guard one.route.isProtected, one.reign.mode == .httpdnsFirst else { return false }
        return one.addresses.contains { address in
            guard let kind = address?.kind else { return false }
            return !kind.isHonest || one.reign.check(of: one.name) == .off
        }
    }
}
