import DNSCache
import DNSWire

@testable import DNSResolver

extension SimulatedWorld {
    /// A policy of the plan, with the simulated sources.
    static func policy(
        _ policy: SimulationPlan.Policy, _ number: Int, _ plan: SimulationPlan, _ providers: [SimulatedProvider],
        _ servers: [SimulatedServer], checks: AddressChecks, probes: Probes,
        tags: (localDNS: [UInt16], forwarders: [UInt16], providers: [UInt16])
    ) -> ResolverPolicy {
        func names(_ texts: [String]) -> [Name] { texts.compactMap { try? Name($0) } }
        func presets(_ entries: [SimulationPlan.Preset], _ giver: SimulatedAddress.Giver) -> Presets {
            var presets = Presets()
            for entry in entries {
                let addresses = entry.types.map { entry.address(giver, policy: number).address($0) }
                for text in names([entry.name]) {
                    presets.add(text, isWildcard: entry.isWildcard, addresses: addresses)
                }
            }
            return presets
        }
        func server(_ giver: SimulatedAddress.Giver) -> SimulatedServer {
            servers.first { $0.giver == giver } ?? servers[0]
        }
        let routes = RoutePolicy(
            mode: policy.mode, protect: NameList(names(policy.protect)), bypass: NameList(names(policy.bypass)),
            forward: policy.forwards.map { NameList(names($0.suffixes)) }, searchDomains: names(policy.searchDomains),
            providers: policy.providers.map { names(plan.providers[$0].names) })
        let lines = SourceLines(
            mode: policy.mode, providers: policy.providers.map { providers[$0] }, probes: probes,
            localDNS: server(.localDNS(policy.localDNS)),
            forwarders: policy.forwards.map { server(.forwarder($0.servers)) },
            checks: checks, certificateCheck: policy.certificates, unverified: names(policy.unverified),
            guardsServiceBindings: policy.guardsServiceBindings)
        return ResolverPolicy(
            localAnswers: LocalAnswers(presets: presets(policy.presets, .preset), families: policy.families),
            routes: routes, lines: lines,
            sources: SourceTags(
                localDNS: tags.localDNS[policy.localDNS], forwards: policy.forwards.map { tags.forwarders[$0.servers] },
                providers: policy.providers.map { tags.providers[$0] }),
            lastResort: presets(policy.lastResort, .lastResort), preresolve: names(policy.preresolve))
    }
}
