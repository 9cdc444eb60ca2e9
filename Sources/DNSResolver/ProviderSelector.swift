package import DNSWire
package import Scheduling

/// Asks the HTTPDNS providers in order: first address at once, a second one when the first is slow, the next one when
/// an attempt fails; addresses that keep failing are set aside.
@Loop
package final class ProviderSelector {
    package nonisolated let providers: [any Provider]
    /// The number of each: mostly all of them may be asked, and then no list is made for a question.
    private nonisolated let everyone: [Int]
    /// How much is told of clients' addresses at most; nil while no provider is told anything of them.
    package nonisolated let clientScoping: ClientScoping?
    /// A service that asks to be left alone for longer is tried again all the same.
    private static let longestPause: Duration = .seconds(300)

    /// How often an address that had been set aside has answered again.
    private(set) var recoveries = 0
    /// Those who wait until it is known whether an address is back, by a number.
    private var waiters: [Int: @Loop () -> Void] = [:]
    private var waiterNumber = 0
    let clock: any LoopClock
    private let report: @Loop (ResolverEvent) -> Void

    package nonisolated init(
        providers: [any Provider], clock: any LoopClock, report: @escaping @Loop (ResolverEvent) -> Void
    ) {
        self.providers = providers
        everyone = Array(providers.indices)
        clientScoping = providers.compactMap(\.clientScoping).max { $0.bits < $1.bits }
        self.clock = clock
        self.report = report
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

    /// Whether one of these providers has an address that was left alone and is to be tried again now.
    func awaitTrial(_ indices: [Int]) -> Bool {
        let now = clock.now
        if anyUsable(indices, where: { $0.isUsable(at: now) }) {
            return anyUsable(indices) { $0.hasFailed && $0.isUsable(at: now) }
        }
        return anyUsable(indices) { $0.hasFailed && $0.isUsableAlone(at: now) }
    }

    /// Whether all that is left to ask of these providers is an address that another question tries just now.
    func isTrialUnderWay(_ indices: [Int]) -> Bool {
        let now = clock.now
        return !anyUsable(indices, where: { $0.isUsable(at: now) })
            && !anyUsable(indices, where: { $0.isUsableAlone(at: now) })
            && anyUsable(indices, where: { $0.isProbing })
    }

    /// Has `done` called once, when a question that tried an address has ended.
    func whenTrialEnds(_ done: @escaping @Loop () -> Void) -> any Cancellable {
        waiterNumber += 1
        waiters[waiterNumber] = done
        return Wait(number: waiterNumber, of: self)
    }

    @Loop
    private final class Wait: Cancellable {
        private let number: Int
        private let selector: ProviderSelector

        init(number: Int, of selector: ProviderSelector) { (self.number, self.selector) = (number, selector) }

        func cancel() { selector.waiters[number] = nil }
    }

    private func wakeWaiters() {
        guard !waiters.isEmpty else { return }
        // In the order in which they came: the first may be the one that tries next.
        for number in waiters.keys.sorted() { waiters.removeValue(forKey: number)?() }
    }

    // Loops without closures: the runtime checks at each call of one that it is on the loop.

    private func anyUsable(_ indices: [Int], where isUsable: (EndpointHealth) -> Bool) -> Bool {
        for index in indices where mayAsk(providers[index]) {
            for endpoint in providers[index].endpoints where isUsable(endpoint.health) { return true }
        }
        return false
    }

    private func mayAsk(_ provider: any Provider) -> Bool {
        provider.unavailability == nil && provider.health.isUsable(at: clock.now)
    }

    /// The addresses that are well; if none is, those that may be tried nevertheless.
    private func plan(_ indices: [Int]) -> AttemptPlan {
        let now = clock.now
        let plan = plan(AttemptPlan(isLastResort: false), indices) { $0.isUsable(at: now) }
        guard !plan.isEmpty else {
            return self.plan(AttemptPlan(isLastResort: true), indices) { $0.isUsableAlone(at: now) }
        }
        return plan.leavesSomeOut ? adding(indices, to: plan, at: now) : plan
    }

    /// With the addresses that are left alone now, behind the others: one may be found to be back before the question is over.
    private func adding(_ indices: [Int], to plan: AttemptPlan, at now: Instant) -> AttemptPlan {
        var plan = plan
        for index in indices where mayAsk(providers[index]) {
            plan.add(providers[index].endpoints.filter { !$0.health.isUsable(at: now) }, of: index)
        }
        return plan
    }

    private func plan(
        _ empty: AttemptPlan, _ indices: [Int], where isUsable: (EndpointHealth) -> Bool
    ) -> AttemptPlan {
        var plan = empty
        for index in indices {
            let provider = providers[index]
            guard mayAsk(provider) else { continue }
            let endpoints = provider.endpoints
            // Mostly all of them: then no other list is made.
            var usable = endpoints
            for index in endpoints.indices.reversed() where !isUsable(endpoints[index].health) {
                usable.remove(at: index)
                plan.leavesSomeOut = true
            }
            guard !usable.isEmpty else { continue }
            plan.add(provider.ranking.order(usable, family: endpoints.first?.family ?? .ipv4), of: index)
        }
        return plan
    }

    /// Whether a request waits for room at its service.
    var isBacklogged: Bool {
        for provider in providers where provider.waitingRequests > 0 { return true }
        return false
    }

    /// Why none of these could be asked, if so.
    func hindrance(_ indices: [Int]) -> String {
        indices.lazy.compactMap { index in
            self.providers[index].unavailability.map { "\(self.providers[index].name): \($0)" }
        }.first ?? "every address is set aside after failures"
    }

    /// Begins to ask for every type of a question; the attempts are begun by `start()` of what is returned.
    ///
    /// - Parameter told: called once, or twice when one family has its answer before the other.
    func ask(
        _ question: UpstreamQuestion, of indices: [Int], told: @escaping ProviderAttempts.Told
    ) -> ProviderAttempts {
        ProviderAttempts(question, indices, plan: plan(indices), of: self, told: told)
    }

    /// Draws from one attempt what it says of the address and the provider.
    ///
    /// - Parameter reply: all of its parts.
    func judge(_ attempt: ProviderAttempts.Attempt, by reply: UpstreamReply) {
        let now = clock.now
        let began = attempt.began
        let provider = providers[attempt.candidate.provider]
        let endpoint = attempt.candidate.endpoint
        let health = endpoint.health
        let wasUsable = health.isUsable(at: now)
        let wasProbing = health.isProbing
        defer { if wasProbing, !health.isProbing { wakeWaiters() } }
        if let failure = reply.failure {
            health.counters.failures += 1
            health.counters.lastFailure = (failure.description, now)
        }
        switch reply.blame {
        case .none:
            if health.hasFailed { recoveries += 1 }
            if health.refusedCertificate != nil {
                report(.certificateAccepted(provider: provider.name, endpoint: endpoint.name))
            } else if health.hasFailed {
                report(.endpointRecovered(provider: provider.name, endpoint: endpoint.name))
            }
            health.succeeded(at: now)
            if provider.health.setAsideUntil != nil {
                report(.providerAccepted(provider: provider.name))
                provider.health.succeeded()
            }
        case .nobody where now - began >= Budget.hedge && reply.isCancelled:
            // Another address was asked later and answered sooner. A silent one would never be found out otherwise.
            health.failed(began: began, now: now, severe: false)
        case .nobody:
            health.abandoned()
        case .busy(let reason, let pause):
            health.setAside(until: now + min(pause, Self.longestPause))
            if wasUsable {
                report(.endpointSetAside(provider: provider.name, endpoint: endpoint.name, reason: reason))
            }
        case .access(let reason):
            health.abandoned()
            if let pause = provider.health.refused(at: now) {
                report(.providerRefusedAccess(provider: provider.name, reason: reason, pause: pause))
            }
        case .certificate(let reason):
            health.failed(began: began, now: now, severe: true)
            if health.refuseCertificate(reason) {
                report(.certificateRefused(provider: provider.name, endpoint: endpoint.name, reason: reason))
            }
        case .address(let reason, let severe):
            health.failed(began: began, now: now, severe: severe)
            if wasUsable, !health.isUsable(at: now) {
                report(.endpointSetAside(provider: provider.name, endpoint: endpoint.name, reason: reason))
            }
        }
    }
}
