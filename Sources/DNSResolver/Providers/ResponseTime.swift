/// How soon an address's replies begin: an exponentially weighted moving average (EWMA).
package struct ResponseTime: Hashable, Sendable {
    /// The weight of a new sample is one part in this many.
    private static let memory = 8

    /// From the request on a ready connection to the first byte of its reply; nil before the first one.
    package private(set) var average: Duration?

    package init() {}

    /// Adds a sample.
    package mutating func add(_ sample: Duration) {
        average = average.map { $0 + (sample - $0) / Self.memory } ?? sample
    }
}
