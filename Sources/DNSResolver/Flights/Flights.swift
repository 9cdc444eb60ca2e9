import DNSCache
public import DNSWire

/// The flights under way, by the policy in force: where equal questions meet, and what keeps one client network from causing
/// too many of them.
@Loop
final class Flights {
    /// The policy in force. What is under way goes on by its own.
    var policy: ResolverPolicy
    let store: AnswerStore
    let clock: any LoopClock
    let coalescer: Coalescer<Flight>
    /// Called by each when its race is over. One for all, since each miss would make its own.
    private let ended: @Loop (Flight) -> Void
    let brake = MissBrake()

    nonisolated init(_ policy: ResolverPolicy, store: AnswerStore, clock: any LoopClock, limit: Int) {
        self.policy = policy
        self.store = store
        self.clock = clock
        let coalescer = Coalescer<Flight>(limit: limit)
        self.coalescer = coalescer
        ended = { coalescer.remove($0, for: $0.key) }
    }

    /// The key of the flight for a name and type by the policy in force, for a client if there is one.
    func key(_ name: Name, _ type: RecordType, for client: ClientQuestion? = nil) -> FlightKey {
        let name = name.lowercased
        let route = policy.routes.route(for: name, type)
        let flags = policy.heededFlags(of: client, name, type, by: route)
        return FlightKey(
            name: name, type: type, route: route, dnssecOK: flags.dnssecOK, checkingDisabled: flags.checkingDisabled,
            scope: policy.lines.scope(of: client, name: name, route: route), holder: client?.network ?? .daemon,
            trace: client?.trace)
    }

    /// Gives all up but those that go on: the clients that wait ask again.
    func abandonAll(unless goesOn: (Flight) -> Bool = { _ in false }) {
        let all = coalescer.removeAll()
        for flight in all where goesOn(flight) { _ = coalescer.add(flight, for: flight.key) }
        // Last, since their clients may ask the same as those that go on.
        for flight in all where !goesOn(flight) { flight.abandon() }
    }

    /// Why the miss of a client costs its network too much, and what is reported of it; nil where it asks nothing of a
    /// provider, or may.
    func refusal(of key: FlightKey, _ type: RecordType) -> (reason: String, event: ResolverEvent)? {
        // Mostly nothing limits them.
        guard brake.limits != nil || policy.lines.hasCallLimit, key.isBraked,
            coalescer.flight(for: key)?.isUnderWay(type) != true
        else { return nil }
        return brake.refusal(of: key, share: policy.lines.callShare(for: key), at: clock.now)
    }

    /// Why a question failed just now and is not asked again; also nil when it would begin the probe of a provider.
    func remembered(_ key: FlightKey, _ type: RecordType, hasStale: Bool) -> ExtendedError? {
        // Mostly nothing is remembered.
        guard !store.failures.isEmpty else { return nil }
        let error = store.failures.remembered(
            key, type, at: clock.now, hasStale: hasStale, recovery: policy.lines.lastRecovery(for: key))
        return error == nil || policy.lines.isProbeDue(for: key) ? nil : error
    }

    /// Lets a question wait for the flight that asks it: the one under way, or a new one. `done` is also called before this
    /// returns; with nil when the client is to ask again. False: there is no capacity for it.
    ///
    /// - Parameter isRefresh: whether a fresh answer is asked for again.
    func ask(
        _ key: FlightKey, _ type: RecordType, arrived: Instant, isRefresh: Bool = false,
        done: @escaping FlightClients.Completion
    ) -> Bool {
        let deadline = arrived + Budget.answer
        if let flight = coalescer.flight(for: key),
            flight.join(type, until: deadline, isRefresh: isRefresh, done: done)
        {
            return true
        }
        let answers = FlightAnswers(
            key, type, by: policy, arrived: arrived, isRefresh: isRefresh, store: store, brake: brake)
        let flight = Flight(answers, ended: ended)
        let (isAdded, evicted) = coalescer.add(flight, for: key)
        guard isAdded else { return false }
        _ = flight.join(type, until: deadline, isRefresh: isRefresh, done: done)
        // Last, since the clients that wait for it may ask the same.
        evicted?.abandon()
        return true
    }
}

/// Asks the sources of a policy once, with nothing cached.
@Loop
public final class SingleRace {
    private let flights: Flights

    /// Memory for the answers of one name.
    private static let memory = 1 << 20
    /// The most names at once.
    private static let limit = 100

    public init(_ policy: ResolverPolicy, clock: any LoopClock) {
        let store = AnswerStore(
            memory: MemoryCache(memory: Self.memory), freshness: FreshnessPolicy(), generation: PolicyGeneration(),
            policy: policy, badAddresses: BadAddresses(clock: clock), clock: clock)
        flights = Flights(policy, store: store, clock: clock, limit: Self.limit)
    }

