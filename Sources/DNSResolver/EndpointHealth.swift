package import Scheduling

/// What the last attempts say of one upstream address, and for how long it is therefore left alone.
///
/// Two failures in a row without a success between set it aside, one if no connection could be made: for 1 s, then 2 s
/// each time. After that a single attempt is let through as a probe. The first success clears everything (RFC 9520).
/// No longer than 2 s, for it is what every name waits for once the service is back, and a probe costs one request.
package struct EndpointHealth: Sendable {
    private static let firstPause: Duration = .seconds(1)
    private static let longestPause: Duration = .seconds(2)

    private var failures = 0
    private var pausesTaken = 0
    /// Until when it is left alone, or was; nil when it has answered since.
    package private(set) var setAsideUntil: Instant?
    private var lastSuccess: Instant?
    private var probing = false
    /// Until when the network is new, and failures mean little.
    private var settlesAt: Instant?
    /// For people; nothing is decided by them.
    package var counters = Counters()

    package init() {}

    /// What was asked of one address since it is known.
    package struct Counters: Sendable {
        package var requests = 0
        /// Requests without an answer; those given up because another address was faster are not among them.
        package var failures = 0
        /// Why the last of these failed, and when.
        package var lastFailure: (reason: String, at: Instant)?
    }

    /// Whether an attempt may begin now.
    package func isUsable(at now: Instant) -> Bool {
        guard let setAsideUntil else { return true }
        return now >= setAsideUntil && !probing
    }

    /// Whether it was set aside and no attempt has succeeded since.
    package var hasFailed: Bool { setAsideUntil != nil }

    /// To be called as an attempt begins.
    package mutating func began() {
        probing = setAsideUntil != nil
        counters.requests += 1
    }

    package mutating func succeeded(at now: Instant) {
        let counters = counters
        self = EndpointHealth()
        self.counters = counters
        lastSuccess = now
    }

    /// Forgets what went wrong, for the network is another one; attempts begun before say nothing any more.
    package mutating func forget(at now: Instant) {
        succeeded(at: now)
        settlesAt = now + BackOff.settlingTime
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
        if let settlesAt, now < settlesAt {
            setAsideUntil = now + BackOff.settling
            return
        }
        setAsideUntil = now + (pausesTaken == 0 ? Self.firstPause : Self.longestPause)
        pausesTaken += 1
    }

    /// Sets the address aside for a given time: a service that told when to come back.
    package mutating func setAside(until instant: Instant) {
        probing = false
        setAsideUntil = max(instant, setAsideUntil ?? instant)
    }
}
