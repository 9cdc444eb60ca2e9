import DNSCache
import DNSWire

/// The race for a name under way, and the clients that wait for it: turns the effects of `Race` into questions, checks, stored
/// answers and replies.
@Loop
final class Flight {
    private let answers: FlightAnswers
    /// Whether a client has got SERVFAIL, which is reported for the first one.
    var isFailureReported = false
    /// Called when its race is over.
    private let ended: @Loop (Flight) -> Void
    private var clients = FlightClients()
    private var timer: LoopTimer?
    private var alarm: Instant?
    /// The client that is to ask another flight.
    private var refused: Int?
    private var state = State.racing
    /// The requests to providers, until it is over.
    private var attempts = ShortList<ProviderAttempt>()
    /// The questions to LocalDNS, while they are under way, and the wait for a probe.
    private var lookUps: [any Cancellable] = []
    /// The look-up among shared answers.
    private var shared = Shared.untried
    private var checks: [any Cancellable] = []
    private var probeWait: LoopTimer?

    private enum Shared {
        /// Looked at before the first provider is asked.
        case untried
        case none
        case turn(SharedTurn)
    }

    private enum State {
        case racing
        /// Nothing but the verdicts of checks may come.
        case over
        case abandoned
    }

    init(_ answers: FlightAnswers, ended: @escaping @Loop (Flight) -> Void) {
        self.answers = answers
        self.ended = ended
    }

    var key: FlightKey { answers.key }

    private var clock: any LoopClock { answers.clock }

    /// Whether clients wait, or a better answer may come.
    private var isRunning: Bool { state == .racing && answers.race.isRunning }

    var waiterCount: Int { clients.count }

    /// Whether it asks for a type, and clients wait or a better answer may come.
    func isUnderWay(_ type: RecordType) -> Bool { answers.part(of: type).map { answers.race.isRunning($0) } ?? false }

    // MARK: Clients

    /// Lets a client wait for a type until its deadline; for a refresh it may have a fresh answer. `done` is also called before
    /// this returns. False: the client is to begin another flight, as this one is too old, or over for the type.
    func join(
        _ type: RecordType, until deadline: Instant, isRefresh: Bool, done: @escaping FlightClients.Completion
    ) -> Bool {
        // An answer that may not be cached is shared no longer than the race is joined.
        guard state == .racing, let part = answers.part(of: type),
            answers[part].given == nil || clock.now <= answers.began + Budget.lastStart
        else { return false }
        // One that has its whole time shares no race that another's has shortened.
        guard !answers.isLate || deadline <= answers.ends || answers.ends - clock.now >= Budget.lastStart else {
            return false
        }
        if !isRefresh, answers[part].hasFresh {
            answers[part].recall(key, answers.store)
            answers.race.expire(part, answers[part].known(isRefresh: false, key.route).stale)
        }
        let client = clients.add(until: deadline < answers.ends ? deadline : nil, done)
        run(deadline <= answers.ends ? .joinedLate(client, part) : .joined(client, part))
        if isRunning { awaitProbes() }
        return refused != client
    }

    /// What the cache has no longer is given to no client any more.
    func forgetRemoved() {
        for part in RacePart.allCases where answers.store.cached(key, answers.type(of: part)) == nil {
            if answers[part].hasFresh { answers.race.expire(part, nil) }
            forgetStale(part)
        }
    }

    private func forgetStale(_ part: RacePart) {
        answers.race.forgetStale(part)
        answers[part].forgetCached()
    }

    /// Whether another policy with the same sources decides about its name as its own does.
    func isDecidedAlike(by policy: ResolverPolicy) -> Bool { policy.decides(about: key, like: answers.policy) }

    /// Gives it up: the clients that wait must ask again, the oldest first.
    func abandon() {
        state = .abandoned
        withdraw()
        for done in clients.takeAll() { done(nil) }
    }

    // MARK: The race

    /// Tells the race what has happened, and does what follows.
    private func run(_ event: RaceEvent) {
        guard state != .abandoned else { return }
        for effect in answers.race.apply(event, at: clock.now) where state != .abandoned { perform(effect) }
        guard state == .racing else { return }
        if answers.race.isRunning { setTimer() } else { finish() }
    }

    private func perform(_ effect: RaceEffect) {
        switch effect {
        case .ask(let place, let parts, let address): ask(place, parts, address: address)
        case .check(let part, let addresses): check(addresses, of: part)
        case .store(let part, let answer): answers.keep(answer, part)
        case .drop(let part): answers.store.forgetUnverified(key, answers.type(of: part))
        case .reply(let client, let part, let answer):
            guard let done = clients.take(client) else { return }
            // What another race for the name has stored since: this one had less time.
            if answers.isLate, answer.rank >= .stale,
                let cached = answers.store.cached(key, answers.type(of: part)), cached.isFresh, cached.isFromSource
            {
                return done(.given(cached.response))
            }
            if let given = answers[part].given, given.answer == answer { return done(given.outcome) }
            done(answers.outcome(answer, part))
        case .again(let client, _):
            _ = clients.take(client)
            refused = client
        }
    }

