import Scheduling

/// Decides when a spare connection is useful: in the first minutes of traffic over one address.
///
/// That is when bad networks show: after a start, a pause, a change of network or of address. Later its handshakes
/// would be wasted.
struct SpareWindow {
    /// How long the window stays open; also the pause after which traffic counts as new.
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
