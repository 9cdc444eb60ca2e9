package import DNSWire
package import Scheduling

/// The HTTPDNS providers that may be asked for a name, in order, and what each attempt says of their addresses.
@Loop
package final class ProviderSelector {
    package nonisolated let providers: [any Provider]
    /// The number of each: mostly all of them may be asked, and then no list is made for a question.
    private nonisolated let everyone: [Int]
    /// How much is told of clients' addresses at most; nil while no provider is told anything of them.
    package nonisolated let clientScoping: ClientScoping?
    /// Which addresses no answer for a protected name holds.
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

    /// Whether a provider of this name is told clients' networks, whatever type is asked for.
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

    /// The provider that is asked first for addresses, by those who want no signatures.
    nonisolated func firstEligible(for name: Name, type: RecordType) -> (any Provider)? {
        providers.first { isEligible($0, for: name, type: type, authenticatedOnly: false) }
    }

    /// What backoffs leave to ask of these providers.
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

    /// Begins the probes that are due of these addresses, while others are asked.
    func beginProbes(of candidates: [AttemptPlan.Candidate]) {
        for candidate in candidates where candidate.provider.unavailability == nil {
            _ = probes.beginIfDue(candidate.endpoint, of: candidate.provider, isUrgent: false)
        }
    }

    /// Begins the probes that are due of these addresses, when there is nothing else to ask.
    ///
    /// - Returns: now if it began one, else when the next one is due; nil when none ever is.
    func beginUrgentProbes(of candidates: [AttemptPlan.Candidate]) -> Instant? {
        var next: Instant?
        for candidate in candidates where candidate.provider.unavailability == nil {
            let hasBegun = probes.beginIfDue(candidate.endpoint, of: candidate.provider, isUrgent: true)
            guard let due = hasBegun ? clock.now : candidate.backoff.nextUrgentProbe else { continue }
            next = min(next ?? due, due)
        }
        return next
    }

    /// All addresses of these providers, also those in backoff: a probe may find one working before the question is over.
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

    /// Whether a request waits for room at its service.
    var isBacklogged: Bool {
        for provider in providers where provider.waitingRequests > 0 { return true }
        return false
    }

    /// Why none of these could be asked, if so.
    func reasonAgainst(_ indices: [Int]) -> String {
        indices.lazy.compactMap { index in
            self.providers[index].unavailability.map { "\(self.providers[index].name): \($0)" }
        }.first ?? "every address is in backoff after failures"
    }

    /// Begins to ask for every type of a question; the attempts are begun by `start()` of what is returned.
    func ask(
        _ question: UpstreamQuestion, of indices: [Int], report: @escaping ProviderAttempts.Report
    ) -> ProviderAttempts {
        ProviderAttempts(question, indices, plan: plan(indices), of: self, report: report)
    }

    /// Notes what one attempt says of its address: an answer ends a backoff, anything else may be a reason for a probe.
    ///
    /// - Parameter reply: all of its parts.
    func judge(_ attempt: ProviderAttempts.Attempt, by reply: UpstreamReply) {
        let (provider, endpoint) = (attempt.candidate.provider, attempt.candidate.endpoint)
        guard let failure = reply.failure else {
            // Given up: another address was asked later and answered sooner. A silent one would else never be found out.
            if !reply.isCancelled {
                probes.answered(endpoint, of: provider, isProbe: false)
            } else if clock.now - attempt.began >= Budget.hedge {
                probes.suspect(endpoint, of: provider, since: attempt.began)
            }
            return
        }
        endpoint.health.failed(failure.description, at: clock.now)
        if failure.isReasonForProbe { probes.suspect(endpoint, of: provider, since: attempt.began) }
    }
}

extension UpstreamFailure {
    /// Whether the address, or the account, may be at fault: only a probe can tell.
    fileprivate var isReasonForProbe: Bool {
        switch self {
        case .timeout, .slow, .noServer, .network, .unusable, .certificate, .forged, .busy, .authentication: true
        case .responseCode, .rejected, .overloaded, .cancelled: false
        }
    }
}
