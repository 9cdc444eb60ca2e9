/// What was sent to a provider in one day or one month, and what its vendor bills for it.
package struct CallCount: Hashable, Sendable {
    /// More than a month can have; a larger number in a file is cut to it, so that sums do not overflow.
    private static let most = 1 << 40

    /// Days since 1970-01-01, or the number of a month.
    package var period: Int64
    /// Requests sent.
    package private(set) var calls: Int
    /// Answers, as the vendor counts them.
    package private(set) var billed: Int

    /// - Parameters:
    ///   - calls, billed: 0 to 2^40; cut to that.
    package init(period: Int64, calls: Int = 0, billed: Int = 0) {
        self.period = period
        self.calls = min(max(0, calls), Self.most)
        self.billed = min(max(0, billed), Self.most)
    }

    /// The same in a period: from 0 once a later one has begun. An earlier one is of a clock that was set back, which does
    /// not begin a period again: nothing may raise the cost of one.
    func moved(to period: Int64) -> CallCount {
        period > self.period ? CallCount(period: period) : CallCount(period: period, calls: calls, billed: billed)
    }

    mutating func add(calls: Int = 0, billed: Int = 0) {
        self = CallCount(period: period, calls: self.calls + calls, billed: self.billed + billed)
    }

    /// Adds what was counted before a restart, unless that was in an earlier period. Of a later one it counts: the clock
    /// was wrong then or is now.
    mutating func add(_ stored: CallCount) {
        if stored.period >= period { add(calls: stored.calls, billed: stored.billed) }
    }
}
