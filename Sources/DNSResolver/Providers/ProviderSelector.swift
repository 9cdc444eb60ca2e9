package import DNSWire
package import Scheduling

/// The HTTPDNS providers of a policy: which of them may be asked for a name, in order.
@Loop
package final class ProviderSelector {
    package nonisolated let providers: [any Provider]
    /// The index of each: mostly all of them may be asked, and then no list is made for a question.
    private nonisolated let everyone: [Int]
    /// The most of clients' addresses that is sent to a provider; nil while none is sent any of them.
    package nonisolated let clientScoping: ClientScoping?
    /// Removes addresses that no answer for a protected name may hold.
    nonisolated let filter: AddressFilter
    let probes: Probes
    let clock: any LoopClock

    package nonisolated init(
        providers: [any Provider], filter: AddressFilter = AddressFilter(), clock: any LoopClock,
        report: @escaping @Loop (ResolverEvent) -> Void
    ) {
        self.filter = filter
        self.providers = providers
        everyone = Array(providers.indices)
        clientScoping = providers.compactMap(\.clientScoping).max { $0.bits < $1.bits }
        self.clock = clock
        probes = Probes(clock: clock, report: report)
    }

    /// The providers that may be asked, best first.
    ///
    /// With DO or CD those that carry any type come first: the others cannot return signatures.
    package nonisolated func eligible(
        for name: Name, type: RecordType, signed: Bool, authenticatedOnly: Bool = false
    ) -> [Int] {
        var able = everyone
        for index in providers.indices
        where !isEligible(providers[index], for: name, type: type, authenticatedOnly: authenticatedOnly) {
            able.removeAll { $0 == index }
        }
        guard signed else { return able }
        return able.filter { providers[$0].answers(.rrsig) } + able.filter { !providers[$0].answers(.rrsig) }
    }

    /// Whether a provider of this name is sent clients' networks, whatever type is asked for.
    nonisolated func tellsNetworks(for name: Name) -> Bool {
        providers.contains { provider in
            provider.clientScoping != nil && (provider.names.isEmpty || provider.names.contains { name.isWithin($0) })
        }
    }

    private nonisolated func isEligible(
        _ provider: any Provider, for name: Name, type: RecordType, authenticatedOnly: Bool
    ) -> Bool {
        provider.answers(type) && (provider.isAuthenticated || !authenticatedOnly)
            && (provider.names.isEmpty || provider.names.contains { name.isWithin($0) })
    }

    /// The provider that is asked first for addresses when no signatures are wanted.
    nonisolated func firstEligible(for name: Name, type: RecordType) -> (any Provider)? {
        providers.first { isEligible($0, for: name, type: type, authenticatedOnly: false) }
    }

    /// Which of these providers can be asked, given their backoffs.
    func outlook(_ indices: [Int]) -> Outlook {
        let now = clock.now
        var outlook = Outlook.backoff
        for index in indices where providers[index].unavailability == nil {
            let provider = providers[index]
            for endpoint in provider.endpoints {
                let candidate = AttemptPlan.Candidate(index: index, provider: provider, endpoint: endpoint)
                if candidate.isUsable { return .usable }
                if candidate.backoff.isDue(at: now, isUrgent: true) { outlook = .probeDue }
            }
        }
        return outlook
    }

    enum Outlook {
        /// An address may be asked.
        case usable
        /// None may be asked, and the next question begins a probe.
        case probeDue
        /// None may be asked.
        case backoff
    }

    /// All addresses of these providers, including those in backoff: a probe may succeed before the question is over.
    private func plan(_ indices: [Int]) -> AttemptPlan {
        var plan = AttemptPlan()
        for index in indices {
            let provider = providers[index]
            guard provider.unavailability == nil else { continue }
            let endpoints = provider.endpoints
            plan.add(
                provider.ranking.order(endpoints, family: endpoints.first?.family ?? .ipv4), of: provider, index: index)
        }
        return plan
    }

    /// Whether a request waits for a free slot at its service.
    var isBacklogged: Bool {
        for provider in providers where provider.waitingRequests > 0 { return true }
        return false
    }

    /// Creates the attempts for every type of a question; they begin with `start()`.
    func ask(
        _ question: UpstreamQuestion, of indices: [Int], report: @escaping ProviderAttempts.Report
    ) -> ProviderAttempts {
        ProviderAttempts(
            question, indices, of: providers, plan: plan(indices), probes: probes,
            filter: filter.isEmpty ? nil : filter,
            report: report)
    }
}
