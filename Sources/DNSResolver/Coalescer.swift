import DNSWire
package import Scheduling

/// Asks once for many clients: the flights under way, by what they ask.
@Loop
package final class Coalescer {
    /// The most flights at once.
    package static let flightLimit = 10_000

    private let clock: any LoopClock
    private var flights: [FlightKey: Flight] = [:]

    package nonisolated init(clock: any LoopClock) { self.clock = clock }

    /// Whether there is plenty of room for flights that no client waits for.
    var isQuiet: Bool { flights.count < Self.flightLimit / 2 }

    /// How many flights are under way, and how many clients wait for them.
    package var load: (flights: Int, waiters: Int) {
        (flights.count, flights.values.reduce(0) { $0 + $1.waiterCount })
    }

    /// Waits for the flight that asks the other address family of the same name, if there is one, and it does not wait
    /// for this one.
    func otherFamily(of flight: Flight, _ type: RecordType, until deadline: Instant) async {
        guard type.isAddress, flight.key.types == [type] else { return }
        guard let other = flights[flight.key.asking(for: type.otherFamily)], !other.awaitsOtherFamily else { return }
        flight.awaitsOtherFamily = true
        _ = await other.outcome(of: type.otherFamily, until: deadline)
    }

    /// The flight that asks `key`: the one under way, or a new one, which `begin` sets to work.
    ///
    /// - Returns: nil when there are as many flights, or as many waiters of this one, as there may be.
    package func join(_ key: FlightKey, begin: @Loop (Flight) -> Void) -> Flight? {
        if let flight = flights[key] { return flight.hasRoom ? flight : nil }
        guard flights.count < Self.flightLimit else { return nil }
        let flight = Flight(key: key, clock: clock)
        flights[key] = flight
        begin(flight)
        return flight
    }

    /// The flight has done its work: who asks the same from now on begins a new one.
    package func end(_ flight: Flight) {
        flight.work = nil
        if !flight.isAbandoned { flights[flight.key] = nil }
    }

    /// Gives a flight up, if it is still under way, for one that asks the same in its place, which `begin` sets to work unless
    /// there is one already. Those who wait must ask anew.
    func replace(_ flight: Flight, begin: @Loop (Flight) -> Void) {
        if flights[flight.key] === flight { flights[flight.key] = nil }
        _ = join(flight.key, begin: begin)
        flight.abandon()
    }

    /// Gives up every flight under way: those who wait must ask anew.
    func abandonAll() {
        let abandoned = flights.values
        flights = [:]
        for flight in abandoned { flight.abandon() }
    }
}
