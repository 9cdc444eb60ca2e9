import DNSWire
import Scheduling

/// Asks HTTPDNS and LocalDNS for one protected name: the first source at once, the second when it is due or the first
/// has failed. `Slot` decides what follows from their replies.
@Loop
final class Runner: SourceRun {
    /// What is asked of a protected name.
    final class Sources: Sendable {
        let providers: ProviderSet
        let localDNS: any Upstream
        /// Nil: answers of LocalDNS are taken unchecked.
        let answerCheck: AnswerCheck?
        /// Nil: no answers are shared.
        let shared: (any SharedAnswers)?
        let clock: any LoopClock

        init(
            providers: ProviderSet, localDNS: any Upstream, answerCheck: AnswerCheck?, shared: (any SharedAnswers)?,
            clock: any LoopClock
        ) {
            self.shared = shared
            self.providers = providers
            self.localDNS = localDNS
            self.answerCheck = answerCheck
            self.clock = clock
        }
    }

    let key: FlightKey
    /// The indices of the providers that may be asked, best first.
    let eligible: [Int]
    let slots: Slots
    let sources: Sources
    private let settle: @Loop (SourcedResult) -> Void
    private let hasOtherFamily: @Loop (RecordType) -> Bool
    /// Nil once the run is over.
    private var done: (@Loop () -> Void)?
    private var requests: ProviderRequests?
    /// The look-up among shared answers, until the run is over; nil: there is none.
    var sharing: (any SharedLookup)?
    private var lookUps: [any Cancellable] = []
    /// When the second source is asked; nil: it was.
    private var secondDue: Instant?
    /// How often a denial of LocalDNS was to be taken, if the name's other family had been verified by then.
    private var denialsDue = 0
    /// One timer for whatever is due next: mostly none of it fires.
    private var timer: LoopTimer?
    private var alarm: Instant?

    private var rules: SourceRules { slots.rules }

    var isVerified: Bool { slots.isVerified }

    /// When a denial of LocalDNS is next taken, if the name's other family is verified by then.
    private var denialDue: Instant { rules.began + Budget.verified + Budget.hedge * denialsDue }

    /// - Parameters:
    ///   - settle: called once for each type.
    ///   - hasOtherFamily: whether a client that asks for a type has addresses of the other family.
    ///   - done: called once, after the last type is settled; not after `cancel()`.
    init(
        _ key: FlightKey, _ slots: Slots, of eligible: [Int], from sources: Sources,
        settle: @escaping @Loop (SourcedResult) -> Void, hasOtherFamily: @escaping @Loop (RecordType) -> Bool,
        done: @escaping @Loop () -> Void
    ) {
        self.key = key
        self.slots = slots
        self.hasOtherFamily = hasOtherFamily
        self.eligible = eligible
        self.sources = sources
        self.settle = settle
        self.done = done
    }

    /// Begins; everything may be over before this returns.
    func start() {
        secondDue = rules.began + Budget.reserve
        if rules.first == .httpdns { askProviders() } else { askLocalDNS() }
        started()
    }

    /// Begins in place of an earlier run, whose requests to providers go on where HTTPDNS goes first.
    func start(insteadOf earlier: Runner) {
        guard rules.first == .httpdns, let requests = earlier.requests.take() else { return start() }
        secondDue = rules.began + Budget.reserve
        beginRequests { $0.start(insteadOf: requests) }
        started()
    }

    private func started() {
        guard done != nil else { return }
        // Mostly nothing is known yet.
        if slots.needSecond { goOn() } else { setTimer() }
    }

    func cancel() {
        done = nil
        withdraw()
    }

    // MARK: Steps

    /// Reports what is settled, and starts the second source as soon as it is needed.
    func goOn() {
        tell()
        guard done != nil else { return }
        if secondDue != nil, slots.needSecond {
            key.note(.ask, "the first source does not answer: the second is asked at once")
            askSecond()
            tell()
        }
        guard done != nil else { return }
        if slots.areSettled { finish() } else { setTimer() }
    }

    private func tell() {
        slots.forEach { slot in
            if done != nil, let result = slot.takeResult() {
                if sharing != nil { share(result) }
                settle(result)
            }
        }
    }

