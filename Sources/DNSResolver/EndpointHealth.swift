package import Scheduling

/// What the last attempts say of one upstream address, and for how long it is therefore left alone.
///
/// Two failures in a row without a success between set it aside, one if no connection could be made: for 1, 2, 5, then 30 s
/// each time. After that a single attempt is let through as a probe. When there is nobody else to ask it comes after 2 s at
/// the latest, for it is what every name waits for once the service is back, and a probe costs one request.
/// The first success clears everything (RFC 9520).
///
/// An object: each question looks at it several times, and a copy would be long.
package final class EndpointHealth {
    private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(5), .seconds(30)]
    private static let longestLonelyPause: Duration = .seconds(2)

    /// What went wrong since the last success.
    private struct Trouble {
        var failures = 0
        var pausesTaken = 0
        var setAsideUntil: Instant?
        /// From when it may be tried if all others are set aside as well.
        var lonelyFrom: Instant?
        var isProbing = false
        /// Until when the network is new, and failures mean little.
        var settlesAt: Instant?
        var refusedCertificate: String?
    }

    private var trouble = Trouble()
    private var lastSuccess: Instant?
    /// Kept by the endpoint.
    package var responseTime = ResponseTime()
    /// For people; nothing is decided by them.
    package var counters = Counters()

    package init() {}

    /// Until when it is left alone, or was; nil when it has answered since.
    package var setAsideUntil: Instant? { trouble.setAsideUntil }

    /// Why the certificate there was refused last time; nil when it was not, or has been accepted since.
    package var refusedCertificate: String? { trouble.refusedCertificate }

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
        guard let until = trouble.setAsideUntil else { return true }
        return now >= until && !trouble.isProbing
    }

    /// The same for an address that is the last resort: every other one is set aside too.
    package func isUsableAlone(at now: Instant) -> Bool {
        guard let from = trouble.lonelyFrom ?? trouble.setAsideUntil else { return true }
        return now >= from && !trouble.isProbing
    }

    /// Whether it was set aside and no attempt has succeeded since.
    package var hasFailed: Bool { trouble.setAsideUntil != nil }

    /// Whether one attempt finds out just now whether it is back.
    package var isProbing: Bool { trouble.isProbing }

    /// To be called as an attempt begins.
    package func began() {
        trouble.isProbing = hasFailed
        counters.requests += 1
    }

    package func succeeded(at now: Instant) {
        trouble = Trouble()
        lastSuccess = now
    }

    /// Forgets what went wrong, for the network is another one; attempts begun before say nothing any more.
    package func forget(at now: Instant) {
        succeeded(at: now)
        responseTime = ResponseTime()
        trouble.settlesAt = now + BackOff.settlingTime
    }

    /// An attempt ended without an answer and without blame: cancelled because another was faster.
    package func abandoned() { trouble.isProbing = false }

    /// - Parameters:
    ///   - began: when the failed attempt began: successes since then speak for the address.
    ///   - severe: whether no connection could be made at all.
    package func failed(began: Instant, now: Instant, severe: Bool) {
        if let lastSuccess, lastSuccess >= began { return }
        trouble.failures += severe ? 2 : 1
        guard trouble.failures >= 2 || hasFailed else { return }
        // Attempts that were under way when the address was set aside add nothing.
        guard trouble.isProbing || setAsideUntil.map({ now >= $0 }) ?? true else { return }
        trouble.isProbing = false
        if let settlesAt = trouble.settlesAt, now < settlesAt {
            trouble.setAsideUntil = now + BackOff.settling
            trouble.lonelyFrom = nil
            return
        }
        let pause = Self.pauses[min(trouble.pausesTaken, Self.pauses.count - 1)]
        trouble.setAsideUntil = now + pause
        trouble.lonelyFrom = now + min(pause, Self.longestLonelyPause)
        trouble.pausesTaken += 1
    }

    /// - Returns: whether that is news: it was not refused before, or for another reason.
    package func refuseCertificate(_ reason: String) -> Bool {
        defer { trouble.refusedCertificate = reason }
        return refusedCertificate != reason
    }

    /// Sets the address aside for a given time: a service that told when to come back.
    package func setAside(until instant: Instant) {
        trouble.isProbing = false
        trouble.setAsideUntil = max(instant, setAsideUntil ?? instant)
        trouble.lonelyFrom = nil
    }
}
