package import Scheduling

/// What the last attempts say of one upstream address, and for how long it is therefore left alone.
///
/// Two failures in a row without a success between set it aside, one if no connection could be made: for 1, 2, 5, then 30 s
/// each time. After that a single attempt is let through as a probe. When there is nobody else to ask it comes after 2 s at
/// the latest, for it is what every name waits for once the service is back, and a probe costs one request.
/// The first success clears everything (RFC 9520).
package struct EndpointHealth: Sendable {
    private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(5), .seconds(30)]
    private static let longestLonelyPause: Duration = .seconds(2)

    private var failures = 0
    private var pausesTaken = 0
    /// Until when it is left alone, or was; nil when it has answered since.
    package private(set) var setAsideUntil: Instant?
    /// From when it may be tried if all others are set aside as well.
    private var lonelyFrom: Instant?
    private var lastSuccess: Instant?
    private var probing = false
    /// Until when the network is new, and failures mean little.
    private var settlesAt: Instant?
    /// Why the certificate there was refused last time; nil when it was not, or has been accepted since.
    package private(set) var refusedCertificate: String?
    /// Kept by the endpoint.
    package var responseTime = ResponseTime()
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

    /// The same for an address that is the last resort: every other one is set aside too.
    package func isUsableAlone(at now: Instant) -> Bool {
        guard let from = lonelyFrom ?? setAsideUntil else { return true }
        return now >= from && !probing
    }

    /// Whether it was set aside and no attempt has succeeded since.
    package var hasFailed: Bool { setAsideUntil != nil }

    /// To be called as an attempt begins.
    package mutating func began() {
        probing = setAsideUntil != nil
        counters.requests += 1
    }

    package mutating func succeeded(at now: Instant) {
        let (counters, responseTime) = (counters, responseTime)
        self = EndpointHealth()
        self.counters = counters
        self.responseTime = responseTime
        lastSuccess = now
    }

    /// Forgets what went wrong, for the network is another one; attempts begun before say nothing any more.
    package mutating func forget(at now: Instant) {
        succeeded(at: now)
        responseTime = ResponseTime()
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
            lonelyFrom = nil
            return
        }
        let pause = Self.pauses[min(pausesTaken, Self.pauses.count - 1)]
        setAsideUntil = now + pause
        lonelyFrom = now + min(pause, Self.longestLonelyPause)
        pausesTaken += 1
    }

    /// - Returns: whether that is news: it was not refused before, or for another reason.
    package mutating func refuseCertificate(_ reason: String) -> Bool {
        defer { refusedCertificate = reason }
        return refusedCertificate != reason
    }

    /// Sets the address aside for a given time: a service that told when to come back.
    package mutating func setAside(until instant: Instant) {
        probing = false
        setAsideUntil = max(instant, setAsideUntil ?? instant)
        lonelyFrom = nil
    }
}