    private func setTimer() {
        // Nothing waits for the second source before it was asked.
        var next = secondDue ?? slots.nextConcession(denialDue: denialDue)
        if let hedge = requests?.due { next = min(next ?? hedge, hedge) }
        guard next != alarm else { return }
        timer?.cancel()
        alarm = next
        timer = next.map { sources.clock.schedule(at: $0) { [self] in act() } }
    }

    /// Does what is due.
    private func act() {
        (timer, alarm) = (nil, nil)
        let now = sources.clock.now
        if let due = requests?.due, due <= now { requests?.hedge() }
        if let due = secondDue {
            if due <= now {
                key.note(.ask, "no answer after \(Budget.reserve.traceText): the second source is asked too")
                askSecond()
            }
        } else {
            let isVerified = sources.answerCheck?.isVerified(key.name) ?? false
            slots.concede(at: now, denialDue: denialDue) { isVerified && hasOtherFamily($0) }
            while denialDue <= now { denialsDue += 1 }
        }
        goOn()
    }

    private func finish() {
        withdraw()
        done.take()?()
    }

    private func withdraw() {
        timer?.cancel()
        timer = nil
        requests?.cancel()
        requests = nil
        sharing?.cancel()
        sharing = nil
        for lookUp in lookUps { lookUp.cancel() }
        lookUps = []
    }

    // MARK: The two sources

    private func askSecond() {
        secondDue = nil
        if rules.first == .httpdns { askLocalDNS() } else { askProviders() }
    }

    private func askProviders() {
        guard rules.hasProviders else {
            // A service binding may be denied to a client; for any other type an empty response would be false.
            return slots.endProviders(
                rules.isServiceBinding
                    ? .indeterminateEmpty(ttl: nil) : .failure(.unusable("no provider for this name and type")))
        }
        if sources.shared == nil || !lookUpShared() { beginRequests() }
    }

    func beginRequests() { beginRequests { $0.start() } }

    private func beginRequests(_ start: (ProviderRequests) -> Void) {
        let requests = ProviderRequests(key, slots, of: eligible, in: sources.providers, until: rules.lastStart) {
            [self] in goOn()
        }
        self.requests = requests
        start(requests)
    }

    private func askLocalDNS() {
        guard rules.mayUseLocalDNS, sources.clock.now < rules.lastStart else {
            return slots.forEach { $0.checked(.refused(.timeout), rules) }
        }
        slots.forEach { slot in
            guard slot.isOpen else { return }
            key.note(.ask, "\(sources.localDNS.name) is asked for \(slot.type)")
            lookUps.append(
                SpawnedWork({ [self] in await lookUp(slot) }) { [self] checked in
                    key.note(.check, checked.traceText(slot.type))
                    slot.checked(checked, rules)
                    goOn()
                })
        }
    }

    /// What may be used of LocalDNS's response for one type. Where LocalDNS goes first its answer is taken at once, and
    /// checked in the background.
    private func lookUp(_ slot: Slot) async -> CheckedAnswer {
        let type = slot.type
        let reply = await sources.localDNS.ask(UpstreamQuestion(key, [type], until: rules.began + Budget.answer))
        guard !Task.isCancelled else { return .refused(.cancelled) }
        key.note(.reply, "\(sources.localDNS.name) (\(reply.server)): \(reply.traceText([type]))")
        var result = reply.results[type] ?? .failure(.timeout)
        // The forged address of a portal check is what makes the client show the portal.
        if key.route != .portal { result = sources.providers.filter.admitted(result, to: key.name) }
        slot.responded(result, from: reply.server, rules)
        goOn()
        switch result {
        case .failure(let failure): return .refused(failure)
        case .indeterminateEmpty: return .refused(.unusable("an empty response"))
        case .answer(let answer):
            guard slot.isOpen, let check = sources.answerCheck else { return .unverified(answer) }
            return rules.first == .localDNS
                ? check.asKnown(answer, to: key, type)
                : await check.checked(answer, to: key, type, from: reply.server, began: rules.began)
        }
    }
}
