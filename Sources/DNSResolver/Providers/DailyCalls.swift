/// The calls that were sent to a provider today, and their limit. Days begin at 00:00 UTC.
package struct DailyCalls: Hashable, Sendable {
    /// The part that outlives a restart.
    package struct Record: Hashable, Sendable {
        /// Days since 1970-01-01.
        package var day: Int64
        package var count: Int

        package init(day: Int64, count: Int) {
            self.day = day
            self.count = count
        }
    }

    private static let secondsPerDay: Int64 = 86_400
    /// More calls than a day can have; a larger number in a file is cut to it, so that the sum does not overflow.
    private static let mostCalls = 1 << 40

    /// The most calls of a day; 0: no limit.
    package let limit: Int
    private var record: Record

    /// - Parameter record: the count from before; used only if it is of the same day.
    package init(limit: Int, record: Record = Record(day: .min, count: 0)) {
        self.limit = limit
        self.record = record
    }

    /// The record to store for the next start.
    ///
    /// - Parameter time: seconds since 1970.
    package func record(at time: Int64) -> Record { Record(day: Self.day(time), count: count(at: time)) }

    /// The calls of the day so far.
    package func count(at time: Int64) -> Int { Self.day(time) > record.day ? 0 : record.count }

    /// Whether no call may be sent until the next day.
    package func isExhausted(at time: Int64) -> Bool { limit > 0 && count(at: time) >= limit }

    /// Counts a request, unless that would exceed the limit.
    ///
    /// - Parameter calls: as how many it counts, at least 1.
    /// - Returns: whether it may be sent.
    package mutating func take(_ calls: Int = 1, at time: Int64) -> Bool {
        // A clock that is set back does not restart the day: nothing may raise the cost of a day.
        record = self.record(at: time)
        guard calls <= (limit == 0 ? .max : limit) - record.count else { return false }
        record.count += calls
        return true
    }

    /// Adds the count from before a restart to the count since.
    ///
    /// - Parameter time: seconds since 1970. A count of a later day counts for this one: the clock was wrong then or is
    ///   now, and nothing may raise the cost of a day.
    package mutating func restore(_ stored: Record, at time: Int64) {
        record = record(at: time)
        guard stored.day >= record.day, stored.count > 0 else { return }
        record.count += min(stored.count, Self.mostCalls)
    }

    private static func day(_ time: Int64) -> Int64 {
        let (days, rest) = time.quotientAndRemainder(dividingBy: secondsPerDay)
        return rest < 0 ? days - 1 : days
    }
}
