import DNSCache
package import DNSWire
package import Scheduling

/// What all flights share: where equal questions meet, and where results are cached and remembered.
@Loop
final class FlightEnvironment: Sendable {
    nonisolated let store: AnswerStore
    nonisolated let clock: any LoopClock
    nonisolated let coalescer: Coalescer<Flight>
    nonisolated let failures = FailureMemory()
    /// Limits the misses of each client network; nil: nothing does.
    var brake: MissBrake?
    /// What each client network has had of the providers' limits.
    var shares = CallShares()
    /// How many misses they have refused since the start.
    var refusedMisses = 0

    /// - Parameter flightLimit: the most flights at once.
    nonisolated init(store: AnswerStore, clock: any LoopClock, flightLimit: Int) {
        self.store = store
        self.clock = clock
        coalescer = Coalescer(limit: flightLimit)
    }

    /// Limits the misses of each client network from now on; what they had counts on where the limits are the same.
    ///
    /// - Parameter limits: nil: none.
    func limitMisses(_ limits: MissLimits?) {
        guard limits != brake?.limits else { return }
        brake = limits.map { MissBrake($0) }
    }

    /// Why the miss of a client costs its network too much, and what is reported of it; nil where it asks nothing of a
    /// provider, or may.
    func refusal(of key: FlightKey, _ type: RecordType, by policy: ResolverPolicy) -> (
        reason: String, event: ResolverEvent
    )? {
        // Mostly nothing limits them.
        guard brake != nil || policy.lines.hasCallLimit, key.isBraked,
            coalescer.flight(for: key)?.isUnderWay(type) != true
        else { return nil }
        if let domain = brake?.refuses(key.name, of: key.holder, at: clock.now) {
            refusedMisses += 1
            return (
                "limits.misses_per_second: too many names that are not cached, now below \(domain)",
                .missesRefused(key.holder, domain: domain)
            )
        }
        guard let share = policy.lines.callShare(for: key), shares.refuses(key.holder, share: share, at: clock.now)
        else {
            return nil
        }
        refusedMisses += 1
        return (
            "daily_limit, monthly_limit: this client's network has had its share of the calls that are left",
            .callsRefused(key.holder)
        )
    }

    /// Why a question failed just now and is not asked again; also nil when it would begin the probe of a provider.
    func remembered(_ key: FlightKey, _ type: RecordType, hasStale: Bool, by policy: ResolverPolicy) -> ExtendedError? {
        let error = failures.remembered(
            key, type, at: clock.now, hasStale: hasStale, recovery: policy.lines.lastRecovery(for: key))
        return error == nil || policy.lines.isProbeDue(for: key) ? nil : error
    }

    /// Lets a question wait for the flight that asks it: the one under way, or a new one.
    ///
    /// - Parameters:
    ///   - arrived: when the client's query was received.
    ///   - isRefresh: whether a fresh answer is asked for again. Default: no.
    ///   - done: also called before this returns; with nil when the client is to ask again.
    /// - Returns: false when there is no capacity for it.
    func ask(
        _ key: FlightKey, _ type: RecordType, by policy: ResolverPolicy, arrived: Instant, isRefresh: Bool = false,
        done: @escaping Flight.Completion
    ) -> Bool {
        let deadline = arrived + Budget.answer
        if let flight = coalescer.flight(for: key),
            flight.join(type, until: deadline, isRefresh: isRefresh, done: done)
        {
            return true
        }
        let flight = Flight(key, type, by: policy, arrived: arrived, isRefresh: isRefresh, in: self)
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
package final class SingleRace {
    private let policy: ResolverPolicy
    private let environment: FlightEnvironment

    /// Memory for the answers of one name.
    private static let memory = 1 << 20

    package init(_ policy: ResolverPolicy, clock: any LoopClock) {
        self.policy = policy
        let store = AnswerStore(
            memory: MemoryCache(memory: Self.memory), freshness: FreshnessPolicy(), generation: PolicyGeneration(),
            policy: policy, badAddresses: BadAddresses(clock: clock), clock: clock)
        environment = FlightEnvironment(store: store, clock: clock, flightLimit: Resolver.flightLimit)
    }

    /// Asks for a type of a name.
    ///
    /// - Parameters:
    ///   - name: in lower case.
    ///   - done: called once, with the answer and the name of its source, or with the reason why there is none.
    package func ask(
        _ name: Name, _ type: RecordType, by route: Route,
        done: @escaping @Loop (_ answer: Answer?, _ source: SourceName, _ reason: String) -> Void
    ) {
        let key = FlightKey(
            name: name, type: type, route: route, dnssecOK: false, checkingDisabled: false,
            generation: environment.store.generation)
        let policy = policy
        _ = environment.ask(key, type, by: policy, arrived: environment.clock.now) { outcome in
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
