/// Units in the order of their last use, those of all holders in one row.
///
/// Of one size: `ShareLevel` is slow where it is generic across modules.
package struct UseOrder {
    private var level = ShareLevel<Bool>()
    /// The unit used last; nil: none was, or it has been removed.
    package private(set) var last: FairShare.Ticket?

    package init() {}

    /// Adds a unit, which was used now.
    package mutating func add(_ ticket: FairShare.Ticket) {
        level.add(ticket, for: true)
        last = ticket
    }

    package mutating func remove(_ ticket: FairShare.Ticket) {
        level.remove(ticket)
        if last == ticket { last = nil }
    }

    /// Makes a unit the last one, since it is used now.
    package mutating func renew(_ ticket: FairShare.Ticket) {
        level.renew(ticket)
        if level.isHeld(ticket) { last = ticket }
    }

    /// The unit whose last use is longest ago; nil: there is none.
    package var first: FairShare.Ticket? { level.first(of: true) }

    package func next(after ticket: FairShare.Ticket) -> FairShare.Ticket? { level.next(after: ticket) }
}
