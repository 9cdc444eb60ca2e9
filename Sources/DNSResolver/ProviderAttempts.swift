import DNSWire
import Scheduling

/// One question's attempts at the providers' addresses: the first at once, another when one fails, or when it is told that one
/// is slow.
///
/// Ends when every type is settled, nobody is left to ask, or the question's deadline has come.
@Loop
final class ProviderAttempts: Cancellable {
    /// Told of the first family that has its answer while the other one is still asked for, and of everything at the end:
    /// then every entry has its result.
    typealias Told = @Loop ([ProviderTally.Entry], _ isLast: Bool) -> Void

    /// One attempt: a request, or one for each type to a service that does not take both families together.
    @Loop
    final class Attempt {
        let candidate: AttemptPlan.Candidate
        let began: Instant
        var missingParts: Int
        /// Whether another address is asked already for what a part of it failed to bring.
        var isReplaced = false
        /// What has come of it so far, without its last part; nil: nothing.
        var reply: UpstreamReply?
        /// Those to which it belongs; nil once its end means nothing any more.
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
            // One object to hold is all that the closure needs: for more, it would have an allocation of its own.
            requests.append(candidate.endpoint.begin(question) { reply in self.attempts?.take(reply, of: self) })
        }

        /// Gives up what is under way.
        fileprivate func cancel() {
            requests.forEach { $0.cancel() }
            release()
        }

        /// Lets go of those who hold on to it.
        fileprivate func release() {
            attempts = nil
            requests.removeAll()
        }
    }

    private let selector: ProviderSelector
    private let question: UpstreamQuestion
    private let providers: [Int]
    private var plan: AttemptPlan
    private var tally: ProviderTally
    /// Those begun, in order.
    private var begun = ShortList<Attempt>()
    private var underWay = 0
    private var hasToldEarly = false
    /// Nil once it is over.
    private var told: Told?

    init(
        _ question: UpstreamQuestion, _ providers: [Int], plan: AttemptPlan, of selector: ProviderSelector,
        told: @escaping Told
    ) {
        self.question = question
        self.providers = providers
        self.plan = plan
        self.selector = selector
        self.told = told
        tally = ProviderTally(question)
    }

    /// Begins; `told` may be called before this returns.
    func start() {
        startNext(question.types)
        if underWay == 0 { finish() }
    }

    /// Asks another address as well, for the first one is slow.
    func startAnother() { startNext(tally.openTypes) }

    func cancel() {
        told = nil
        withdraw()
    }

    private func startNext(_ types: [RecordType]) {
        let now = selector.clock.now
        guard now < question.deadline, let candidate = plan.next(at: now) else { return }
        let provider = selector.providers[candidate.provider]
        let isTogether = types.count == 1 || provider.answersBothFamilies
        var asked = question
        let attempt = Attempt(
            candidate, began: now, parts: isTogether ? 1 : types.count, of: self)
        begun.append(attempt)
        underWay += 1
        candidate.endpoint.health.began()
        provider.health.began(at: now)
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
        guard told != nil else { return }
        let asked = attempt.candidate
        attempt.missingParts -= 1
        let mayStart: Bool
        if attempt.missingParts == 0 {
            if let earlier = attempt.reply { end(attempt, earlier.adding(reply)) } else { end(attempt, reply) }
            mayStart = !attempt.isReplaced || underWay == 0
        } else {
            // Of the other type nothing is known yet: only a failure is a reason to ask elsewhere.
            mayStart = reply.failure != nil
            attempt.isReplaced = mayStart
            attempt.reply = attempt.reply?.adding(reply) ?? reply
        }
        if tally.take(reply, from: asked.provider, at: asked.endpoint.name) == .providerFinished {
            plan.finish(provider: asked.provider)
        }
        if tally.isSettled { return finish() }
        if !hasToldEarly, tally.hasAnswers {
            hasToldEarly = true
            told?(tally.entries, false)
        }
        // Whoever was told may have cancelled.
        guard told != nil else { return }
        if mayStart { startNext(tally.openTypes) }
        if underWay == 0 { finish() }
    }

    /// Draws what there is to be drawn from an attempt whose reply has come whole.
    private func end(_ attempt: Attempt, _ reply: UpstreamReply) {
        underWay -= 1
        attempt.release()
        plan.ended(attempt.candidate, forGood: reply.endsEndpoint)
        selector.judge(attempt, by: reply)
    }

    private func finish() {
        let told = told.take()
        withdraw()
        tally.settleRest(hindrance: selector.hindrance(providers))
        told?(tally.entries, true)
    }

    /// Gives up what is under way. An address that is slower than another one, or than LocalDNS, is judged by that.
    private func withdraw() {
        guard underWay > 0 else { return }
        underWay = 0
        begun.forEach { attempt in
            guard attempt.missingParts > 0 else { return }
            attempt.cancel()
            var reply = attempt.reply ?? UpstreamReply([:])
            for type in question.types where reply.results[type] == nil { reply.results[type] = .failure(.cancelled) }
            selector.judge(attempt, by: reply)
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