    // MARK: Questions and checks

    /// Asks a source for some types, at one of its addresses; of providers that is what the shared answers leave open.
    private func ask(_ place: Int, _ parts: RaceParts, address: Int) {
        guard let number = answers.race.rules.line[place].provider else {
            for part in RacePart.allCases where parts.contains(RaceParts(part)) {
                let attempt = LocalAttempt(answers: answers, place: place, part: part)
                lookUps.append(attempt.begin { [self] in run($0) })
            }
            return
        }
        if case .untried = shared { lookAmongShared() }
        if let turn, turn.holdsBack(place, parts, address: address) { return }
        guard let candidate = answers.line.members[number].candidate(address) else {
            return run(.failed(place, parts))
        }
        let attempt = ProviderAttempt(candidate, for: answers, at: place, parts, sharing: turn) { [self] in run($0) }
        attempts.append(attempt)
        attempt.begin()
    }

    /// Begins the look-up among shared answers, if there is anything to look at.
    private func lookAmongShared() {
        self.shared = .none
        guard let shared = answers.policy.lines.shared, case .protect = key.route,
            answers.line.members.contains(where: \.provider.isAuthenticated)
        else { return }
        let turn = SharedTurn(for: answers, shared)
        let isBegun = turn.begin { [self] found in
            for ask in turn.takeAsks() where isRunning {
                let (replies, left) = turn.take(found, for: ask)
                if !replies.isEmpty { run(.replied(ask.place, replies)) }
                if !left.isEmpty, isRunning { self.ask(ask.place, left, address: ask.address) }
            }
        }
        if isBegun { self.shared = .turn(turn) }
    }

    private var turn: SharedTurn? { if case .turn(let turn) = shared { turn } else { nil } }

    /// Checks some of LocalDNS's addresses (section 4).
    private func check(_ addresses: RaceAnswer.Addresses, of part: RacePart) {
        checks += LocalAttempt.check(addresses, of: part, for: answers) { [self] place, address, verdict in
            if answers.note(verdict, on: address, part) { forgetStale(part) }
            run(.checked(part, place, verdict))
        }
    }

    /// Waits for the probes of the providers that are asked as soon as they have answered one.
    private func awaitProbes() {
        guard isRunning, clock.now < answers.ends, probeWait == nil, answers.race.rules.awaitsProbe else { return }
        probeWait = answers.policy.lines.probes.wait { [self] in
            probeWait = nil
            for (place, source) in answers.race.rules.line.enumerated() where source.health == .probed {
                guard let number = source.provider else { continue }
                answers.line.members[number].refresh()
                if !answers.line.members[number].endpoints.isEmpty {
                    run(.probed(place, isUp: true))
                } else if !answers.line.members[number].inBackoff.contains(where: \.backoff.isProbing) {
                    run(.probed(place, isUp: false))
                }
            }
            awaitProbes()
        }
    }

    private func setTimer() {
        var next = answers.race.wake
        if let first = clients.firstDeadline { next = min(next ?? first, first) }
        attempts.forEach { if let due = $0.silenceDue { next = min(next ?? due, due) } }
        guard next != alarm || timer == nil else { return }
        timer?.cancel()
        alarm = next
        if let next { timer = clock.schedule(at: next) { [self] in wake() } } else { timer = nil }
    }

    private func wake() {
        (timer, alarm) = (nil, nil)
        let now = clock.now
        // Clients that had waited before have no more time.
        if now < answers.ends { for client in clients.late(at: now) { run(.timeUp(client)) } }
        attempts.forEach { $0.noteSilence(at: now) }
        run(.time)
    }

    /// The race is over: only the verdict on an answer that was given unverified is still of use.
    private func finish() {
        state = .over
        ended(self)
        withdraw(keepsChecks: answers[.a].isGivenUnverified || answers[.aaaa].isGivenUnverified)
    }

    private func withdraw(keepsChecks: Bool = false) {
        timer?.cancel()
        (timer, alarm) = (nil, nil)
        probeWait.take()?.cancel()
        for lookUp in lookUps { lookUp.cancel() }
        lookUps = []
        if !keepsChecks {
            for check in checks { check.cancel() }
            checks = []
        }
        let left = attempts
        attempts = ShortList()
        left.forEach { $0.giveUp() }
        turn?.cancel()
        // It refers to this.
        shared = .none
    }
}
