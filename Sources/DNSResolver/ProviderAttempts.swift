import DNSWire
import Scheduling

/// One question's attempts at the providers' addresses: the first at once, another when one fails or is slow.
///
/// Ends when every type is settled, nobody is left to ask, or the question's deadline has come.
@Loop
final class ProviderAttempts: Cancellable {
    /// Told of the first family that has its answer while the other one is still asked for, and of everything at the end.
    typealias Told = @Loop (ProviderSelector.Reply, _ isLast: Bool) -> Void

    /// One attempt: a request, or one for each type to a service that does not take both families together.
    struct Attempt {
        let candidate: AttemptPlan.Candidate
        let began: Instant
        var missingParts: Int
        /// Whether another address is asked already for what a part of it failed to bring.
        var isReplaced = false
        /// What has come of it so far.
        var reply = UpstreamReply([:])
        /// The requests, while they may be under way.
        var requests: [any Cancellable] = []
    }

    private let selector: ProviderSelector
    private let question: UpstreamQuestion
    private let providers: [Int]
    private var plan: AttemptPlan
    private var tally: ProviderTally
    /// Those begun, in order.
    private var begun: [Attempt] = []
    private var underWay = 0
    private var hedge: LoopTimer?
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
        guard underWay > 0 else { return finish() }
        hedge = selector.clock.schedule(after: Budget.hedge) { [self] in startNext(tally.openTypes) }
    }

    func cancel() {
        told = nil
        withdraw()
    }

    private func startNext(_ types: [RecordType]) {
        let now = selector.clock.now
        guard now < question.deadline, let candidate = plan.next(at: now) else { return }
        let number = begun.count
        let provider = selector.providers[candidate.provider]
        let parts = provider.answersBothFamilies ? [types] : types.map { [$0] }
        begun.append(Attempt(candidate: candidate, began: now, missingParts: parts.count))
        underWay += 1
        candidate.endpoint.health.began()
        provider.health.began(at: now)
        for part in parts {
            var open = question
            open.types = part
            // What has failed in a batch, or is slow in one, is not tied to the same names again.
            open.mayBeBatched = question.mayBeBatched && number == 0
            begun[number].requests.append(candidate.endpoint.begin(open) { [self] in take($0, of: number) })
        }
    }

    /// Takes a part of an attempt's reply, or the whole of it.
    private func take(_ reply: UpstreamReply, of number: Int) {
        guard told != nil else { return }
        let asked = begun[number].candidate
        let mayStart: Bool
        if let whole = add(reply, to: number) {
            plan.ended(asked, forGood: whole.reply.endsEndpoint)
            selector.judge(whole)
            mayStart = !whole.isReplaced || underWay == 0
        } else {
            // Of the other type nothing is known yet: only a failure is a reason to ask elsewhere.
            mayStart = reply.failure != nil
            begun[number].isReplaced = mayStart
        }
        if tally.take(reply, from: asked.provider, at: asked.endpoint.name) == .providerFinished {
            plan.finish(provider: asked.provider)
        }
        if tally.isSettled { return finish() }
        if !hasToldEarly, let answered = tally.answered {
            hasToldEarly = true
            told?(answered, false)
        }
        // Whoever was told may have cancelled.
        guard told != nil else { return }
        if mayStart { startNext(tally.openTypes) }
        if underWay == 0 { finish() }
    }

    /// - Returns: the attempt if that was all of it.
    private func add(_ part: UpstreamReply, to number: Int) -> Attempt? {
        begun[number].missingParts -= 1
        begun[number].reply.results.add(part.results)
        begun[number].reply.isRepetition = part.isRepetition
        guard begun[number].missingParts == 0 else { return nil }
        underWay -= 1
        begun[number].requests = []
        return begun[number]
    }

    private func finish() {
        let told = told.take()
        withdraw()
        told?(tally.reply(hindrance: selector.hindrance(providers)), true)
    }

    /// Gives up what is under way. An address that is slower than another one, or than LocalDNS, is judged by that.
    private func withdraw() {
        hedge?.cancel()
        hedge = nil
        guard underWay > 0 else { return }
        underWay = 0
        for number in begun.indices where begun[number].missingParts > 0 {
            for request in begun[number].requests { request.cancel() }
            begun[number].requests = []
            for type in question.types where begun[number].reply.results[type] == nil {
                begun[number].reply.results[type] = .failure(.cancelled)
            }
            selector.judge(begun[number])
        }
    }
}
