/// For how long what failed is left alone: 1, 2, then 5 s each time (RFC 9520 section 3.2 wants at least 1 s).
package enum BackOff {
    /// The pause while a network has just changed, or a source that was left alone is being tried again: neighbours and
    /// routes are still being found, and a whole second would be the longest part of the outage.
    package static let settling: Duration = .milliseconds(200)
    /// For how long a network that has just changed is given to settle.
    package static let settlingTime: Duration = .seconds(3)

    private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(5)]

    /// The pause after a failure that `earlier` others went before.
    package static func pause(after earlier: Int) -> Duration { pauses[min(max(earlier, 0), pauses.count - 1)] }
}
