public import DNSResolver
import DNSWire

/// The calls that were sent to a provider today and this month, their limits, and what the vendor bills for them. Days and
/// months begin at 00:00 UTC.
public struct CallQuota: Hashable, Sendable {
    /// The part that outlives a restart.
    public struct Record: Hashable, Sendable {
        public var day: CallCount
        public var month: CallCount
        /// When counting for this month began, in seconds since 1970; nil: before this was recorded.
        public var since: Int64?

        public init(day: CallCount, month: CallCount, since: Int64?) {
            (self.day, self.month, self.since) = (day, month, since)
        }
    }

    /// What a count that several servers share leaves to this one in a period; valid in that period alone.
    struct Allowance: Hashable, Sendable {
        /// The day or month that it is for, as `CallCount.period`.
        let number: Int64
        /// Calls that may still be sent; 0 or less: none.
        let left: Int
        /// Whether no more of them are to be had before the period ends.
        let isFinal: Bool
    }

    /// A day that has ended with calls, and its month until then.
    public struct EndedDay: Hashable, Sendable {
        public let day: CallCount
        public let month: CallCount
        /// What was foreseen for the whole month when the day ended.
        public let forecast: CallCount?

        /// By the fields that the log has for them.
        var counts: [String: Int] {
            ["calls": day.calls, "billed": day.billed, "month_calls": month.calls, "month_billed": month.billed]
        }

        /// For operators, in one line.
        var text: String {
            let total = forecast.map { ", about \(Self.text($0)) by its end" } ?? ""
            let name = CallPeriod.day.text(of: day.period)
            return "\(name) (UTC) had \(Self.text(day)); its month until then \(Self.text(month))\(total)"
        }

        private static func text(_ count: CallCount) -> String {
            "\(count.calls) calls\(count.billed > 0 ? ", billed as \(count.billed)" : "")"
        }
    }

    private static let secondsPerDay: Int64 = 86_400
    /// The rate of a shorter time says nothing about a month, in seconds.
    private static let shortest: Int64 = 3_600
    /// 2025-01-01, in seconds since 1970: before this the clock is not set yet, as on a machine without a battery.
    private static let earliest: Int64 = 1_735_689_600
    /// The days that a clock which is set can show: to the end of the year 9999.
    private static let days = earliest / secondsPerDay..<2_932_897
    /// A month, in seconds.
    private static let longest: Int64 = 31 * secondsPerDay

    /// What was sent in a period, and what bounds it.
    private struct Tally: Hashable {
        var count = CallCount(period: .min)
        /// The most calls; 0: no limit.
        let limit: Int
        /// Nil: this server counts by itself.
        var allowance: Allowance?
    }

    private var day: Tally
    private var month: Tally
    private var since: Int64?
    /// The last day that has ended, until it is taken.
    private var ended: EndedDay?

    public init(dailyLimit: Int, monthlyLimit: Int = 0) {
        (day, month) = (Tally(limit: dailyLimit), Tally(limit: monthlyLimit))
    }

    private subscript(period: CallPeriod) -> Tally {
        get { period == .day ? day : month }
        set { if period == .day { day = newValue } else { month = newValue } }
    }

    /// The record to store for the next start, at a time in seconds since 1970.
    public func record(at time: Int64) -> Record {
        Record(day: count(.day, at: time), month: count(.month, at: time), since: since)
    }

    /// The calls of a period so far.
    public func count(_ period: CallPeriod, at time: Int64) -> CallCount {
        let time = known(time)
        guard period == .month else { return day.count.moved(to: Self.day(time)) }
        // A new month begins with a new day: mostly there is no date to compute.
        return Self.day(time) == day.count.period ? month.count : month.count.moved(to: Self.date(time).monthNumber)
    }

    /// The last day that has ended, once.
    public mutating func takeEndedDay() -> EndedDay? { ended.take() }

    /// The period until whose end no call may be sent; nil while calls may be. The longer one, if both are exhausted.
    public func exhausted(at time: Int64) -> CallPeriod? {
        isUsedUp(.month, at: time) ? .month : isUsedUp(.day, at: time) ? .day : nil
    }

    private func isUsedUp(_ period: CallPeriod, at time: Int64) -> Bool {
        guard limit(period) > 0 else { return false }
        let count = count(period, at: time)
        if count.calls >= limit(period) { return true }
        return allowance(period).map { $0.number == count.period && $0.left <= 0 } ?? false
    }

    /// How many calls one client network may have caused since half of a limit was spent: as many as are left to all, and
    /// of that half the part that the time of the period's that has passed is. So one that floods leaves calls to the
    /// others, and one that is even over the day has all of them. `.max` before that, or where a count is shared; nil
    /// without a limit.
    public func share(at time: Int64) -> Int? {
        guard day.limit > 0 || month.limit > 0 else { return nil }
        let known = known(time)
        let date = Self.date(known)
        let seconds = known.floored(by: Self.secondsPerDay).remainder
        let ofMonth = (date.day - 1) * Self.secondsPerDay + seconds
        func share(_ period: CallPeriod, after elapsed: Int64, of length: Int64) -> Int {
            let (limit, calls) = (limit(period), count(period, at: time).calls)
            guard limit > 0, allowance(period) == nil, calls >= limit / 2 else { return .max }
            return max(0, limit - calls) + Int(Double(limit - limit / 2) * (Double(elapsed) / Double(length)))
        }
        return min(
            share(.day, after: seconds, of: Self.secondsPerDay),
            share(.month, after: ofMonth, of: date.daysInMonth * Self.secondsPerDay))
    }

