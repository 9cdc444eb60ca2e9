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
    /// A server has one at a time.
    private var underWay: [LocalDNSServer: Probe] = [:]
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

    /// Discards all state, and ends the probes under way: the network or the servers have changed.
    func forget() {
        for probe in underWay.values { probe.end() }
        (states, underWay) = ([:], [:])
    }

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
    @Loop
    private final class Probe {
        let number: Int
        let began: Instant
        let others: Set<Question>
        /// The first is the zone's.
        var lookups: [LocalDNSLookup] = []
        var timer: LoopTimer?
        private(set) var isOver = false

        init(_ number: Int, began: Instant, others: Set<Question>) {
            (self.number, self.began, self.others) = (number, began, others)
        }

        func end() {
            isOver = true
            timer?.cancel()
            for lookup in lookups { lookup.cancel() }
        }
    }

    private func begin(_ server: LocalDNSServer, with more: [Question] = []) {
        lastProbe += 1
        let health = health(of: server)
        let probe = Probe(lastProbe, began: now, others: Set(health.questions.all + more).subtracting([zone]))
        underWay[server] = probe
        health.address.backoff.probeBegan(probe.number)
        if !probe.others.isEmpty {
            probe.timer = environment.clock.schedule(at: now + LocalDNSLookup.loneTimeout / 2) { [self] in
                for question in probe.others { ask(question, of: server, in: probe) }
            }
        }
        ask(zone, of: server, in: probe)
    }

    private func ask(_ question: Question, of server: LocalDNSServer, in probe: Probe) {
        let lookup = LocalDNSLookup(
            question, only: server, until: probe.began + LocalDNSLookup.loneTimeout, environment)
        probe.lookups.append(lookup)
        lookup.onEnd = { [self, unowned lookup] in ended(lookup, of: server, in: probe) }
        lookup.start()
    }

    private func ended(_ lookup: LocalDNSLookup, of server: LocalDNSServer, in probe: Probe) {
        guard !probe.isOver else { return }
        // An answer counts as soon as it comes.
        if lookup.isHeard { answered(server) }
        let ended = probe.lookups.filter { $0.outcome != nil }
        guard probe.lookups[0].isHeard || ended.count > probe.others.count else { return }
        underWay[server] = nil
        health(of: server).address.backoff.probeEnded(probe.number)
        probe.end()
        judge(probe, of: server, ended)
    }

    /// The zone alone decides on EDNS and UDP; the lookups of other questions can only show that the server responds.
    ///
    /// - Parameter ended: the lookups that had ended by themselves.
    private func judge(_ probe: Probe, of server: LocalDNSServer, _ ended: [LocalDNSLookup]) {
        let (health, ofZone) = (health(of: server), probe.lookups[0])
        health.learn(edns: ofZone.takesEDNS, over: ofZone.answeredOver, at: now)
        if ofZone.answeredOver == .tcp { onTCPAlone(server) }
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
        self.init(asked.type, of: question, environment) { [.init(server)] }
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
