import Scheduling

/// When a spare connection is worth having: in the first minutes of traffic over one address.
///
/// That is when networks turn out to be bad: after a start, a pause, a change of network, a change of address. Later
/// on its handshakes would be a waste.
struct SpareWindow {
    /// How long a spare is kept; also the pause after which traffic counts as new.
    static let length: Duration = .seconds(300)

    private var address: ObjectIdentifier?
    private var lastAnswer: Instant?
    private var end: Instant?

    /// Whether there should be a spare now that `address` has answered.
    mutating func isOpen(after address: ObjectIdentifier, at now: Instant) -> Bool {
        let isNew = lastAnswer.map { now - $0 >= Self.length } ?? true
        if isNew || address != self.address { end = now + Self.length }
        self.address = address
        lastAnswer = now
        return end.map { now < $0 } ?? false
    }
}
