/// How many values fell into each bucket of a histogram.
package struct HistogramReport: Equatable, Sendable {
    /// The upper bounds of all buckets but the last, in seconds, ascending.
    package let bounds: [Double]
    /// How many values each bucket has, the last those above every bound: one more than `bounds`.
    package let counts: [Int]
    /// The sum of all values, in seconds.
    package let sum: Double

    package init(bounds: [Double], counts: [Int], sum: Double) {
        self.bounds = bounds
        self.counts = counts
        self.sum = sum
    }
}
