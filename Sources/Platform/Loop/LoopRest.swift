import Scheduling

/// Measures how much of its time the loop waits; with hardly any, it is saturated.
struct LoopRest {
    /// Nanoseconds of a measurement: long compared to a turn, short compared to a client's time-out.
    private static let window: Int64 = 50_000_000
    /// Saturated: less than one part in this number of the window was spent waiting.
    private static let share: Int64 = 10

    private var begin: Instant?
    /// Nanoseconds waited since then.
    private var waited: Int64 = 0
    /// Whether the loop was saturated in the last whole window.
    private(set) var isMissing = false

    /// Adds one wait, perhaps of no length.
    mutating func waited(from start: Instant, until end: Instant) {
        waited += end.nanoseconds - start.nanoseconds
        guard let begin else {
            self.begin = end
            waited = 0
            return
        }
        let whole = end.nanoseconds - begin.nanoseconds
        guard whole >= Self.window else { return }
        isMissing = waited * Self.share < whole
        self.begin = end
        waited = 0
    }
}
