package import Scheduling

/// Coalesces equal questions: the flights under way, by their keys.
@Loop
package final class Coalescer<Work: AnyObject> {
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
    package nonisolated init(limit: Int) {
        self.limit = limit
        holdings = FairShare(capacity: limit)
    }

    /// Whether there is ample capacity for flights without waiting clients.
    var isQuiet: Bool { flights.count < limit / 2 }

    /// The flights under way, in no order.
    var all: [Work] { flights.values.map(\.flight) + replaced.values }

    /// How many flights are under way.
    package var count: Int { flights.count + replaced.count }

    /// The flight for a key; nil: none is under way.
    package func flight(for key: FlightKey) -> Work? { flights[key]?.flight }

    /// Adds a flight, in place of an earlier one for its key, with which equal questions are not coalesced any more.
    ///
    /// At the limit, one flight of the client network that has begun most is evicted: the clients that wait for it ask
    /// again, each in the share of its own network.
    ///
    /// - Returns: whether there was room, which there is not where that is the network of `key`; and the flight that was
    ///   evicted.
    package func add(_ flight: Work, for key: FlightKey) -> (isAdded: Bool, evicted: Work?) {
        if let earlier = flights[key]?.flight {
            remove(earlier, for: key)
            replaced[ObjectIdentifier(earlier)] = earlier
        }
        var evicted: Work?
        if flights.count >= limit {
            guard let ticket = holdings.yielding(to: key.holder), let other = counted[ticket],
                let held = flights[other]
            else { return (false, nil) }
            evicted = held.flight
            remove(held.flight, for: other)
        }
        lastNumber += 1
        flights[key] = Held(flight: flight, number: lastNumber)
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
    package func remove(_ flight: Work, for key: FlightKey) {
        guard let place = flights.index(forKey: key), flights[place].value.flight === flight else {
            replaced[ObjectIdentifier(flight)] = nil
            return
        }
        guard let ticket = flights.remove(at: place).value.ticket else { return }
        holdings.remove(ticket)
        counted[ticket] = nil
        if flights.count < limit / 4 { stopCounting() }
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
