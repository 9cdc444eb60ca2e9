import DNSResolver
import Scheduling

/// The state of one server: whether it is silent, and whether it supports EDNS and UDP.
///
/// Names are chosen by clients, so that a question of a client is never evidence against a server: one without an
/// answer only makes the server suspect, and a probe decides (`LocalDNSProbes`). An answer ends the backoff, whatever
/// its name.
struct LocalDNSHealth: Sendable {
    /// The first and the longest pause after a failed probe.
    private static let pauses: ClosedRange<Duration> = .seconds(1)...(.seconds(5))
    /// How long a server that does not support EDNS is queried without it before a probe tries EDNS again, and one that
    /// responds over TCP alone over TCP before a probe tries UDP again.
    static let plainTime = Duration.seconds(600)

    private(set) var backoff = Backoff(LocalDNSHealth.pauses)
    private var lastAnswer: Instant?
    /// When the last probe began.
    private var lastProbe: Instant?
    private var plainUntil: Instant?
    private var tcpUntil: Instant?
    /// What it is probed with beside the zone.
    var questions = ProbeQuestions()

    /// Whether its last probe failed, and it has answered nothing since.
    var isSilent: Bool { backoff.isActive }

    /// Whether a query has EDNS.
    var offersEDNS: Bool { plainUntil == nil }

    /// The transport of a query.
    var transport: AresTransport { tcpUntil == nil ? .udp : .tcp }

    /// Whether a client's question that began at `began`, and was not answered, is a reason for a probe.
    func isSuspect(since began: Instant, at now: Instant) -> Bool {
        !isSilent && !hasAnswered(since: began) && mayDoubt(at: now)
    }

    /// Whether an answer to a client's question is a reason for a probe, since only a query without EDNS had it.
    func isSuspectedOfRefusingEDNS(at now: Instant) -> Bool { !isSilent && offersEDNS && mayDoubt(at: now) }

    /// Whether an answer to a client's question is a reason for a probe, since only a query over TCP had it.
    func isSuspectedOfTCPAlone(at now: Instant) -> Bool { !isSilent && transport == .udp && mayDoubt(at: now) }

    /// Whether a probe is due: of a silent server, or with EDNS or over UDP of one that did not support it.
    func isDue(at now: Instant) -> Bool {
        if isSilent { return backoff.isDue(at: now, isUrgent: false) }
        return [plainUntil, tcpUntil].contains { $0.map { now >= $0 } ?? false } && mayDoubt(at: now)
    }

    /// Whether any question was answered there since.
    func hasAnswered(since began: Instant) -> Bool { lastAnswer.map { $0 > began } ?? false }

    /// A server that works is probed at most so often, however many slow names clients ask for.
    private func mayDoubt(at now: Instant) -> Bool {
        !backoff.isProbing && (lastProbe.map { now - $0 >= AddressHealth.trust } ?? true)
    }

    mutating func probeBegan(_ number: Int, at now: Instant) {
        backoff.probeBegan(number, at: now)
        lastProbe = now
    }

    mutating func probeEnded(_ number: Int) { backoff.probeEnded(number) }

    /// Called when a probe failed.
    mutating func failed(at now: Instant) { backoff.failed(at: now) }

    mutating func answered(at now: Instant) {
        lastAnswer = now
        if isSilent { backoff.succeeded() }
    }

    /// Called when a probe has shown whether it supports EDNS.
    mutating func showed(edns: Bool, at now: Instant) { plainUntil = edns ? nil : now + Self.plainTime }

    /// Called when a probe has shown over which transport it responds.
    mutating func showed(_ transport: AresTransport, at now: Instant) {
        tcpUntil = transport == .udp ? nil : now + Self.plainTime
    }
}
