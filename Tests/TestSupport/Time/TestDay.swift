import Synchronization

/// A time of day that a test sets.
package final class TestDay: Sendable {
    /// The release date, before the time at which it starts, in seconds since 1970.
    package static let released: Int64 = 1_800_000_000

    private let time = Mutex(TestDay.released + 1_000_000)

    package init() {}

    /// Seconds since 1970.
    package var seconds: Int64 {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }
}
