import DNSCache
import DNSWire
import Scheduling

// Results that wait for other look-ups.

extension FlightWork {
    func decide(_ found: SourcedResult, _ decision: DeferredResults.Decision) async {
        switch (decision, found.result) {
        case (.otherFamilyOfProvider, _): await fitFamily(found)
        case (.denial, .answer(let answer)): await deny(answer, found)
        case (.failure, .failure(let failure)): await fail(failure, found)
        case (.translation, .answer(let answer)): await translate(answer, found)
        default: break
        }
    }

    /// A provider that knows addresses of the other family knows the name: its empty response then holds for this
    /// family alone, whatever LocalDNS answers for it. That is waited for like any answer of HTTPDNS: behind addresses that
    /// are verified no longer than `Budget.verified`, for when the other family was asked for is up to another client.
    private func fitFamily(_ found: SourcedResult) async {
        guard let empty = found.empty else { return }
        let type = found.type
        let answer = Answer.negative(name: key.name, ttl: empty.ttl)
        let none = SourcedResult(type, .answer(answer), .provider(index: empty.provider), empty.server)
        let until = found.source == .verifiedLocalDNS ? began + Budget.verified : empty.deadline
        if policy.translates(type, key) {
            let made = await translated(answer, until: until)
            guard !isCancelled else { return }
            if case .answer(let answer) = made { return keepTranslated(answer, none) }
        } else {
            if clock.now < until { askOtherFamily(of: type) }
            await flight.otherFamily(of: type, until: until)
            guard !isCancelled else { return }
        }
        if reconciled(.emptiness(provider: policy.sources.tag(of: none.source)), type) == .empty {
            keep(answer, none)
        } else {
            settleAlone(found)
        }
    }

    /// Asks for the other family, which no client has asked for, unless something is known of it or no client gets it.
    private func askOtherFamily(of type: RecordType) {
        let other = type.otherFamily
        guard flight.isOpen(other), otherFamily(of: type) == nil, !policy.localAnswers.families.excludes(other),
            environment.remembered(key, other, by: policy) == nil
        else { return }
        key.note(.ask, "the provider does not say why it is empty: it is asked for \(other), too")
        _ = Self.join(key, other, by: policy, in: environment)
    }

    private func deny(_ answer: Answer, _ found: SourcedResult) async {
        await flight.otherFamily(of: found.type, until: clock.now + Budget.hedge)
        guard !isCancelled else { return }
        var answer = answer
        if reconciled(.denial, found.type) == .exists { answer.responseCode = .noError }
        keepOrTranslate(answer, found)
    }

    private func fail(_ failure: UpstreamFailure, _ found: SourcedResult) async {
        let type = found.type
        await flight.otherFamily(of: type, until: clock.now + Budget.hedge)
        guard !isCancelled else { return }
        let failed = Flight.Outcome.failure(failure.extendedError)
        guard type.isAddress, !failure.isOurs, reconciled(.failure, type) == .failedFamily else {
            return finish(type, with: failed, failure)
        }
        let instead = store.keepFailedFamily(
            key, type, besides: otherFamily(of: type), made: policy.translatedInstead(key, type, in: store),
            hasYielded: { policy.hasYielded(key, since: $0) })
        finish(type, with: instead ?? failed, failure)
    }

    /// Once all else is settled: what is made of A needs that.
    private func translate(_ answer: Answer, _ found: SourcedResult) async {
        let made = await translated(answer, until: clock.now + Budget.answer)
        guard !isCancelled else { return }
        switch made {
        case .answer(let translated): keepTranslated(translated, found)
        case .failure(let error): finish(found.type, with: .failure(error))
        case .nothing: keep(answer, found)
        case .unverified:
            let outcome = store.keep(
                answer, for: key, found.type, found.source, found.server, longest: AnswerStore.unverifiedLifetime)
            finish(found.type, with: preferring(outcome, found.type), source: policy.sources.tag(of: found.source))
        }
    }

    /// - Parameter found: the answer in whose place the addresses were made.
    private func keepTranslated(_ answer: Answer, _ found: SourcedResult) {
        let outcome = store.keep(answer, for: key, found.type, found.source, found.server, isTranslated: true)
        finish(found.type, with: preferring(outcome, found.type), source: policy.sources.tag(of: found.source))
    }
}
