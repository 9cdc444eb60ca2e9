package import DNSWire
package import Scheduling

/// Coalesces equal questions: the flights under way, by their keys.
@Loop
package final class Coalescer {
    /// The most flights at once.
    package nonisolated static let flightLimit = 10_000

    private let clock: any LoopClock
    private var flights: [FlightKey: Flight] = [:]
    private var lastNumber = 0
    private let limit: Int
    /// Which client networks have begun them: counted only while there are many, so that a flight mostly costs nothing
    /// more.
    private var holdings: FairShare
    /// The counted flights, by their tickets.
    private var held: [Flight?] = []

    /// - Parameter limit: the most flights at once.
    package nonisolated init(clock: any LoopClock, limit: Int = Coalescer.flightLimit) {
        self.clock = clock
        self.limit = limit
        holdings = FairShare(capacity: limit)
    }

    /// Whether there is ample capacity for flights without waiting clients.
    var isQuiet: Bool { flights.count < limit / 2 }

    /// How many flights are under way, and how many clients wait for them.
    package var load: (flights: Int, waiters: Int) {
        (flights.count, flights.values.reduce(0) { $0 + $1.waiterCount })
    }

    /// Whether a flight asks `key` for `type`.
    func isUnderWay(_ key: FlightKey, _ type: RecordType) -> Bool { flights[key]?.run(for: type) != nil }

    /// The flight that asks `key` for `type`: the one under way, or a new one. Unless it asks for that type already,
    /// `begin` starts that.
    ///
    /// At the limit, one flight of the client network that has begun most is evicted: the clients that wait for it ask
    /// again, each in the share of its own network.
    ///
    /// - Returns: nil when that is the network of `key`.
    package func join(_ key: FlightKey, _ type: RecordType, begin: @Loop (Flight) -> Void) -> Flight? {
        if let flight = flights[key] {
            if flight.run(for: type) == nil { begin(flight) }
            return flight
        }
        var leaving: Flight?
        if flights.count >= limit {
            guard let ticket = holdings.yielding(to: key.holder), let flight = held[ticket] else { return nil }
            remove(flight)
            leaving = flight
        }
        lastNumber += 1
        let flight = Flight(key: key, number: lastNumber, clock: clock)
        add(flight)
        begin(flight)
        // Last, since the clients that wait for it may ask the same.
        leaving?.abandon()
        return flight
    }

    private func add(_ flight: Flight) {
        flights[flight.key] = flight
        flight.isUnderWay = true
        if holdings.count > 0 {
            count(flight)
        } else if flights.count > limit / 2 {
            // The oldest first: they are evicted first.
            for flight in flights.values.sorted(by: { $0.number < $1.number }) { count(flight) }
        }
    }

    private func count(_ flight: Flight) {
        let ticket = holdings.add(for: flight.key.holder)
        flight.ticket = ticket
        while held.count <= ticket { held.append(nil) }
        held[ticket] = flight
    }

    private func remove(_ flight: Flight) {
        guard flight.isUnderWay else { return }
        flight.isUnderWay = false
        flights[flight.key] = nil
        guard let ticket = flight.ticket.take() else { return }
        holdings.remove(ticket)
        held[ticket] = nil
        if flights.count < limit / 4 { stopCounting() }
    }

    private func stopCounting() {
        for flight in flights.values { flight.ticket = nil }
        holdings = FairShare(capacity: limit)
        held = []
    }

    /// Removes a flight that is complete: an equal question from now on begins a new one.
    package func end(_ flight: Flight) {
        remove(flight)
    }

    /// Abandons every flight under way: the clients that wait must ask again.
    func abandonAll() {
        let abandoned = Array(flights.values)
        for flight in abandoned { remove(flight) }
        for flight in abandoned { flight.abandon() }
    }
}
