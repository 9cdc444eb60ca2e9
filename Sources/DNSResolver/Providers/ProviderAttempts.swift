import DNSWire
import Scheduling

/// One question's attempts at the providers' addresses: the first at once, another when one fails or is slow.
///
/// While all addresses are in backoff it waits for their probes. Ends when every type is settled, when no address is
/// left to ask, or at the question's deadline.
@Loop
final class ProviderAttempts: Cancellable {
    /// The reason for a report.
    enum Progress {
        /// One family has its answer while the other one is still asked for.
        case partial
        /// Nothing can be asked until a probe, begun by another question, has succeeded. Once at most.
        case waiting
        /// Every entry has its result.
        case finished
    }

    typealias Report = @Loop ([ProviderTally.Entry], Progress) -> Void

    /// One attempt: a request, or one for each type to a service that does not take both families together.
    @Loop
    final class Attempt {
        let candidate: AttemptPlan.Candidate
        let began: Instant
        var missingParts: Int
        /// Whether another address was already asked because a part of this attempt failed.
        var isReplaced = false
        /// Its results so far, without its last part; nil: none.
        var reply: UpstreamReply?
        /// The object that receives its results; nil once they are ignored.
        fileprivate var attempts: ProviderAttempts?
        /// The requests, while they may be under way.
        private var requests = ShortList<any Cancellable>()

        init(
            _ candidate: AttemptPlan.Candidate, began: Instant, parts: Int, of attempts: ProviderAttempts
        ) {
            self.attempts = attempts
            self.candidate = candidate
            self.began = began
            missingParts = parts
        }

        /// Begins a request for all or one of its types.
        fileprivate func ask(_ question: UpstreamQuestion) {
            // One reference is all that the closure needs: with more, it would have an allocation of its own.
            requests.append(candidate.endpoint.begin(question) { reply in self.attempts?.take(reply, of: self) })
        }

        /// Cancels what is under way.
        fileprivate func cancel() {
            requests.forEach { $0.cancel() }
            release()
        }

        /// Breaks the reference cycles.
        fileprivate func release() {
            attempts = nil
            requests.removeAll()
        }
    }

    private let question: UpstreamQuestion
    /// The indices of the providers that may be asked, best first, and all providers.
    private let eligible: [Int]
    private let providers: [any Provider]
    private let probes: Probes
    /// Nil when every answer passes unchanged.
    private let filter: AddressFilter?
    private var plan: AttemptPlan
    private var tally: ProviderTally
    /// The attempts begun, in order.
    private var begun = ShortList<Attempt>()
    private var underWay = 0
    private var hasHedged = false
    private var hasReportedPartial = false
    private var hasReportedWaiting = false
    /// The addresses whose probes were awaited.
    private var awaited: [ObjectIdentifier] = []
    /// Whether a probe that this question began may be under way.
    private var hasBegunProbe = false
    /// Set while all addresses are in backoff.
    private var wait: (any Cancellable)?
    /// Nil once it is over.
    private var report: Report?

    init(
        _ question: UpstreamQuestion, _ eligible: [Int], of providers: [any Provider], plan: AttemptPlan,
        probes: Probes, filter: AddressFilter?, report: @escaping Report
    ) {
        self.question = question
        self.eligible = eligible
        self.providers = providers
        self.plan = plan
        self.probes = probes
        self.filter = filter
        self.report = report
        tally = ProviderTally(question)
    }

    /// Begins; `report` may be called before this returns.
    func start() {
        startNext(question.types)
        if underWay == 0 { waitOrFinish() } else if plan.hasBackoffs { probes.begin(plan.inBackoff) }
    }

    /// Asks another provider, or address, as well, since the first is slow.
    ///
    /// - Returns: when a further provider is asked as well; nil when none is left.
    func hedge() -> Instant? {
        guard report != nil, underWay > 0 else { return nil }
        hasHedged = true
        startNext(tally.openTypes, isHedge: true)
        let now = probes.clock.now
        if plan.hasUnaskedProvider(isSparing: now < sparingEnds) { return now + Budget.hedge }
        return plan.hasUnaskedProvider(isSparing: false) ? sparingEnds : nil
    }

    /// When providers that are spared as hedges are asked nevertheless.
    private var sparingEnds: Instant { question.deadline - (Budget.lastStart - Budget.spared) }

    /// How long the first attempt may take before another one is begun beside it: half as long again as is usual at its
    /// address. Nil when none is under way, or another one was begun already.
    var hedgeDelay: Duration? {
        guard underWay > 0, !hasHedged else { return nil }
        guard let usual = begun.last?.candidate.endpoint.health.responseTime.average else { return Budget.hedge }
        return min(max(Budget.hedge, usual * 3 / 2), Budget.latestHedge)
    }

    func cancel() {
        report = nil
        withdraw()
    }

