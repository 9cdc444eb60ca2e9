import Scheduling

/// How much of its time the loop waits: with hardly any rest, more comes than it can do.
struct LoopRest {
    /// Over how long it is measured: long against a turn, short against what a client waits.
    static let window: Duration = .milliseconds(50)
    /// In a window with less than one part of so many spent waiting, rest is missing.
    static let share = 10

    private var begin: Instant?
    private var waited = Duration.zero
    /// Whether there was hardly any in the last whole window.
    private(set) var isMissing = false

    /// Takes in one wait, perhaps of no length.
    mutating func waited(from start: Instant, until end: Instant) {
        waited += end - start
        guard let begin else {
            self.begin = end
            waited = .zero
            return
        }
        let whole = end - begin
        guard whole >= Self.window else { return }
        isMissing = waited * Self.share < whole
        self.begin = end
        waited = .zero
    }
}
