import DNSCache
package import DNSWire
package import Scheduling

/// The race for a name under way, and the clients that wait for it: turns the effects of `Race` into questions, checks, stored
/// answers and replies.
@Loop
package final class Flight {
    /// What the clients of one type get.
    package enum Outcome: Sendable {
        case given(Response)
        /// No new answer, and why: what is left is one past its TTL, a preset of last resort, or SERVFAIL.
        case missing(stale: AnswerStore.Cached?, ExtendedError)
    }

    /// Called once: with the outcome, or with nil when the flight was given up and the client is to ask again.
    package typealias Completion = @Loop (Outcome?) -> Void

    package let key: FlightKey
    let policy: ResolverPolicy
    let environment: Flights
    /// A and AAAA, or one type.
    let types: [RecordType]
    /// Whether a client has got SERVFAIL, which is reported for the first one.
    var isFailureReported = false
    /// When its race ends at the latest.
    let ends: Instant
    /// Whether its first client had waited before: what it has no time for is no failure of a source.
    let isLate: Bool
    private(set) var line: SourceLine
    /// What is known of each type.
    private let a: FlightLane
    /// Where one type alone is asked for, the same.
    private let aaaa: FlightLane
    private var race: Race
    private var clients = FlightClients()
    private var timer: LoopTimer?
    private var alarm: Instant?
    /// The client that is to ask another flight.
    private var refused: Int?
    private var state = State.racing
    /// The requests to providers, while they are under way.
    var attempts = ShortList<ProviderAttempt>()
    /// The questions to LocalDNS, while they are under way, and the wait for a probe.
    var lookUps: [any Cancellable] = []
    /// The look-up among shared answers.
    private(set) var shared = Shared.untried
    var checks: [any Cancellable] = []
    private var probeWait: (any Cancellable)?
    /// What the race hears of later.
    private var held: [LoopTimer] = []

    private static let lateness = Duration.milliseconds(100)

    enum Shared {
        /// Looked at before the first provider is asked.
        case untried
        case none
        case turn(SharedTurn)
    }

    private enum State {
        case racing
        /// Nothing but the verdicts of checks may come.
        case over
        /// Given up.
        case abandoned
    }

    /// - Parameters:
    ///   - type: for which it begins.
    ///   - arrived: when its first client's query was received.
    ///   - isRefresh: whether a fresh answer is asked for again.
    init(
        _ key: FlightKey, _ type: RecordType, by policy: ResolverPolicy, arrived: Instant, isRefresh: Bool,
        in environment: Flights
    ) {
        self.key = key
        self.policy = policy
        self.environment = environment
        types = policy.types(for: type, key)
        let hasFamilies = types.count > 1
        line = policy.lines.line(for: key, isInSearchDomain: policy.routes.isInSearchDomain(key.name))
        a = FlightLane(types[0], key, policy, environment)
        aaaa = hasFamilies ? FlightLane(types[1], key, policy, environment) : a
        line.rules.a = a.known(isRefresh: isRefresh, key.route)
        if hasFamilies { line.rules.aaaa = aaaa.known(isRefresh: isRefresh, key.route) }
        line.rules.hasFamilies = hasFamilies
        line.rules.isSigned = key.isSigned
        if case .prefix = policy.translation { line.rules.translates = hasFamilies && policy.translates(.aaaa, key) }
        line.rules.yielding = hasFamilies ? policy.yielding(key) : nil
        line.rules.staleWait = environment.store.staleWait.nanoseconds
        ends = arrived + Budget.answer
        isLate = environment.clock.now - arrived > Self.lateness
        race = Race(line.rules, ends: ends)
    }

    var store: AnswerStore { environment.store }
    var clock: any LoopClock { environment.clock }

    /// Whether clients wait, or a better answer may come.
    var isRunning: Bool { state == .racing && race.isRunning }

    /// When the query arrived that began it.
    var began: Instant { ends - Budget.answer }

    /// How many clients wait.
    var waiterCount: Int { clients.count }

    subscript(part: Race.Part) -> FlightLane { part == .a ? a : aaaa }

    func type(of part: Race.Part) -> RecordType { self[part].type }

    func types(of parts: Race.Parts) -> [RecordType] {
        types.count == 1 || parts == .both ? types : [parts == .a ? types[0] : types[1]]
    }

    func part(of type: RecordType) -> Race.Part? {
        types[0] == type ? .a : types.count > 1 && types[1] == type ? .aaaa : nil
    }

    /// The best that is known of a type by itself.
    func known(_ part: Race.Part) -> RaceAnswer? { race.known(part, clock.now) }

    /// Whether it asks for a type, and clients wait or a better answer may come.
    func isUnderWay(_ type: RecordType) -> Bool { part(of: type).map { race.isRunning($0) } ?? false }

    // MARK: Clients

    /// Lets a client wait for a type.
    ///
    /// - Parameters:
    ///   - deadline: when it must have its answer.
    ///   - isRefresh: whether it may have a fresh answer, which is asked for again.
    ///   - done: also called before this returns.
    /// - Returns: false where the client is to begin another flight: this one is too old, or over for the type.
    func join(
        _ type: RecordType, until deadline: Instant, isRefresh: Bool, done: @escaping Completion
    ) -> Bool {
        // An answer that may not be cached is shared no longer than the race is joined.
        guard state == .racing, let part = part(of: type),
            self[part].given == nil || clock.now <= began + Budget.lastStart
        else { return false }
        // One that has its whole time shares no race that another's has shortened.
        guard !isLate || deadline <= ends || ends - clock.now >= Budget.lastStart else { return false }
        if !isRefresh, self[part].hasFresh {
            self[part].recall(key, environment.store)
            race.expire(part, self[part].known(isRefresh: false, key.route).stale)
        }
        let client = clients.add(until: deadline < ends ? deadline : nil, done)
        run(deadline <= ends ? .joinedLate(client, part) : .joined(client, part))
        if isRunning { awaitProbes() }
        return refused != client
    }

    /// What the cache has no longer is given to no client any more.
    func forgetRemoved() {
        for part in [Race.Part.a, .aaaa] where store.cached(key, type(of: part)) == nil {
            if self[part].hasFresh { race.expire(part, nil) }
            forgetStale(part)
        }
    }

    func forgetStale(_ part: Race.Part) {
        race.forgetStale(part)
        self[part].forgetCached()
    }

    /// Gives it up: the clients that wait must ask again, the oldest first.
    func abandon() {
        state = .abandoned
        withdraw()
        for done in clients.takeAll() { done(nil) }
    }

    // MARK: The race

    /// Tells the race what has happened, and does what follows.
    func run(_ event: Race.Event) {
        guard state != .abandoned else { return }
        for effect in race.apply(event, at: clock.now) where state != .abandoned { perform(effect) }
        guard state == .racing else { return }
        if race.isRunning { setTimer() } else { finish() }
    }

    private func perform(_ effect: Race.Effect) {
        switch effect {
        case .ask(let place, let parts, let address): ask(place, parts, address: address)
        case .check(let part, let addresses): LocalAttempt.check(addresses, of: part, for: self)
        case .store(let part, let answer):
            self[part].given = FlightLane.Given(answer: answer, outcome: keep(answer, part))
        case .drop(let part): store.forgetUnverified(key, type(of: part))
        case .reply(let client, let part, let answer):
            guard let done = clients.take(client) else { return }
            // What another race for the name has stored since: this one had less time.
            if isLate, answer.rank >= .stale, let cached = store.cached(key, type(of: part)), cached.isFresh,
                cached.isFromSource
            {
                return done(.given(cached.response))
            }
            if let given = self[part].given, given.answer == answer { return done(given.outcome) }
            done(outcome(answer, part))
        case .again(let client, _):
            _ = clients.take(client)
            refused = client
        }
    }

    /// Tells the race of something later, unless it is over by then.
    func tell(_ event: Race.Event, at time: Instant) {
        held.append(clock.schedule(at: time) { [self] in run(event) })
    }

    /// Asks a source for some types; for providers that is what the shared answers leave open.
    ///
    /// - Parameter address: the place of the address in the provider's order.
    func ask(_ place: Int, _ parts: Race.Parts, address: Int) {
        guard let number = line.rules.line[place].provider else {
            for part in [Race.Part.a, .aaaa] where parts.contains(Race.Parts(part)) {
                LocalAttempt(flight: self, place: place, part: part).begin()
            }
            return
        }
        if case .untried = shared { shared = SharedTurn.begin(for: self).map { .turn($0) } ?? .none }
        if case .turn(let turn) = shared, turn.holdsBack(place, parts, address: address) { return }
        ProviderAttempt.begin(for: self, number, at: place, parts, address: address)
    }

    /// Waits for the probes of the providers that are asked as soon as they have answered one.
    private func awaitProbes() {
        guard isRunning, clock.now < ends, probeWait == nil, line.rules.awaitsProbe else { return }
        probeWait = policy.lines.providers.probes.wait { [self] in
            probeWait = nil
            for (place, source) in line.rules.line.enumerated() where source.health == .probed {
                guard let number = source.provider, line.members[number].endpoints.isEmpty else { continue }
                line.members[number].refresh()
                if !line.members[number].endpoints.isEmpty {
                    run(.probed(place, isUp: true))
                } else if !line.members[number].inBackoff.contains(where: \.backoff.isProbing) {
                    run(.probed(place, isUp: false))
                }
            }
            awaitProbes()
        }
    }

    private func setTimer() {
        var next = race.wake
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
        if now < ends { for client in clients.late(at: now) { run(.timeUp(client)) } }
        attempts.forEach { $0.noteSilence(at: now) }
        run(.time)
    }

    /// The race is over: only the verdict on an answer that was given unverified is still of use.
    private func finish() {
        state = .over
        environment.coalescer.remove(self, for: key)
        withdraw(keepsChecks: a.isGivenUnverified || aaaa.isGivenUnverified)
    }

    private func withdraw(keepsChecks: Bool = false) {
        timer?.cancel()
        (timer, alarm) = (nil, nil)
        probeWait.take()?.cancel()
        for timer in held { timer.cancel() }
        held = []
        for lookUp in lookUps { lookUp.cancel() }
        lookUps = []
        if !keepsChecks {
            for check in checks { check.cancel() }
            checks = []
        }
        let left = attempts
        attempts = ShortList()
        left.forEach { $0.giveUp() }
        if case .turn(let turn) = shared { turn.cancel() }
    }
}
