import Scheduling

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
