import DNSCache
package import DNSWire
package import Scheduling

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
            sources: policy.sources, isTranslating: policy.isTranslating, badAddresses: BadAddresses(clock: clock),
            clock: clock)
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
            case .answer(let packed, let tag)?:
                let source = tag.map { policy.sourceName($0, by: route) } ?? SourceName(.rule)
                done(packed.unpacked(for: Question(name: name, type: type)), source, "")
            case .stale(_, let error)?, .failure(let error)?: done(nil, SourceName(.failure), error.text)
            case .cached?, nil: done(nil, SourceName(.failure), "given up")
            }
        }
    }
}
