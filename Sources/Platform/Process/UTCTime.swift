import CLinux
import Glibc

/// A date and time in UTC, as logs and records show it.
package struct UTCTime: Sendable {
    /// Milliseconds since 1970, without leap seconds.
    private let milliseconds: Int64

    /// - Parameter milliseconds: since 1970, without leap seconds.
    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// By the system clock.
    package static var now: UTCTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UTCTime(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }
}

extension UTCTime: CustomStringConvertible {
    /// ISO 8601, such as `2026-08-01T12:34:56.789Z`.
    package var description: String {
        let (days, ofDay) = Self.divided(milliseconds, by: 86_400_000)
        let (year, month, day) = Self.date(daysSince1970: days)
        let seconds = ofDay / 1_000
        return Self.padded(year, 4) + "-" + Self.padded(month, 2) + "-" + Self.padded(day, 2) + "T"
            + Self.padded(seconds / 3_600, 2) + ":" + Self.padded(seconds / 60 % 60, 2) + ":"
            + Self.padded(seconds % 60, 2) + "." + Self.padded(ofDay % 1_000, 3) + "Z"
    }

    /// The Gregorian date, counted in eras of 400 years that begin on 1 March: the leap day is the last of its year.
    private static func date(daysSince1970: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = divided(daysSince1970 + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    /// Quotient and remainder of floor division; the remainder is never negative.
    private static func divided(_ value: Int64, by divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    private static func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
