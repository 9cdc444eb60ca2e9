import DNSCache
import DNSWire
package import Scheduling

/// One question from the miss in the cache to the answer: the whole way on one screen (design: steps 3 to 11).
@Loop
package final class Resolver {
    private let localAnswers: LocalAnswers
    private let policy: RoutePolicy
    private let cache: AnswerStore
    private let strategy: Strategy
    private let coalescer: Coalescer
    private let failures = FailureMemory()
    private let clock: any LoopClock

    package nonisolated init(
        localAnswers: LocalAnswers, policy: RoutePolicy, cache: AnswerStore, strategy: Strategy, clock: any LoopClock
    ) {
        self.localAnswers = localAnswers
        self.policy = policy
        self.cache = cache
        self.strategy = strategy
        self.clock = clock
        coalescer = Coalescer(clock: clock)
    }

    /// The answer to one client's question, by `Budget.answer` after the query's arrival.
    package func respond(to client: ClientQuestion) async -> Response {
        if let reply = localAnswers.reply(to: client.question, policy: policy) {
            return Response(reply, to: client.question)
        }
        let type = client.question.type
        let key = flightKey(for: client)
        let kept = cache.kept(client.key, route: key.route, at: clock.now)
        if let kept, kept.isFresh { return kept.response }
        if let error = failures.remembered(key, type, at: clock.now) {
            if kept == nil, case .answer(let answer)? = cache.keepFailedFamily(key, type, cache.generation) {
                return Response(.answer(answer, age: 0))
            }
            return kept?.response ?? .serverFailure(.cachedError, error.text)
        }
        guard let flight = coalescer.join(key, work: fly) else {
            return kept?.response ?? .serverFailure(.other, "too many questions are under way")
        }
        switch await flight.outcome(of: type, until: client.arrived + (kept?.wait ?? Budget.answer)) {
        case .answer(let answer)?: return Response(.answer(answer, age: 0))
        case .failure(let error)?: return kept?.response ?? .serverFailure(error.code, error.text)
        case nil: return kept?.response ?? .serverFailure(.noReachableAuthority, "no answer in time")
        }
    }

    private func flightKey(for client: ClientQuestion) -> FlightKey {
        let name = client.question.name.lowercased
        let route = policy.route(for: name)
        let types = strategy.types(
            for: client.question.type, name: name, route: route, signed: client.dnssecOK || client.checkingDisabled)
        return FlightKey(
            name: name, types: types, route: route, dnssecOK: client.dnssecOK,
            checkingDisabled: client.checkingDisabled)
    }

    /// What one flight does: asks the sources, keeps what they tell, wakes the waiters.
    private func fly(_ flight: Flight) async {
        let key = flight.key
        let generation = cache.generation
        var failed: [RecordType: UpstreamFailure] = [:]
        var denied: [RecordType: (answer: Answer, source: Source)] = [:]
        await strategy.run(key) { [self] type, result, source in
            switch result {
            case .answer(let answer) where answer.responseCode == .nameError && key.mayFitFamilies(type):
                denied[type] = (answer, source)
            case .answer(let answer):
                finish(flight, type, with: keep(answer, for: key, type, source, generation))
            case .unknownEmpty(let ttl):
                finish(flight, type, with: cache.keepEmpty(ttl: ttl, for: key, type, generation))
            case .failure(let failure):
                failed[type] = failure
            }
        }
        for (type, (answer, source)) in denied {
            await coalescer.otherFamily(of: flight, type, until: clock.now + Budget.hedge)
            var answer = answer
            if cache.hasOtherFamily(key, type) { answer.responseCode = .noError }
            finish(flight, type, with: keep(answer, for: key, type, source, generation))
        }
        for (type, failure) in failed {
            await coalescer.otherFamily(of: flight, type, until: clock.now + Budget.hedge)
            let outcome = failure.isOurs ? nil : cache.keepFailedFamily(key, type, generation)
            finish(flight, type, with: outcome ?? .failure(failure.extendedError), failure)
        }
    }

    private func keep(
        _ answer: Answer, for key: FlightKey, _ type: RecordType, _ source: Source, _ generation: UInt32
    ) -> Flight.Outcome {
        if source == .localDNS, type.isAddress, policy.prefersProviders(key.route) {
            return cache.keepUnverified(answer, for: key, type, generation)
        }
        return cache.keep(answer, for: key, type, source, generation)
    }

    private func finish(
        _ flight: Flight, _ type: RecordType, with outcome: Flight.Outcome, _ failure: UpstreamFailure? = nil
    ) {
        switch outcome {
        case .answer:
            failures.answered(flight.key, type)
        case .failure(let error):
            if failure?.isOurs != true {
                failures.failed(
                    flight.key, type, isTransport: failure?.isTransport ?? false, error: error, at: clock.now)
            }
        }
        flight.finish(type, with: outcome)
    }
}

extension FlightKey {
    /// Whether "no such name" may be turned into "no address of this family" when the name has addresses of the other.
    ///
    /// Broken load balancers say NXDOMAIN of the family they do not have, and musl then fails the whole look-up. Who
    /// checks signatures must get what was signed.
    fileprivate func mayFitFamilies(_ type: RecordType) -> Bool { type.isAddress && !dnssecOK && !checkingDisabled }
}

extension Response {
    fileprivate static func serverFailure(_ code: ExtendedError.Code, _ text: String) -> Response {
        Response(.failure(.serverFailure), extendedError: ExtendedError(code, text))
    }

    fileprivate init(_ reply: LocalAnswers.Reply, to question: Question) {
        switch reply {
        case .refusal(let code, let error):
            self.init(.failure(code), extendedError: error)
        case .answer(let answer):
            self.init(PackedAnswer(answer, for: question).map { .answer($0, age: 0) } ?? .failure(.serverFailure))
        }
    }
}

extension UpstreamFailure {
    /// What a client with EDNS is told of it (RFC 8914 sections 4.23 and 4.24).
    fileprivate var extendedError: ExtendedError {
        switch self {
        case .network(let text): ExtendedError(.networkError, text)
        case .overloaded(let text): ExtendedError(.other, text)
        default: ExtendedError(.noReachableAuthority, description)
        }
    }
}
