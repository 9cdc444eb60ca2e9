import DNSResolver
import DNSWire
import Platform
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
    /// How it is queried instead of with EDNS over UDP, and when a probe tries these again.
    private var makeshift: (edns: Bool, transport: Transport, until: Instant)?
    /// What it is probed with beside the zone.
    var questions = ProbeQuestions()

    /// Whether its last probe failed, and it has answered nothing since.
    var isSilent: Bool { backoff.isActive }

    /// Whether a query has EDNS.
    var offersEDNS: Bool { makeshift?.edns ?? true }

    /// The transport of a query.
    var transport: Transport { makeshift?.transport ?? .udp }

    /// Whether something in a lookup that began at `began` is a reason for a probe.
    func isSuspect(since began: Instant, at now: Instant) -> Bool {
        !isSilent && !hasAnswered(since: began) && mayDoubt(at: now)
    }

    /// Whether a probe is due: of a silent server, or with EDNS or over UDP of one that did not support it.
    func isDue(at now: Instant) -> Bool {
        if isSilent { return backoff.isDue(at: now, isUrgent: false) }
        return makeshift.map { now >= $0.until } ?? false && mayDoubt(at: now)
    }

    /// Whether any question was answered there since.
    func hasAnswered(since began: Instant) -> Bool { lastAnswer.map { $0 > began } ?? false }

    /// A server that works is probed at most so often, however many slow names clients ask for.
    private func mayDoubt(at now: Instant) -> Bool {
        !backoff.isProbing && (lastProbe.map { now - $0 >= AddressHealth.trust } ?? true)
    }

    mutating func probeBegan(_ number: Int, at now: Instant) {
        backoff.probeBegan(number)
        lastProbe = now
    }

    /// Called when a probe has ended.
    ///
    /// - Parameters:
    ///   - edns: whether it has shown that the server supports EDNS; nil: neither.
    ///   - transport: over which it has shown that the server responds; nil: none.
    mutating func probeEnded(_ number: Int, edns: Bool?, over transport: Transport?, at now: Instant) {
        backoff.probeEnded(number)
        guard edns != nil || transport != nil else { return }
        let (edns, transport) = (edns ?? offersEDNS, transport ?? self.transport)
        makeshift = edns && transport == .udp ? nil : (edns, transport, now + Self.plainTime)
    }

    /// Called when a probe failed.
    mutating func failed(at now: Instant) { backoff.failed(at: now) }

    mutating func answered(at now: Instant) {
        lastAnswer = now
        if isSilent { backoff.succeeded() }
    }
}

/// A few questions that a server has answered, with which it is probed: some servers, such as those of a VPN, drop what
/// is outside of their zones, and so also a query for the root.
///
/// Clients have chosen the names. So the first ones stay, however many others are answered; one client network has all
/// places only while no other needs one; and a server is silent only when it answers none of them.
struct ProbeQuestions: Sendable {
    /// The most questions.
    static let limit = 4

    private var answered: [(question: Question, holder: ClientNetwork)] = []

    /// The questions, each for another name.
    var all: [Question] { answered.map(\.question) }

    /// Called when the server has answered a question of a client network.
    mutating func add(_ question: Question, for holder: ClientNetwork) {
        guard !answered.contains(where: { $0.question.name == question.name }) else { return }
        if answered.count == Self.limit {
            guard let displaced = displaced(by: holder) else { return }
            answered.remove(at: displaced)
        }
        answered.append((question, holder))
    }

    /// The last question of the client network that has most places, if it has at least two more than `holder`.
    private func displaced(by holder: ClientNetwork) -> Int? {
        func count(_ network: ClientNetwork) -> Int { answered.count { $0.holder == network } }
        guard let largest = answered.map(\.holder).max(by: { count($0) < count($1) }),
            count(largest) >= count(holder) + 2
        else { return nil }
        return answered.lastIndex { $0.holder == largest }
    }

    /// Called when the server has answered another question at the same time, but not this one.
    mutating func remove(_ question: Question) { answered.removeAll { $0.question == question } }
}
