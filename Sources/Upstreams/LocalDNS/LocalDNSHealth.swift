import DNSResolver
import DNSWire
import Platform

/// The state of one server: whether it is silent, and whether it supports EDNS and UDP.
@Loop
final class LocalDNSHealth {
    /// How long a server that does not support EDNS is queried without it before a probe tries EDNS again, and one that
    /// responds over TCP alone over TCP before a probe tries UDP again.
    nonisolated static let plainTime = Duration.seconds(600)

    let address = AddressHealth()
    /// How it is queried instead of with EDNS over UDP, and when a probe tries these again.
    private var makeshift: (way: LocalDNSWay, until: Instant)?
    /// What it is probed with beside the zone.
    var questions = ProbeQuestions()

    init() { address.backoff = Backoff(.seconds(1)...(.seconds(5))) }

    /// Whether its last probe failed, and it has answered nothing since.
    var isSilent: Bool { !address.isUsable }

    var way: LocalDNSWay { makeshift?.way ?? LocalDNSWay() }

    /// Whether a probe is due: of a silent server, or with EDNS or over UDP of one that did not support it.
    func isDue(at now: Instant) -> Bool {
        if isSilent { return address.backoff.isDue(at: now, isUrgent: false) }
        return !address.backoff.isProbing && makeshift.map { now >= $0.until } ?? false
    }

    /// Called when a probe has ended, with how the server has shown that it answers; nil: it has not.
    func learn(_ shown: LocalDNSWay?, at now: Instant) {
        guard let shown else {
            makeshift?.until = now + AddressHealth.trust
            return
        }
        makeshift = shown == LocalDNSWay() ? nil : (shown, now + Self.plainTime)
    }
}

/// A few questions that a server has answered, with which it is probed: some servers, such as those of a VPN, drop what
/// is outside of their zones, and so also a query for the root.
///
/// Clients have chosen the names: they share the places (`FairShare`), and a server is silent only when it answers none of
/// them.
struct ProbeQuestions {
    /// The most questions.
    static let limit = 4

    private var shares = FairShare(capacity: limit)
    private var answered: [FairShare.Ticket: Question] = [:]

    /// The questions, each for another name, in no order.
    var all: [Question] { Array(answered.values) }

    /// Called when the server has answered a question of a client network.
    mutating func add(_ question: Question, for holder: ClientNetwork) {
        guard !answered.values.contains(where: { $0.name == question.name }) else { return }
        if shares.isFull {
            guard let displaced = shares.yielding(to: holder) else { return }
            remove(displaced)
        }
        answered[shares.add(for: holder)] = question
    }

    /// Called when the server has answered another question at the same time, but not this one.
    mutating func remove(_ question: Question) {
        if let ticket = answered.first(where: { $0.value == question })?.key { remove(ticket) }
    }

    private mutating func remove(_ ticket: FairShare.Ticket) {
        shares.remove(ticket)
        answered[ticket] = nil
    }
}

/// A server in a lookup, and what became of it there.
@Loop
struct LocalDNSCandidate {
    let server: LocalDNSServer
    /// Servers of one group know the same names.
    let group: Int
    /// Nil: the lookup is a probe of the server, which begins as if nothing were known of it.
    let health: LocalDNSHealth?
    /// How it is queried first.
    let first: LocalDNSWay
    /// Whether it was queried over TCP beside the plan, and whether anything came from it over UDP.
    var (isAskedBeside, isHeardOverUDP) = (false, false)
    /// Whether it refused to answer, or one of its group denied the name.
    var hasNothingMore = false

    init(_ server: LocalDNSServer, group: Int = 0, _ health: LocalDNSHealth? = nil) {
        (self.server, self.group, self.health) = (server, group, health)
        let way = health?.way ?? LocalDNSWay()
        first = server.usesTCP ? way.overTCP : way
    }

    /// Whether it is silent, and not just for a moment: a denial by the others is final without it.
    var isAway: Bool { health?.isSilent == true }
}
