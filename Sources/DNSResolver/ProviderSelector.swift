package import DNSWire
package import Scheduling

/// Asks the HTTPDNS providers in order: first address at once, a second one when the first is slow, the next one when
/// an attempt fails; addresses that keep failing are set aside (design: step 8).
@Loop
package final class ProviderSelector {
    package nonisolated let providers: [any Provider]
    /// How much is told of clients' addresses at most; nil while no provider is told anything of them.
    package nonisolated let clientScoping: ClientScoping?
    /// A service that asks to be left alone for longer is tried again all the same.
    private static let longestPause: Duration = .seconds(300)

    /// How often an address that had been set aside has answered again.
    private(set) var recoveries = 0
    private let clock: any LoopClock
    private let report: @Loop (ResolverEvent) -> Void

    package nonisolated init(
        providers: [any Provider], clock: any LoopClock, report: @escaping @Loop (ResolverEvent) -> Void
    ) {
        self.providers = providers
        clientScoping = providers.compactMap(\.clientScoping).max { $0.bits < $1.bits }
        self.clock = clock
        self.report = report
    }

    /// What the providers together told.
    package struct Reply: Sendable {
        /// A result for every type asked; `unknownEmpty` only when every provider said so.
        package var results: [RecordType: UpstreamResult]
        /// The provider whose answer each result is, and which address of its service told it.
        package var sources: [RecordType: (provider: Int, server: String)]
    }

    /// The providers that may be asked, best first.
    ///
    /// With DO or CD those that carry any type come first: the others cannot return signatures.
    package nonisolated func eligible(
        for name: Name, type: RecordType, signed: Bool, authenticatedOnly: Bool = false
    ) -> [Int] {
        let able = providers.indices.filter { index in
            let provider = providers[index]
            return provider.answers(type) && (provider.isAuthenticated || !authenticatedOnly)
                && (provider.names.isEmpty || provider.names.contains { name.isWithin($0) })
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

    /// Whether not one address of these providers may be asked now.
    package func areSetAside(_ indices: [Int]) -> Bool { usable(indices).providers.isEmpty }

    /// Whether one of these providers has an address that was left alone and is to be tried again now.
    func awaitTrial(_ indices: [Int]) -> Bool {
        usable(indices).providers.contains { $0.endpoints.contains { $0.health.hasFailed } }
    }

    private typealias Usable = [(index: Int, endpoints: [any Endpoint])]

    /// The addresses that are well; if none is, those that may be tried nevertheless.
    private func usable(_ indices: [Int]) -> (providers: Usable, isLastResort: Bool) {
        let now = clock.now
        let well = usable(indices) { $0.isUsable(at: now) }
        return well.isEmpty ? (usable(indices) { $0.isUsableAlone(at: now) }, true) : (well, false)
    }

    private func usable(_ indices: [Int], where isUsable: (EndpointHealth) -> Bool) -> Usable {
        indices.compactMap { index in
            let provider = providers[index]
            guard provider.unavailability == nil, provider.health.isUsable(at: clock.now) else { return nil }
            let endpoints = provider.endpoints.filter { isUsable($0.health) }
            return endpoints.isEmpty ? nil : (index, endpoints)
        }
    }

    private func plan(_ indices: [Int]) -> AttemptPlan {
        let usable = usable(indices)
        let ordered = usable.providers.map { index, endpoints in
            let family = providers[index].endpoints.first?.family ?? .ipv4
            return (index: index, endpoints: providers[index].ranking.order(endpoints, family: family))
        }
        return AttemptPlan(ordered, isLastResort: usable.isLastResort)
    }

    /// Why none of these could be asked, if so.
    private func hindrance(_ indices: [Int]) -> String {
        indices.lazy.compactMap { index in
            self.providers[index].unavailability.map { "\(self.providers[index].name): \($0)" }
        }.first ?? "every address is set aside after failures"
    }

    private enum Event: Sendable {
        /// The whole of an attempt's reply, or the part for one type.
        case reply(Int, UpstreamReply)
        case hedgeDue
    }

    /// One attempt: a request, or one for each type to a service that does not take both families together.
    private struct Attempt {
        let candidate: AttemptPlan.Candidate
        let began: Instant
        var missingParts: Int
        /// Whether another address is asked already for what a part of it failed to bring.
        var isReplaced = false
        /// What has come of it so far.
        var reply = UpstreamReply([:])
    }

    /// One question's attempts: those begun, in order, and how many of them are still under way.
    private struct Attempts {
        var plan: AttemptPlan
        var begun: [Attempt] = []
        var underWay = 0

        /// Takes a part of a reply. Returns the attempt if that was all of it.
        mutating func take(_ part: UpstreamReply, of number: Int) -> Attempt? {
            begun[number].missingParts -= 1
            begun[number].reply.results.merge(part.results) { first, _ in first }
            guard begun[number].missingParts == 0 else { return nil }
            underWay -= 1
            return begun[number]
        }
    }

    /// Asks until every type is settled, nobody is left to ask, or the question's deadline has come.
    ///
    /// - Parameter early: told of the first family that has its answer while the other one is still asked for.
    func ask(_ question: UpstreamQuestion, of indices: [Int], early: EarlyReply) async -> Reply {
        var attempts = Attempts(plan: plan(indices))
        var tally = ProviderTally(question, hindrance: hindrance(indices))
        await withTaskGroup(of: Event.self) { group in
            startNext(&attempts, question, question.types, in: &group)
            group.addTask { await self.hedge() }
            while attempts.underWay > 0, let event = await group.next() {
                var mayStart = true
                if case .reply(let number, let reply) = event {
                    let asked = attempts.begun[number].candidate
                    if let whole = attempts.take(reply, of: number) {
                        attempts.plan.ended(whole.candidate, forGood: whole.reply.endsEndpoint)
                        judge(whole)
                        mayStart = !whole.isReplaced || attempts.underWay == 0
                    } else {
                        // Of the other type nothing is known yet: only a failure is a reason to ask elsewhere.
                        mayStart = reply.failure != nil
                        attempts.begun[number].isReplaced = mayStart
                    }
                    if tally.take(reply, from: asked.provider, at: asked.endpoint.name) == .providerFinished {
                        attempts.plan.finish(provider: asked.provider)
                    }
                }
                if tally.isSettled || Task.isCancelled { break }
                if let answered = tally.answered { early.tell(answered) }
                if mayStart { startNext(&attempts, question, tally.openTypes, in: &group) }
            }
            group.cancelAll()
            while let event = await group.next() {
                guard case .reply(let number, let reply) = event, let whole = attempts.take(reply, of: number) else {
                    continue
                }
                judge(whole)
            }
        }
        return tally.reply
    }

    private func startNext(
        _ attempts: inout Attempts, _ question: UpstreamQuestion, _ types: [RecordType],
        in group: inout TaskGroup<Event>
    ) {
        let now = clock.now
        guard now < question.deadline, let candidate = attempts.plan.next(at: now) else { return }
        let number = attempts.begun.count
        let parts = providers[candidate.provider].answersBothFamilies ? [types] : types.map { [$0] }
        attempts.begun.append(Attempt(candidate: candidate, began: now, missingParts: parts.count))
        attempts.underWay += 1
        candidate.endpoint.health.began()
        providers[candidate.provider].health.began(at: now)
        for part in parts {
            var open = question
            open.types = part
            group.addTask { [open] in .reply(number, await candidate.endpoint.ask(open)) }
        }
    }

    private func hedge() async -> Event {
        await clock.sleep(until: clock.now + Budget.hedge)
        return .hedgeDue
    }

    /// Draws from one attempt what it says of the address and the provider.
    private func judge(_ attempt: Attempt) {
        let now = clock.now
        let (reply, began) = (attempt.reply, attempt.began)
        let provider = providers[attempt.candidate.provider]
        let endpoint = attempt.candidate.endpoint
        let wasUsable = endpoint.health.isUsable(at: now)
        if let failure = reply.failure {
            endpoint.health.counters.failures += 1
            endpoint.health.counters.lastFailure = (failure.description, now)
        }
        switch reply.blame {
        case .none:
            if endpoint.health.hasFailed { recoveries += 1 }
            if endpoint.health.refusedCertificate != nil {
                report(.certificateAccepted(provider: provider.name, endpoint: endpoint.name))
            } else if endpoint.health.hasFailed {
                report(.endpointRecovered(provider: provider.name, endpoint: endpoint.name))
            }
            if provider.health.setAsideUntil != nil { report(.providerAccepted(provider: provider.name)) }
            endpoint.health.succeeded(at: now)
            provider.health.succeeded()
        case .nobody where now - began >= Budget.hedge && reply.isCancelled:
            // Another address was asked later and answered sooner. A silent one would never be found out otherwise.
            endpoint.health.failed(began: began, now: now, severe: false)
        case .nobody:
            endpoint.health.abandoned()
        case .busy(let reason, let pause):
            endpoint.health.setAside(until: now + min(pause, Self.longestPause))
            if wasUsable {
                report(.endpointSetAside(provider: provider.name, endpoint: endpoint.name, reason: reason))
            }
        case .access(let reason):
            endpoint.health.abandoned()
            if let pause = provider.health.refused(at: now) {
                report(.providerRefusedAccess(provider: provider.name, reason: reason, pause: pause))
            }
        case .certificate(let reason):
            endpoint.health.failed(began: began, now: now, severe: true)
            if endpoint.health.refuseCertificate(reason) {
                report(.certificateRefused(provider: provider.name, endpoint: endpoint.name, reason: reason))
            }
        case .address(let reason, let severe):
            endpoint.health.failed(began: began, now: now, severe: severe)
            if wasUsable, !endpoint.health.isUsable(at: now) {
                report(.endpointSetAside(provider: provider.name, endpoint: endpoint.name, reason: reason))
            }
        }
    }
}
