import CSystem.Linux
import Glibc
package import Scheduling

/// A date and time in UTC, as logs and records show it.
package struct UTCTime: Sendable {
    /// Milliseconds since 1970, without leap seconds.
    private let milliseconds: Int64

    /// - Parameter milliseconds: since 1970, without leap seconds.
    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// By the system clock.
    package static var now: UTCTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return UTCTime(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }
}

extension UTCTime: CustomStringConvertible {
    /// ISO 8601, such as `2026-08-01T12:34:56.789Z`.
    package var description: String {
        let (days, ofDay) = milliseconds.floored(by: 86_400_000)
        let date = UTCDate(daysSince1970: days)
        let seconds = ofDay / 1_000
        return Self.padded(date.year, 4) + "-" + Self.padded(date.month, 2) + "-" + Self.padded(date.day, 2) + "T"
            + Self.padded(seconds / 3_600, 2) + ":" + Self.padded(seconds / 60 % 60, 2) + ":"
            + Self.padded(seconds % 60, 2) + "." + Self.padded(ofDay % 1_000, 3) + "Z"
    }

    private static func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}

extension Instant {
    /// The present time on CLOCK_BOOTTIME. May be called from any thread; costs no system call.
    package static var bootTime: Instant {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}

/// A duration, printed in milliseconds with three decimals.
package struct Milliseconds: CustomStringConvertible, Sendable {
    package let microseconds: Int64

    /// - Parameter duration: a negative one counts as zero.
    package init(_ duration: Duration) { microseconds = max(0, duration.nanoseconds / 1_000) }

    /// As in `12.345`.
    package var description: String {
        "\(microseconds / 1_000).\(String(1_000 + microseconds % 1_000).dropFirst())"
    }
}
