import DNSWire
import Scheduling

// Look-ups without a waiting client.

extension Resolver {
    /// Looks up the names of `[preset] preresolve` that have no fresh answer, both families, in the background.
    package func preresolve() {
        background.begin(policy.preresolve) { [self] in await lookUp($0) }
    }

    /// Returns when both families of a name have their answers, or will not get any.
    private func lookUp(_ name: Name) async {
        var open = openQuestions(name)
        guard let (key, type) = open.popLast() else { return }
        for (key, type) in open { startInBackground(key, type) }
        await withCheckedContinuation { continuation in
            startInBackground(key, type) { continuation.resume() }
        }
    }

    /// The questions to ask for both families of a name: none that is answered by a preset or another local answer, or
    /// is fresh.
    private func openQuestions(_ name: Name) -> [(key: FlightKey, type: RecordType)] {
        var open: [(key: FlightKey, type: RecordType)] = []
        for type in [RecordType.a, .aaaa] {
            let question = Question(name: name, type: type)
            guard policy.localAnswers.reply(to: question, policy: policy.routes) == nil,
                policy.localAnswers.families.yielding != type
            else { continue }
            let key = flightKey(name, type)
            guard !store.isFresh(question, scope: key.scope, by: key.route) else { continue }
            open.append((key, type))
        }
        return open
    }

    /// Prefetches an answer that a client has just got from the cache and that expires soon.
    func prefetch(_ key: FlightKey, _ type: RecordType) {
        // What is made of A lives no longer than A.
        if policy.translates(type, key) { startInBackground(key, .a) }
        if startInBackground(key, type) { refreshes += 1 }
    }

    /// Asks, unless the question failed just now, or clients need the capacity.
    ///
    /// - Parameter done: called in any case, also before this returns.
    /// - Returns: whether it asks.
    @discardableResult
    private func startInBackground(
        _ key: FlightKey, _ type: RecordType, done: @escaping @Loop () -> Void = {}
    ) -> Bool {
        guard flights.coalescer.isQuiet, remembered(key, type, hasStale: true) == nil,
            flights.ask(key, type, by: policy, arrived: clock.now, isRefresh: true, done: { _ in done() })
        else {
            done()
            return false
        }
        return true
    }
}
