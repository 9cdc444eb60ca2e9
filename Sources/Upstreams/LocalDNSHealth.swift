import DNSResolver
import Scheduling

/// What we remember of a server's silence, so that a dead one costs a delay now and then and not with every question.
///
/// A server that stayed silent, could not be reached or talked nonsense is set aside: the others are asked before it. After
/// 1, then 2, then every 5 seconds one question tries it in its old place, and gives it `trialShare` before the next
/// server joins. The first reply of the server ends all that. SERVFAIL and REFUSED set nobody aside: they speak of a name.
struct LocalDNSHealth: Sendable {
    /// How long a server on trial may take before another one is asked as well.
    static let trialShare = Duration.milliseconds(150)

    private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(5)]
    private var failures = 0
    private var asideUntil = Instant(nanoseconds: .min)

    /// Whether other servers come first at `now`.
    func isAside(at now: Instant) -> Bool { now < asideUntil }

    /// Until when other servers come first; nil when they do not at `now`.
    func aside(at now: Instant) -> Instant? { isAside(at: now) ? asideUntil : nil }

    /// Whether it failed when it was last asked.
    var isSuspect: Bool { failures > 0 }

    /// Whether it failed on trial too: that is more than a lost datagram or a name that takes long.
    var isSilent: Bool { failures > 1 }

    /// Whether the people who run the server were told of it.
    var isTold = false

    /// Counts a failure; those of questions that overlap count once.
    mutating func failed(at now: Instant) {
        guard !isAside(at: now) else { return }
        asideUntil = now + Self.pauses[min(failures, Self.pauses.count - 1)]
        failures += 1
    }
}