    /// What is left to this server of a count that several share; nil where it counts by itself.
    func allowance(_ period: CallPeriod) -> Allowance? { self[period].allowance }

    /// Sets what is left to this server of a count that several share; nil: it counts by itself from now on.
    mutating func allow(_ allowance: Allowance?, in period: CallPeriod) { self[period].allowance = allowance }

    /// Whether the limit is reached, and not only the next part of a shared count awaited.
    public func isFinal(_ period: CallPeriod, at time: Int64) -> Bool {
        let count = count(period, at: time)
        guard count.calls < limit(period), let allowance = allowance(period), allowance.number == count.period else {
            return true
        }
        return allowance.isFinal
    }

    /// The most calls of a period; 0: no limit.
    public func limit(_ period: CallPeriod) -> Int { self[period].limit }

    /// Counts a call, unless that would exceed a limit. Returns whether it may be sent.
    public mutating func take(at time: Int64) -> Bool {
        move(to: time)
        guard exhausted(at: time) == nil else { return false }
        day.count.add(calls: 1)
        month.count.add(calls: 1)
        return true
    }

    /// The period of which the call that was just taken is the first beyond four fifths of its limit; of a shared count
    /// that is known elsewhere.
    public func nearsLimit(at time: Int64) -> CallPeriod? {
        func isFirst(_ period: CallPeriod) -> Bool {
            let limit = limit(period)
            return limit > 0 && allowance(period) == nil && count(period, at: time).calls == limit - limit / 5
        }
        return isFirst(.month) ? .month : isFirst(.day) ? .day : nil
    }

    /// Counts answers as the vendor bills them.
    public mutating func bill(_ units: Int, at time: Int64) {
        move(to: time)
        day.count.add(billed: units)
        month.count.add(billed: units)
    }

    /// The time, or, where the clock is not set yet, the day of the count, which then goes on.
    private func known(_ time: Int64) -> Int64 {
        time < Self.earliest && Self.days.contains(day.count.period) ? day.count.period * Self.secondsPerDay : time
    }

    /// Adds the count from before a restart to the count since.
    public mutating func restore(_ stored: Record, at time: Int64) {
        if time < Self.earliest, Self.days.contains(stored.day.period), day.count.period < stored.day.period {
            // Goes on where the record ends; the clock will say whether that is over.
            (day.count.period, month.count.period) = (stored.day.period, stored.month.period)
            (since, ended) = (stored.since, nil)
            day.count.add(stored.day)
            return month.count.add(stored.month)
        }
        let isOfThisMonth = stored.month.period >= Self.date(time).monthNumber
        move(to: time)
        if stored.day.period < day.count.period, stored.day.calls > 0, ended == nil {
            ended = EndedDay(day: stored.day, month: stored.month, forecast: nil)
        }
        day.count.add(stored.day)
        month.count.add(stored.month)
        // Of another month, or of a wrong clock, it would make the forecast senseless.
        if isOfThisMonth, let first = stored.since, (time - Self.longest...time).contains(first) { since = first }
    }

    /// What this month will have had at its end, if the rest goes on at the mean rate since counting began; nil in the
    /// first hour.
    public func forecast(at time: Int64) -> CallCount? {
        guard let since, month.count.period == Self.date(time).monthNumber else { return nil }
        let elapsed = time - since
        guard elapsed >= Self.shortest else { return nil }
        let date = Self.date(time)
        let end = (Self.day(time) + date.daysInMonth - date.day + 1) * Self.secondsPerDay
        let factor = 1 + Double(end - time) / Double(elapsed)
        func grown(_ number: Int) -> Int { Int(Double(number) * factor) }
        let count = month.count
        return CallCount(period: count.period, calls: grown(count.calls), billed: grown(count.billed))
    }

    private mutating func move(to time: Int64) {
        let time = known(time)
        let (number, last) = (Self.day(time), day.count)
        guard number != last.period else { return }
        if number > last.period, last.calls > 0 {
            let forecast = forecast(at: (last.period + 1) * Self.secondsPerDay - 1)
            ended = EndedDay(day: last, month: month.count, forecast: forecast)
        }
        let next = count(.month, at: time)
        day.count = last.moved(to: number)
        if since == nil || next.period != month.count.period { since = time }
        month.count = next
    }

    private static func day(_ time: Int64) -> Int64 { time.floored(by: secondsPerDay).quotient }

    private static func date(_ time: Int64) -> UTCDate { UTCDate(daysSince1970: day(time)) }
}

/// What was sent to a provider in one day or one month, and what its vendor bills for it.
public struct CallCount: Hashable, Sendable {
    /// More than a month can have; a larger number in a file is cut to it, so that sums do not overflow.
    private static let most = 1 << 40

    /// Days since 1970-01-01, or the number of a month.
    public var period: Int64
    /// Requests sent.
    public private(set) var calls: Int
    /// Answers, as the vendor counts them.
    public private(set) var billed: Int

    /// - Parameters:
    ///   - calls, billed: 0 to 2^40; cut to that.
    public init(period: Int64, calls: Int = 0, billed: Int = 0) {
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

extension CallPeriod {
    /// `2026-11-25`, or `2026-11`, of the number that `CallCount.period` has.
    func text(of number: Int64) -> String {
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        if self == .month { return "\(number.floored(by: 12).quotient)-\(two(number.floored(by: 12).remainder + 1))" }
        let date = UTCDate(daysSince1970: number)
        return "\(date.year)-\(two(date.month))-\(two(date.day))"
    }
}
