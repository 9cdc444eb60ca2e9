package import Scheduling

/// The state of one address of a provider, or of a LocalDNS server: whether it is in backoff, how fast it is, and its counters.
///
/// Names are chosen by clients, so that a question of a client is never evidence against an address: one without an
/// answer only makes the address suspect, and a probe with a name of the daemon's own choice decides (`Probes`).
///
/// An object: each question reads it several times, and a copy would be long.
package final class AddressHealth {
    /// How long after a successful probe the address is not suspect again: names that are slow by themselves, and
    /// clients that ask for them on purpose, cost no more probes than this.
    package static let trust: Duration = .seconds(5)

    package var backoff = Backoff()
    /// When a question, including a probe's, was last answered here.
    private var lastAnswer: Instant?
    private var lastNetworkChange: Instant?
    private var lastCleanProbe: Instant?
    /// Why the certificate was refused by the last probe; nil when it was not, or one was accepted since.
    package private(set) var refusedCertificate: String?
    /// From a request on a ready connection to the first byte of its reply: an exponentially weighted moving average (EWMA);
    /// nil before the first one.
    package private(set) var responseTime: Duration?
    /// For output only; nothing is decided by them.
    package var counters = Counters()

    /// The weight of a new response time is one part in this many.
    private static let memory = 8

    package init() {}

    /// Counters of one address since it is known.
    package struct Counters: Sendable {
        package var requests = 0
        /// Requests without an answer, except those cancelled because another address was faster.
        package var failures = 0
        /// Why the last of these failed, and when.
        package var lastFailure: (reason: String, at: Instant)?
    }

    /// Whether questions may be sent there.
    package var isUsable: Bool { !backoff.isActive }

    /// Called when a question is sent there.
    package func began() { counters.requests += 1 }

    /// Called when a question was answered there: a backoff ends, whatever failed before.
    package func answered(at now: Instant) {
        lastAnswer = now
        guard backoff.isActive else { return }
        backoff.succeeded()
        refusedCertificate = nil
    }

    /// Records how soon a reply began.
    package func measured(_ time: Duration) {
        responseTime = responseTime.map { $0 + (time - $0) / Self.memory } ?? time
    }

    /// Called when a question was not answered.
    package func failed(_ reason: String, at now: Instant) {
        counters.failures += 1
        counters.lastFailure = (reason, now)
    }

    /// Whether a question that began at `began`, and was not answered, is a reason for a probe.
    package func isSuspect(since began: Instant, at now: Instant) -> Bool {
        guard isUsable, !backoff.isProbing, !isOutdated(began) else { return false }
        return lastCleanProbe.map { now - $0 >= Self.trust } ?? true
    }

    /// Whether any question was answered there since.
    package func hasAnswered(since began: Instant) -> Bool { lastAnswer.map { $0 > began } ?? false }

    /// Whether a failure of what began then says nothing any more: a question was answered there since, or the network
    /// has changed.
    package func isOutdated(_ began: Instant) -> Bool {
        hasAnswered(since: began) || lastNetworkChange.map { $0 > began } ?? false
    }

    /// Called when a probe was answered.
    package func probeAnswered(at now: Instant) {
        lastCleanProbe = now
        answered(at: now)
    }

    /// Records that a probe refused the certificate.
    ///
    /// - Returns: whether that is new: it was not refused before, or for another reason.
    package func refuseCertificate(_ reason: String) -> Bool {
        defer { refusedCertificate = reason }
        return refusedCertificate != reason
    }

    /// Resets the state, since the network has changed: results of probes begun before are meaningless.
    package func networkChanged(at now: Instant) {
        backoff.succeeded()
        lastNetworkChange = now
        lastCleanProbe = nil
        refusedCertificate = nil
        responseTime = nil
    }
}
