import TestServers
import TestSupport
import Testing

/// What a user sees of the times of the whole program: how long an answer, a start, a stop or a command takes, and how soon
/// all is well again after an outage.
///
/// These are the only tests that fail because something took too long, so they run alone, one after the other, on a
/// machine that does nothing else. What they say of behaviour is said by `IntegrationTests` too, with a limit that only a
/// hang reaches; the times of single steps are held exactly, on the manual clock, by the tests of the targets.
@Suite(.serialized)
enum Timing {
    /// The longest time that a client waits.
    static let promised: Duration = .milliseconds(2_500)
}

extension Stopwatch {
    /// What `body` returns, and how long it takes, less the time for which the machine stalled.
    static func time<Value>(_ body: () throws -> Value) rethrows -> (value: Value, time: Duration) {
        let watch = Stopwatch()
        return (try body(), watch.fair)
    }
}
