import Scheduling

/// HTTP's form of a date: `Thu, 01 Jan 2026 00:00:00 GMT` (RFC 9110 section 5.6.7).
enum DateText {
    /// 2025-01-01, in seconds since 1970: before this the clock is not set yet, as on a machine without a battery.
    private static let earliest: Int64 = 1_735_689_600
    /// The first second of the year 10000, which has too many digits.
    private static let end: Int64 = 253_402_300_800
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Nil for what no clock shows that is set.
    ///
    /// - Parameter time: seconds since 1970.
    static func of(_ time: Int64) -> String? {
        guard (earliest..<end).contains(time) else { return nil }
        let (day, second) = time.floored(by: 86_400)
        let date = UTCDate(daysSince1970: day)
        // 1970 began on a Thursday.
        return "\(days[Int(day % 7)]), \(digits(date.day)) \(months[Int(date.month) - 1]) \(date.year) "
            + "\(digits(second / 3_600)):\(digits(second / 60 % 60)):\(digits(second % 60)) GMT"
    }

    private static func digits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

/// The value of `Date` in the responses of a site (RFC 9110 section 6.6.1), which its sessions share: they read no clock.
final class ResponseDate {
    /// Empty while no clock is set: the field is not sent then.
    var text = ""
}
