import DNSWire

/// Looks names up without a waiting client, a few at a time, so that clients' queries come first.
@Loop
final class BackgroundLookups {
    static let atOnce = 4
    /// How many names may wait; the rest is dropped, and looked up when a client asks.
    static let capacity = 10_000

    private(set) var refreshes = 0
    private var waiting: ArraySlice<Name> = []
    private var underWay = 0

    private let flights: Flights

    nonisolated init(_ flights: Flights) { self.flights = flights }

    /// Looks up the names of `[preset] preresolve` instead of those that still wait.
    func preresolve() {
        waiting = flights.policy.preresolve.prefix(Self.capacity)
        startNext()
    }

    private func startNext() {
        while underWay < Self.atOnce, let name = waiting.popFirst() {
            underWay += 1
            Loop.spawn { [self] in
                await lookUp(name)
                underWay -= 1
                startNext()
            }
        }
    }

    /// Returns when both families of a name have their answers, or will not get any.
    private func lookUp(_ name: Name) async {
        var open = openQuestions(name)
        guard let (key, type) = open.popLast() else { return }
        for (key, type) in open { ask(key, type) }
        await withCheckedContinuation { continuation in
            ask(key, type) { continuation.resume() }
        }
    }

    /// The questions to ask for both families of a name: none that is answered by a preset or another local answer, or
    /// is fresh.
    private func openQuestions(_ name: Name) -> [(key: FlightKey, type: RecordType)] {
        let policy = flights.policy
        return [RecordType.a, .aaaa].compactMap { type in
            guard policy.localAnswers.reply(to: Question(name: name, type: type), policy: policy.routes) == nil,
                policy.localAnswers.families.yielding != type
            else { return nil }
            let key = flights.key(name, type)
            return flights.store.cached(key, type)?.isFresh == true ? nil : (key: key, type: type)
        }
    }

    /// Prefetches an answer that a client has just got from the cache and that expires soon.
    func prefetch(_ key: FlightKey, _ type: RecordType) {
        // What is made of A lives no longer than A.
        if flights.policy.translates(type, key) { ask(key, .a) }
        if ask(key, type) { refreshes += 1 }
    }

    /// Asks, unless the question failed just now, or clients need the capacity. Returns whether it does; `done` is called in
    /// any case, also before.
    @discardableResult
    private func ask(_ key: FlightKey, _ type: RecordType, done: @escaping @Loop () -> Void = {}) -> Bool {
        guard flights.coalescer.isQuiet, flights.remembered(key, type, hasStale: true) == nil,
            flights.ask(key, type, arrived: flights.clock.now, isRefresh: true, done: { _ in done() })
        else {
            done()
            return false
        }
        return true
    }
}