    /// Asks for a type of a name in lower case. Calls `done` once: with the answer and its source, or why there is none.
    public func ask(
        _ name: Name, _ type: RecordType, by route: Route,
        done: @escaping @Loop (_ answer: Answer?, _ source: SourceName, _ reason: String) -> Void
    ) {
        let key = FlightKey(
            name: name, type: type, route: route, dnssecOK: false, checkingDisabled: false)
        let policy = flights.policy
        _ = flights.ask(key, type, arrived: flights.clock.now) { outcome in
            switch outcome {
            case .given(let response)?:
                let source = response.source.map { policy.sourceName($0, by: route) } ?? SourceName(response.kind)
                done(response.records(for: Question(name: name, type: type)), source, "")
            case .missing(_, let error)?: done(nil, SourceName(.failure), error.text)
            case nil: done(nil, SourceName(.failure), "given up")
            }
        }
    }
}

/// Coalesces equal questions: the flights under way, by their keys.
@Loop
public final class Coalescer<Work: AnyObject> {
    private struct Held {
        let flight: Work
        /// Increases in the order in which flights begin.
        let number: Int
        /// In the count of flights by client network, while they are counted.
        var ticket: FairShare.Ticket?
    }

    private var flights: [FlightKey: Held] = [:]
    /// Those that another one has replaced, until they are over.
    private var replaced: [ObjectIdentifier: Work] = [:]
    private var lastNumber = 0
    private let limit: Int
    /// Which client networks have begun them: counted only while there are many, so that a flight mostly costs nothing
    /// more.
    private var holdings: FairShare
    /// The keys of the counted flights, by their tickets.
    private var counted: [FlightKey?] = []

    /// - Parameter limit: the most flights at once.
    public nonisolated init(limit: Int) {
        self.limit = limit
        holdings = FairShare(capacity: limit)
    }

    /// Whether there is ample capacity for flights without waiting clients.
    var isQuiet: Bool { flights.count < limit / 2 }

    /// The flights under way, in no order.
    var all: [Work] { flights.values.map(\.flight) + replaced.values }

    /// How many flights are under way.
    public var count: Int { flights.count + replaced.count }

    /// The flight for a key; nil: none is under way.
    public func flight(for key: FlightKey) -> Work? { flights[key]?.flight }

    /// Adds a flight, in place of an earlier one for its key, with which equal questions are not coalesced any more.
    ///
    /// At the limit, one flight of the client network that has begun most is evicted: the clients that wait for it ask
    /// again, each in the share of its own network.
    ///
    /// - Returns: whether there was room, which there is not where that is the network of `key`; and the flight that was
    ///   evicted.
    public func add(_ flight: Work, for key: FlightKey) -> (isAdded: Bool, evicted: Work?) {
        var evicted: Work?
        if flights.count >= limit, flights[key] == nil {
            guard let ticket = holdings.yielding(to: key.holder), let other = counted[ticket],
                let held = flights[other]
            else { return (false, nil) }
            evicted = held.flight
            remove(held.flight, for: other)
        }
        lastNumber += 1
        if let earlier = flights.updateValue(Held(flight: flight, number: lastNumber), forKey: key) {
            replaced[ObjectIdentifier(earlier.flight)] = earlier.flight
            if let ticket = earlier.ticket { uncount(ticket) }
        }
        if holdings.count > 0 {
            count(key)
        } else if flights.count > limit / 2 {
            // The oldest first: they are evicted first.
            for (key, _) in flights.sorted(by: { $0.value.number < $1.value.number }) { count(key) }
        }
        return (true, evicted)
    }

    private func count(_ key: FlightKey) {
        let ticket = holdings.add(for: key.holder)
        flights[key]?.ticket = ticket
        while counted.count <= ticket { counted.append(nil) }
        counted[ticket] = key
    }

    /// Removes a flight that is over: an equal question from now on begins a new one. One that is not held any more stays
    /// removed.
    public func remove(_ flight: Work, for key: FlightKey) {
        guard let place = flights.index(forKey: key), flights[place].value.flight === flight else {
            replaced[ObjectIdentifier(flight)] = nil
            return
        }
        guard let ticket = flights.remove(at: place).value.ticket else { return }
        uncount(ticket)
        if flights.count < limit / 4 { stopCounting() }
    }

    private func uncount(_ ticket: FairShare.Ticket) {
        holdings.remove(ticket)
        counted[ticket] = nil
    }

    private func stopCounting() {
        for key in flights.keys { flights[key]?.ticket = nil }
        holdings = FairShare(capacity: limit)
        counted = []
    }

    /// Removes all flights, and returns them, the oldest first.
    func removeAll() -> [Work] {
        defer {
            (flights, replaced) = ([:], [:])
            stopCounting()
        }
        return replaced.values + flights.values.sorted { $0.number < $1.number }.map(\.flight)
    }
}
