import DNSResolver
import Scheduling

/// The backoff of one server, so that a dead one delays only a few queries and not each one.
///
/// A server that did not respond, could not be reached or sent invalid responses goes into backoff: the others are
/// queried before it. After 1, 2, 4, then every 5 seconds one lookup queries it in its configured place, as a probe,
/// and waits `probeShare` before the next server is queried as well. The first response of the server ends the backoff.
/// SERVFAIL and REFUSED start none: they concern a name.
struct LocalDNSHealth: Sendable {
    /// The time for a probe before another server is queried as well.
    static let probeShare = Duration.milliseconds(150)

    private var backoff = Backoff(.seconds(1)...(.seconds(5)))

    /// Until when other servers are queried first; nil if they are not at `now`.
    func aside(at now: Instant) -> Instant? {
        guard let nextProbe = backoff.nextProbe, now < nextProbe else { return nil }
        return nextProbe
    }

    /// Whether it failed when it was last queried.
    var isSuspect: Bool { backoff.isActive }

    /// Whether its probe failed too: that is more than a lost datagram or a name that takes long.
    private(set) var isSilent = false

    /// Whether its failure was reported.
    var isReported = false

    /// Counts a failure; failures of concurrent queries count once.
    mutating func failed(at now: Instant) {
        guard aside(at: now) == nil else { return }
        isSilent = isSuspect
        backoff.failed(at: now)
    }
}
