/// For how long what failed is left alone: 1, 2, then 5 s each time (RFC 9520 section 3.2 wants at least 1 s).
package enum BackOff {
    private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(5)]

    /// The pause after a failure that `earlier` others went before.
    package static func pause(after earlier: Int) -> Duration { pauses[min(max(earlier, 0), pauses.count - 1)] }
}
