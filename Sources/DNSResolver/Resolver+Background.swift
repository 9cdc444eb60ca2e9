import DNSWire
import Scheduling

// Look-ups without a waiting client.

extension Resolver {
    /// The most names of the cache that `refreshHot` asks for again: after a change of network all come at once, and a
    /// vendor bills each.
    private static let hotLimit = 100

    /// Looks up the names of `[preset] preresolve` that have no fresh answer, both families, in the background.
    package func preresolve() {
        lookUp(policy.preresolve, evenIfFresh: false)
    }

    /// Asks again, in the background, for the names of `[preset] preresolve` and for those in the cache that clients
    /// have asked for, whether their answers are fresh or not: after a change of network.
    package func refreshHot() async {
        let hot = await store.hotNames(limit: Self.hotLimit)
        let listed = Set(policy.preresolve)
        lookUp(policy.preresolve + hot.filter { !listed.contains($0) }, evenIfFresh: true)
    }

    private func lookUp(_ names: [Name], evenIfFresh: Bool) {
        background.begin(names) { [self] in await lookUp($0, evenIfFresh: evenIfFresh) }
    }

    /// Returns when both families of a name have their answers, or will not get any.
    private func lookUp(_ name: Name, evenIfFresh: Bool) async {
        var begun: [(flight: Flight, type: RecordType)] = []
        for (key, type) in openQuestions(name, evenIfFresh: evenIfFresh) {
            if let flight = startInBackground(key, type) { begun.append((flight, type)) }
        }
        let deadline = clock.now + Budget.answer
        for (flight, type) in begun { _ = await flight.outcome(of: type, until: deadline) }
    }

    /// The questions to ask for both families of a name: none that is answered by a preset or another local answer, or
    /// is fresh.
    private func openQuestions(_ name: Name, evenIfFresh: Bool) -> [(key: FlightKey, type: RecordType)] {
        var open: [(key: FlightKey, type: RecordType)] = []
        for type in [RecordType.a, .aaaa] {
            let question = Question(name: name, type: type)
            guard policy.localAnswers.reply(to: question, policy: policy.routes) == nil,
                !policy.localAnswers.families.yields(type)
            else { continue }
            let key = flightKey(name, type)
            guard evenIfFresh || !store.isFresh(question, scope: key.scope, by: key.route) else { continue }
            open.append((key, type))
        }
        return open
    }

    /// Prefetches an answer that a client has just got from the cache and that expires soon.
    func prefetch(_ key: FlightKey, _ type: RecordType) {
        if startInBackground(key, type) != nil { refreshes += 1 }
    }

    /// The flight that asks; nil when the question failed just now, or clients need the capacity.
    private func startInBackground(_ key: FlightKey, _ type: RecordType) -> Flight? {
        guard flights.coalescer.isQuiet, remembered(key, type) == nil else { return nil }
        return join(key, type)
    }
}
