import DNSResolver
import DNSWire
import Platform
import Scheduling

/// The health of the servers of one LocalDNS, and the probes that decide it.
///
/// A probe asks for the name servers of the zone for which the servers are used, and where that has no answer by half of its
/// time, for a few names that this server has answered: silence on all of them puts the server in backoff. The zone
/// alone decides whether it is queried without EDNS, or over TCP. Clients' questions, and what becomes of them, decide
/// only when a probe begins, and can end a backoff. A client can ask for names whose name servers are silent, or refuse
/// EDNS, and would else take the server from everyone.
@Loop
final class LocalDNSProbes {
    /// The zone whose NS records are queried.
    private let zone: Question
    private let environment: LocalDNSEnvironment
    private let onTCPAlone: @Loop (LocalDNSServer) -> Void
    private var states: [LocalDNSServer: LocalDNSHealth] = [:]
    private var lastProbe = 0
    private var now: Instant { environment.clock.now }

    /// - Parameter onTCPAlone: called when a probe was answered over TCP and not over UDP.
    nonisolated init(
        zone: Name, _ environment: LocalDNSEnvironment, onTCPAlone: @escaping @Loop (LocalDNSServer) -> Void
    ) {
        self.zone = Question(name: zone, type: .ns)
        self.environment = environment
        self.onTCPAlone = onTCPAlone
    }

    /// Discards all state: the network or the servers have changed. Probes under way concern a state that nothing reads.
    func forget() { states = [:] }

    /// The state of a server.
    func health(of server: LocalDNSServer) -> LocalDNSHealth {
        if let known = states[server] { return known }
        let health = LocalDNSHealth()
        states[server] = health
        return health
    }

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
        if health(of: server).address.isSuspect(since: began, at: now) { begin(server) }
    }

    /// Called when `server` has answered a question of a client, which then serves its probes.
    func answered(_ server: LocalDNSServer, _ question: Question, for holder: ClientNetwork) {
        health(of: server).questions.add(question, for: holder)
        answered(server)
    }

    private func answered(_ server: LocalDNSServer) {
        let health = health(of: server)
        let wasSilent = health.isSilent
        health.address.answered(at: now)
        guard wasSilent else { return }
        environment.report(.serverRecovered(upstream: environment.name, server: server.description))
    }

    // MARK: A probe

    /// One probe: the lookups of the zone and of other questions.
    private final class Probe {
        let number: Int
        let server: LocalDNSServer
        let health: LocalDNSHealth
        let began: Instant
        let others: Set<Question>
        /// The first is the zone's.
        var lookups: [LocalDNSLookup] = []
        var timer: LoopTimer?
        var isOver = false

        init(_ number: Int, of server: LocalDNSServer, _ health: LocalDNSHealth, began: Instant, others: Set<Question>)
        {
            (self.number, self.server, self.health, self.began) = (number, server, health, began)
            self.others = others
        }
    }

    private func begin(_ server: LocalDNSServer, with more: [Question] = []) {
        lastProbe += 1
        let health = health(of: server)
        let others = Set(health.questions.all + more).subtracting([zone])
        let probe = Probe(lastProbe, of: server, health, began: now, others: others)
        health.address.backoff.probeBegan(probe.number)
        if !others.isEmpty {
            probe.timer = environment.clock.schedule(at: now + LocalDNSLookup.loneTimeout / 2) { [self] in
                for question in others { ask(question, in: probe) }
            }
        }
        ask(zone, in: probe)
    }

    private func ask(_ question: Question, in probe: Probe) {
        let lookup = LocalDNSLookup(
            question, only: probe.server, until: probe.began + LocalDNSLookup.loneTimeout, environment)
        probe.lookups.append(lookup)
        lookup.onEnd = { [self, unowned lookup] in ended(lookup, in: probe) }
        lookup.start()
    }

    private func ended(_ lookup: LocalDNSLookup, in probe: Probe) {
        guard !probe.isOver, states[probe.server] === probe.health else { return }
        // An answer counts as soon as it comes.
        if lookup.isHeard { answered(probe.server) }
        let ended = probe.lookups.filter { $0.outcome != nil }
        guard probe.lookups[0].isHeard || ended.count > probe.others.count else { return }
        probe.isOver = true
        probe.health.address.backoff.probeEnded(probe.number)
        probe.timer?.cancel()
        for other in probe.lookups { other.cancel() }
        judge(probe, ended)
    }

    /// The zone alone decides on EDNS and UDP; the lookups of other questions can only show that the server responds.
    ///
    /// - Parameter ended: the lookups that had ended by themselves.
    private func judge(_ probe: Probe, _ ended: [LocalDNSLookup]) {
        let (server, health, ofZone) = (probe.server, probe.health, probe.lookups[0])
        health.learn(edns: ofZone.turns.takesEDNS, over: ofZone.turns.answeredOver, at: now)
        if ofZone.turns.answeredOver == .tcp { onTCPAlone(server) }
        let silent = ended.filter { !$0.isHeard }
        let hasResponded = silent.count < ended.count
        if hasResponded { for lookup in silent { health.questions.remove(lookup.question) } }
        if hasResponded || health.address.hasAnswered(since: probe.began) {
            return health.address.probeAnswered(at: now)
        }
        guard let failure = ofZone.outcomeFailure,
            !silent.contains(where: { $0.outcomeFailure?.isOurs ?? false })
        else { return }
        let wasSilent = health.isSilent
        health.address.backoff.failed(at: now)
        guard !wasSilent else { return }
        environment.report(
            .serverSilent(upstream: environment.name, server: server.description, reason: failure.description))
    }
}

