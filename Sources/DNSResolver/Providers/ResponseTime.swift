/// How soon an address's replies begin: a moving average in which the last replies count most (EWMA).
package struct ResponseTime: Hashable, Sendable {
    /// A new sample counts one part in so many.
    private static let memory = 8

    /// From the request on a ready connection to the first byte of its reply; nil before the first one.
    package private(set) var average: Duration?

    package init() {}

    package mutating func take(_ sample: Duration) {
        average = average.map { $0 + (sample - $0) / Self.memory } ?? sample
    }

    /// Nothing had come after `wait`: what it would have been is at least that.
    package mutating func gaveUp(after wait: Duration) {
        if average.map({ wait > $0 }) ?? true { take(wait) }
    }
}
