import DNSResolver
import Scheduling

/// What is remembered of a server's silence, so that a dead one costs a delay now and then and not with every question.
///
/// A server that stayed silent, could not be reached or talked nonsense backs off: the others are asked before it. After
/// 1, 2, 4, then every 5 seconds one question asks it in its old place, as a probe, and gives it `probeShare` before the next
/// server joins. The first reply of the server ends all that. SERVFAIL and REFUSED begin no backoff: they speak of a name.
struct LocalDNSHealth: Sendable {
    /// How long a server may take for a probe before another one is asked as well.
    static let probeShare = Duration.milliseconds(150)

    private var backoff = Backoff(.seconds(1)...(.seconds(5)))

    /// Until when other servers come first; nil when they do not at `now`.
    func aside(at now: Instant) -> Instant? {
        guard let nextProbe = backoff.nextProbe, now < nextProbe else { return nil }
        return nextProbe
    }

    /// Whether it failed when it was last asked.
    var isSuspect: Bool { backoff.isActive }

    /// Whether its probe failed too: that is more than a lost datagram or a name that takes long.
    private(set) var isSilent = false

    /// Whether its silence was reported.
    var isReported = false

    /// Counts a failure; those of questions that overlap count once.
    mutating func failed(at now: Instant) {
        guard aside(at: now) == nil else { return }
        isSilent = isSuspect
        backoff.failed(at: now)
    }
}