/// The state of one server: whether it is silent, and whether it supports EDNS and UDP.
@Loop
final class LocalDNSHealth {
    /// How long a server that does not support EDNS is queried without it before a probe tries EDNS again, and one that
    /// responds over TCP alone over TCP before a probe tries UDP again.
    nonisolated static let plainTime = Duration.seconds(600)

    /// Whether it answers.
    let address = AddressHealth()
    /// How it is queried instead of with EDNS over UDP, and when a probe tries these again.
    private var makeshift: (way: LocalDNSWay, until: Instant)?
    /// What it is probed with beside the zone.
    var questions = ProbeQuestions()

    init() { address.backoff = Backoff(.seconds(1)...(.seconds(5))) }

    /// Whether its last probe failed, and it has answered nothing since.
    var isSilent: Bool { !address.isUsable }

    /// How it is queried.
    var way: LocalDNSWay { makeshift?.way ?? LocalDNSWay() }

    /// Whether a probe is due: of a silent server, or with EDNS or over UDP of one that did not support it.
    func isDue(at now: Instant) -> Bool {
        if isSilent { return address.backoff.isDue(at: now, isUrgent: false) }
        return !address.backoff.isProbing && makeshift.map { now >= $0.until } ?? false
    }

    /// Called when a probe has ended.
    ///
    /// - Parameters:
    ///   - edns: whether it has shown that the server supports EDNS; nil: neither.
    ///   - transport: over which it has shown that the server responds; nil: none.
    func learn(edns: Bool?, over transport: Transport?, at now: Instant) {
        guard edns != nil || transport != nil else {
            makeshift?.until = now + AddressHealth.trust
            return
        }
        let way = LocalDNSWay(transport: transport ?? self.way.transport, edns: edns ?? self.way.edns)
        makeshift = way == LocalDNSWay() ? nil : (way, now + Self.plainTime)
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

extension LocalDNSLookup {
    /// The time-out of a query of the daemon's own.
    static let loneTimeout = Duration.seconds(1)

    /// A query of the daemon's own to one server: no other server and no earlier failure has an influence on it. It has the DO
    /// bit, so two datagrams have EDNS, and the third one, which is sent over TCP as well, has not.
    ///
    /// - Parameter deadline: by default after `loneTimeout`.
    convenience init(
        _ asked: Question, only server: LocalDNSServer, until deadline: Instant? = nil,
        _ environment: LocalDNSEnvironment
    ) {
        let question = UpstreamQuestion(
            name: asked.name, types: [asked.type], dnssecOK: true,
            deadline: deadline ?? environment.clock.now + Self.loneTimeout)
        self.init(asked.type, of: question, environment, for: nil) { [.init(server)] }
    }

    /// Why it has ended without an answer.
    var outcomeFailure: UpstreamFailure? { if case .failure(let failure)? = outcome { failure } else { nil } }

    /// Whether a server has responded, be it with an error.
    var isHeard: Bool {
        switch outcome {
        case .answer, .failure(.responseCode), .failure(.rejected): true
        default: false
        }
    }
}
