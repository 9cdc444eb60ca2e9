import Scheduling

/// How much of its time the loop waits: with hardly any rest, more comes than it can do.
struct LoopRest {
    /// Over how many nanoseconds it is measured: long against a turn, short against what a client waits.
    private static let window: Int64 = 50_000_000
    /// In a window with less than one part of so many spent waiting, rest is missing.
    private static let share: Int64 = 10

    private var begin: Instant?
    /// Nanoseconds since then.
    private var waited: Int64 = 0
    /// Whether there was hardly any in the last whole window.
    private(set) var isMissing = false

    /// Takes in one wait, perhaps of no length.
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
