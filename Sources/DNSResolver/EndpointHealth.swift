package import Scheduling

/// What the last attempts say of one upstream address, and for how long it is therefore left alone.
///
/// Two failures in a row without a success between set it aside, one if no connection could be made: for 1, 2, then 5 s
/// each time. After that a single attempt is let through as a probe. The first success clears everything (RFC 9520).
package struct EndpointHealth: Sendable {
    private var failures = 0
    private var pausesTaken = 0
    private var setAsideUntil: Instant?
    private var lastSuccess: Instant?
    private var probing = false

    package init() {}

    /// Whether an attempt may begin now.
    package func isUsable(at now: Instant) -> Bool {
        guard let setAsideUntil else { return true }
        return now >= setAsideUntil && !probing
    }

    /// Whether it was set aside and no attempt has succeeded since.
    package var hasFailed: Bool { setAsideUntil != nil }

    /// To be called as an attempt begins.
    package mutating func began() { probing = setAsideUntil != nil }

    package mutating func succeeded(at now: Instant) {
        self = EndpointHealth()
        lastSuccess = now
    }

    /// An attempt ended without an answer and without blame: cancelled because another was faster.
    package mutating func abandoned() { probing = false }

    /// - Parameters:
    ///   - began: when the failed attempt began: successes since then speak for the address.
    ///   - severe: whether no connection could be made at all.
    package mutating func failed(began: Instant, now: Instant, severe: Bool) {
        if let lastSuccess, lastSuccess >= began { return }
        failures += severe ? 2 : 1
        guard failures >= 2 || setAsideUntil != nil else { return }
        // Attempts that were under way when the address was set aside add nothing.
        guard probing || setAsideUntil.map({ now >= $0 }) ?? true else { return }
        probing = false
        setAsideUntil = now + BackOff.pause(after: pausesTaken)
        pausesTaken += 1
    }

    /// Sets the address aside for a given time: a service that told when to come back.
    package mutating func setAside(until instant: Instant) {
        probing = false
        setAsideUntil = max(instant, setAsideUntil ?? instant)
    }
}
