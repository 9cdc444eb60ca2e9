package import Scheduling

/// How many c-ares channels may be open at once, of one `LocalDNS` or of several that share the limit.
///
/// A channel is one query on its way: one descriptor, two after a change to TCP, and 75 kB.
@Loop
package final class LocalDNSChannelLimit: Sendable {
    /// Default 1,024.
    package nonisolated let maximum: Int
    package private(set) var open = 0

    package nonisolated init(maximum: Int = 1_024) { self.maximum = maximum }

    /// Takes one place; false when there is none.
    func enter() -> Bool {
        guard open < maximum else { return false }
        open += 1
        return true
    }

    func leave() { open -= 1 }
}
