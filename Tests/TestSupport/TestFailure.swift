/// A failure of a test helper, described in words.
package struct TestFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

extension Duration {
    /// The length in seconds, with its fraction.
    package var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    /// The length in whole milliseconds for `poll`: rounded up, never negative.
    package var inMilliseconds: Int32 { Int32(max(0, min(inSeconds * 1_000, 3_600_000)).rounded(.up)) }
}
