/// The lines on which the entries of a list stand: most lists have one entry on each line, or all on one, and then take a
/// few bytes whatever their length.
struct LineRuns: Sendable {
    /// Entries that follow each other on lines in equal steps.
    private struct Run {
        /// The number of its first entry, counted from 0, and the line of it.
        var first: UInt32
        var line: UInt32
        /// Lines from one entry to the next: 0 or 1.
        var step: UInt32
    }

    private var runs: [Run] = []
    private var count: UInt32 = 0

    init(_ lines: some Sequence<Int>) {
        for line in lines { append(UInt32(clamping: line)) }
    }

    private mutating func append(_ line: UInt32) {
        defer { count &+= 1 }
        guard let last = runs.last else { return runs.append(Run(first: count, line: line, step: 0)) }
        if count &- last.first == 1, line &- last.line <= 1 {
            runs[runs.count - 1].step = line &- last.line
        } else if line != last.line &+ (count &- last.first) &* last.step {
            runs.append(Run(first: count, line: line, step: 0))
        }
    }

    /// How many runs there are. For tests.
    var runCount: Int { runs.count }

    /// The line of an entry.
    ///
    /// - Parameter number: counted from 0.
    subscript(number: Int) -> Int? {
        guard let number = UInt32(exactly: number), number < count else { return nil }
        // Messages may be as many as entries, and so may runs.
        var (low, high) = (0, runs.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if runs[middle].first <= number { low = middle } else { high = middle }
        }
        let run = runs[low]
        return Int(run.line &+ (number &- run.first) &* run.step)
    }
}

/// The lines of the entries of each list. They are no part of a configuration: any two are equal.
struct ListLines: Sendable, Equatable {
    private let runs: [SettingPath: LineRuns]

    init(_ runs: [SettingPath: LineRuns] = [:]) { self.runs = runs }

    subscript(path: SettingPath) -> LineRuns? { runs[path] }

    static func == (left: ListLines, right: ListLines) -> Bool { true }
}
