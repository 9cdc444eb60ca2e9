import DNSResolver
import DNSWire
import Platform
import Scheduling

/// The health of the servers of one LocalDNS, and the probes that decide it.
///
/// A probe asks for the name servers of the zone for which the servers are used, and where that has no answer, for a few
/// names that this server has answered (`ProbeQuestions`): silence on all of them puts the server in backoff. The zone
/// alone decides whether it is queried without EDNS, or over TCP. Clients' questions, and what becomes of them, decide
/// only when a probe begins, and can end a backoff. A client can ask for names whose name servers are silent, or refuse
/// EDNS, and would else take the server from everyone.
@Loop
final class LocalDNSProbes {
    private let name: String
    /// The zone whose NS records are queried.
    private let zone: Question
    private let environment: LocalDNSEnvironment
    private let report: @Loop (ResolverEvent) -> Void
    private let onTCPAlone: @Loop (LocalDNSServer) -> Void
    private var states: [LocalDNSServer: LocalDNSHealth] = [:]
    private var lastProbe = 0
    /// Probes up to this number concern another network.
    private var lastForgotten = 0
    private var now: Instant { environment.clock.now }

    /// - Parameter onTCPAlone: called when a probe was answered over TCP and not over UDP.
    nonisolated init(
        name: String, zone: Name, _ environment: LocalDNSEnvironment,
        report: @escaping @Loop (ResolverEvent) -> Void, onTCPAlone: @escaping @Loop (LocalDNSServer) -> Void
    ) {
        self.name = name
        self.zone = Question(name: zone, type: .ns)
        self.environment = environment
        self.report = report
        self.onTCPAlone = onTCPAlone
    }

    /// Discards all state: the network or the servers have changed.
    func forget() {
        states = [:]
        lastForgotten = lastProbe
    }

    /// The state of a server.
    func health(of server: LocalDNSServer) -> LocalDNSHealth { states[server] ?? LocalDNSHealth() }

    /// Begins the probes that are due, while a client's question is asked; a silent server is asked it as well.
    func beginDue(at servers: [LocalDNSServer], while asked: UpstreamQuestion) {
        for server in servers {
            let health = health(of: server)
            guard health.isDue(at: now) else { continue }
            let more = health.isSilent ? asked.types.prefix(1) : []
            begin(server, with: more.map { Question(name: asked.name, type: $0) })
        }
    }

    /// Called when something in a client's lookup that began at `began` is a reason to probe.
    func doubted(_ server: LocalDNSServer, since began: Instant) {
        if health(of: server).isSuspect(since: began, at: now) { begin(server) }
    }

    /// Called when `server` has answered a question of a client, which then serves its probes.
    func answered(_ server: LocalDNSServer, _ question: Question, for holder: ClientNetwork) {
        states[server, default: LocalDNSHealth()].questions.add(question, for: holder)
        answered(server)
    }

    private func answered(_ server: LocalDNSServer) {
        let wasSilent = health(of: server).isSilent
        states[server, default: LocalDNSHealth()].answered(at: now)
        if wasSilent { report(.serverRecovered(upstream: name, server: server.description)) }
    }

    // MARK: A probe

    private func begin(_ server: LocalDNSServer, with more: [Question] = []) {
        lastProbe += 1
        let (number, began) = (lastProbe, now)
        let others = Set(health(of: server).questions.all + more).subtracting([zone])
        states[server, default: LocalDNSHealth()].probeBegan(number, at: began)
        let deadline = began + LocalDNSLookup.loneTimeout
        // The others are asked, all at once, where the zone has no answer by then.
        let secondStep = began + LocalDNSLookup.loneTimeout / 2
        Loop.spawn { [self] in
            await withTaskGroup(of: (Question, LocalDNSLookup?).self) { group in
                for question in [zone] + others {
                    group.addTask { [self] in
                        let isDue = question == zone ? true : await environment.clock.sleep(until: secondStep)
                        guard isDue else { return (question, nil) }
                        let lookup = await LocalDNSLookup.ask(
                            question, only: server, until: deadline, environment)
                        // An answer counts as soon as it comes.
                        await ended(lookup, of: server, by: number)
                        return (question, lookup)
                    }
                }
                var lookups: [Question: LocalDNSLookup] = [:]
                while let (question, lookup) = await group.next() {
                    lookups[question] = lookup
                    if question == zone, lookup?.isHeard == true { break }
                }
                group.cancelAll()
                judge(lookups, of: server, by: number, since: began)
            }
        }
    }

    private func ended(_ lookup: LocalDNSLookup, of server: LocalDNSServer, by number: Int) {
        if lookup.isHeard, number > lastForgotten { answered(server) }
    }

    /// - Parameter lookups: for the zone, which alone decides on EDNS and UDP; and for questions of clients, each of which
    ///   can only show that the server responds.
    private func judge(
        _ lookups: [Question: LocalDNSLookup], of server: LocalDNSServer, by number: Int, since began: Instant
    ) {
        guard number > lastForgotten, let ofZone = lookups[zone] else { return }
        states[server, default: LocalDNSHealth()].probeEnded(
            number, edns: ofZone.takesEDNS, over: ofZone.answeredOver, at: now)
        if ofZone.answeredOver == .tcp { onTCPAlone(server) }
        guard !ofZone.isHeard else { return }
        let silent = lookups.filter { !$0.value.isHeard }
        guard silent.count == lookups.count else {
            for question in silent.keys { states[server]?.questions.remove(question) }
            return
        }
        let reasons = lookups.values.compactMap(\.outcomeFailure)
        guard let failure = ofZone.outcomeFailure, !reasons.contains(where: \.isOurs),
            !health(of: server).hasAnswered(since: began)
        else { return }
        let wasSilent = health(of: server).isSilent
        states[server]?.failed(at: now)
        if !wasSilent {
            report(.serverSilent(upstream: name, server: server.description, reason: failure.description))
        }
    }
}

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