    private func startNext(_ types: [RecordType], isHedge: Bool = false) {
        let now = probes.clock.now
        let isLate = isHedge || begun.first.map { now - $0.began >= Budget.hedge } ?? false
        guard now < question.deadline,
            let candidate = plan.next(byTurns: isLate, isSparing: isHedge && now < sparingEnds)
        else { return }
        let isTogether = types.count == 1 || candidate.provider.answersBothFamilies
        var asked = question
        let attempt = Attempt(
            candidate, began: now, parts: isTogether ? 1 : types.count, of: self)
        begun.append(attempt)
        underWay += 1
        candidate.endpoint.health.began()
        if isTogether {
            asked.types = types
            attempt.ask(asked)
        } else {
            for type in types {
                asked.types = [type]
                attempt.ask(asked)
            }
        }
    }

    /// Takes a part of an attempt's reply, or the whole of it.
    fileprivate func take(_ reply: UpstreamReply, of attempt: Attempt) {
        guard report != nil else { return }
        let asked = attempt.candidate
        attempt.missingParts -= 1
        let mayStart: Bool
        if attempt.missingParts == 0 {
            if let earlier = attempt.reply { end(attempt, earlier.adding(reply)) } else { end(attempt, reply) }
            mayStart = !attempt.isReplaced || underWay == 0
        } else {
            // Nothing is known of the other type yet: only a failure is a reason to ask elsewhere.
            mayStart = reply.failure != nil
            attempt.isReplaced = mayStart
            attempt.reply = attempt.reply?.adding(reply) ?? reply
        }
        if take(reply, from: asked) == .providerFinished { plan.finish(provider: asked.index) }
        if tally.isSettled { return finish() }
        if !hasReportedPartial, tally.hasAnswers {
            hasReportedPartial = true
            report?(tally.entries, .partial)
        }
        // The report may have called `cancel()`.
        guard report != nil else { return }
        if mayStart { startNext(tally.openTypes) }
        if underWay == 0 { waitOrFinish() }
    }

    /// Adds a reply to the tally, without its filtered addresses.
    private func take(_ reply: UpstreamReply, from asked: AttemptPlan.Candidate) -> ProviderTally.Verdict {
        // Without a filter no copy is made.
        if let filter {
            let admitted = filter.admitted(reply, to: question.name)
            return tally.take(admitted, from: asked.index, at: asked.endpoint.name)
        }
        return tally.take(reply, from: asked.index, at: asked.endpoint.name)
    }

    /// Ends an attempt whose reply is complete.
    private func end(_ attempt: Attempt, _ reply: UpstreamReply) {
        underWay -= 1
        attempt.release()
        plan.ended(attempt.candidate, permanently: reply.endsEndpoint)
        probes.note(reply, from: attempt.candidate, began: attempt.began)
    }

    /// When all addresses are in backoff: waits for one probe of each, under way or due in time.
    private func waitOrFinish() {
        guard probes.clock.now < question.deadline, let next = nextProbe(), next <= question.deadline else {
            return finish()
        }
        wait = probes.wait(until: next) { [self] in
            wait = nil
            startNext(tally.openTypes)
            if underWay == 0 { waitOrFinish() } else { report?(tally.entries, .partial) }
        }
        // The probe that a question begins counts as an attempt of its own.
        guard !hasBegunProbe, !hasReportedWaiting else { return }
        hasReportedWaiting = true
        report?(tally.entries, .waiting)
    }

    /// Begins the probes that are due, one for each address.
    ///
    /// - Returns: when the next one may begin, or the deadline where one is under way; nil when none is left to wait
    ///   for.
    private func nextProbe() -> Instant? {
        let candidates = plan.inBackoff
        for candidate in candidates where !isAwaited(candidate) && probes.beginUrgent(candidate) {
            awaited.append(ObjectIdentifier(candidate.endpoint))
            hasBegunProbe = true
        }
        var next: Instant?
        var isProbing = false
        for candidate in candidates {
            if candidate.backoff.isProbing {
                isProbing = true
                if !isAwaited(candidate) { awaited.append(ObjectIdentifier(candidate.endpoint)) }
            } else if !isAwaited(candidate), let due = candidate.backoff.nextUrgentProbe {
                next = min(next ?? due, due)
            }
        }
        guard isProbing else {
            hasBegunProbe = false
            return next
        }
        return min(next ?? question.deadline, question.deadline)
    }

    private func isAwaited(_ candidate: AttemptPlan.Candidate) -> Bool {
        awaited.contains(ObjectIdentifier(candidate.endpoint))
    }

    private func finish() {
        let report = report.take()
        withdraw()
        tally.settleRest(reason: providers.reasonAgainst(eligible))
        report?(tally.entries, .finished)
    }

    /// Cancels what is under way. An address that is slower than another one, or than LocalDNS, is judged by that.
    private func withdraw() {
        wait.take()?.cancel()
        guard underWay > 0 else { return }
        underWay = 0
        begun.forEach { attempt in
            guard attempt.missingParts > 0 else { return }
            attempt.cancel()
            var reply = attempt.reply ?? UpstreamReply([:])
            for type in question.types where reply.results[type] == nil { reply.results[type] = .failure(.cancelled) }
            probes.note(reply, from: attempt.candidate, began: attempt.began)
        }
    }
}

extension UpstreamReply {
    /// With a further part of the reply to an attempt.
    fileprivate func adding(_ part: UpstreamReply) -> UpstreamReply {
        var whole = part
        whole.results = results
        whole.results.add(part.results)
        return whole
    }
}
