package import Scheduling

/// Units in the order of their last use, and when that was.
package struct UseOrder {
    private var level = ShareLevel<Bool>()
    /// By ticket; of those that are not among them, some time.
    private var times: [Instant] = []

    package init() {}

    /// Adds a unit that is used now.
    package mutating func add(_ ticket: FairShare.Ticket, at now: Instant) {
        level.add(ticket, for: true)
        while times.count <= ticket { times.append(now) }
        times[ticket] = now
    }

    package mutating func remove(_ ticket: FairShare.Ticket) { level.remove(ticket) }

    /// Makes a unit the last one, since it is used now.
    package mutating func renew(_ ticket: FairShare.Ticket, at now: Instant) {
        guard level.isHeld(ticket) else { return }
        level.renew(ticket)
        times[ticket] = now
    }

    /// The unit whose last use is longest ago; nil: there is none.
    package var first: FairShare.Ticket? { level.first(of: true) }

    package func next(after ticket: FairShare.Ticket) -> FairShare.Ticket? { level.next(after: ticket) }

    /// When a unit was last used; nil where it is not among them.
    package func lastUse(of ticket: FairShare.Ticket) -> Instant? { level.isHeld(ticket) ? times[ticket] : nil }
}
