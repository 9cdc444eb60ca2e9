import DNSResolver
import DNSWire
import Platform

/// What is known of one server of a LocalDNS, and the probes that decide it.
///
/// A probe asks for the name servers of the zone for which the servers are used, and where that has no answer by half of its
/// time, for a few names that this server has answered: silence on all of them puts the server in backoff. The zone
/// alone decides whether it is queried without EDNS, or over TCP. Clients' questions, and what becomes of them, decide
/// only when a probe begins, and can end a backoff. A client can ask for names whose name servers are silent, or refuse
/// EDNS, and would else take the server from everyone.
///
/// A query for an unpredictable name shows whether the server is in a forwarding loop with us: when it arrives at our own
/// listener, there is a loop, and the server is not queried until another such name has been answered without arriving. That
/// costs one query when the servers or the network change, and for a looping server one per minute, if there are queries.
@Loop
final class LocalDNSProbes {
    /// The least time between two queries that look for a loop which is known.
    private static let loopInterval = Duration.seconds(60)

    private(set) var health = LocalDNSHealth()
    /// Whether it is in a forwarding loop with us.
    private(set) var isLooping = false
    private let server: LocalDNSServer
    /// The zone whose NS records are queried.
    private let zone: Question
    private let environment: LocalDNSEnvironment
    private let onTCPAlone: @Loop () -> Void
    /// The probe under way.
    private var probe: Probe?
    /// The last name that looks for a loop, where it would arrive, when it was sent, and whether it has arrived.
    private var loop: (name: Name, listener: LoopProbes, sent: Instant, hasArrived: Bool)?
    private var now: Instant { environment.clock.now }

    /// - Parameter onTCPAlone: called when a probe was answered over TCP and not over UDP.
    init(
        of server: LocalDNSServer, zone: Name, _ environment: LocalDNSEnvironment,
        onTCPAlone: @escaping @Loop () -> Void
    ) {
        self.server = server
        self.zone = Question(name: zone, type: .ns)
        self.environment = environment
        self.onTCPAlone = onTCPAlone
    }

    isolated deinit { closeLoop() }

    /// Discards all but a loop, and ends the probe under way: the network or the servers have changed.
    func forget() {
        endProbe()
        health = LocalDNSHealth()
    }

    /// Begins a probe that is due, while a client's question is asked; a silent server is asked it as well.
    func beginDue(while asked: UpstreamQuestion) {
        guard health.isDue(at: now) else { return }
        let more = health.isSilent ? asked.types.prefix(1) : []
        begin(with: more.map { Question(name: asked.name, type: $0) })
    }

    /// Called when something in a client's lookup that began at `began` is a reason to probe.
    func doubted(since began: Instant) {
        if health.address.isSuspect(since: began, at: now) { begin() }
    }

    /// Called when the server has answered a question of a client, which then serves its probes.
    func answered(_ question: Question, for holder: ClientNetwork) {
        health.questions.add(question, for: holder)
        answered()
    }

    private func answered() {
        let wasSilent = health.isSilent
        health.address.answered(at: now)
        guard wasSilent else { return }
        environment.report(.serverRecovered(upstream: environment.name, server: server.description))
    }

    // MARK: A probe

    /// The lookups of the zone and of other questions.
    private struct Probe {
        let began: Instant
        let others: Set<Question>
        /// The first is the zone's.
        var lookups: [LocalDNSLookup] = []
        var timer: LoopTimer?
    }

    private func begin(with more: [Question] = []) {
        endProbe()
        let others = Set(health.questions.all + more).subtracting([zone])
        probe = Probe(began: now, others: others)
        health.address.backoff.probeBegan(0)
        if !others.isEmpty {
            probe?.timer = environment.clock.schedule(after: LocalDNSLookup.loneTimeout / 2) { [self] in
                for question in others { ask(question) }
            }
        }
        ask(zone)
    }

    private func ask(_ question: Question) {
        guard let probe else { return }
        let lookup = LocalDNSLookup(
            question, only: server, until: probe.began + LocalDNSLookup.loneTimeout, environment)
        self.probe?.lookups.append(lookup)
        lookup.onEnd = { [self, unowned lookup] in ended(lookup) }
        lookup.start()
    }

    private func ended(_ lookup: LocalDNSLookup) {
        guard let probe, probe.lookups.contains(where: { $0 === lookup }) else { return }
        // An answer counts as soon as it comes.
        if lookup.isHeard { answered() }
        let ended = probe.lookups.filter { $0.outcome != nil }
        guard probe.lookups[0].isHeard || ended.count > probe.others.count else { return }
        endProbe()
        judge(probe, ended)
    }

    private func endProbe() {
        guard let ended = probe.take() else { return }
        ended.timer?.cancel()
        for lookup in ended.lookups { lookup.cancel() }
        health.address.backoff.probeEnded(0)
    }

    /// The zone alone decides on EDNS and UDP; the others of those that have ended by themselves show only that it
    /// responds.
    private func judge(_ probe: Probe, _ ended: [LocalDNSLookup]) {
        let ofZone = probe.lookups[0]
        health.learn(ofZone.shown, at: now)
        if ofZone.shown?.transport == .tcp { onTCPAlone() }
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

    // MARK: Forwarding loops

    /// Looks for a loop by a name that would come back to the listener. Returns at once.
    func findLoop(by listener: LoopProbes) {
        closeLoop()
        // Servers of another zone may rightly send everything else to us.
        let parent = zone.name.isRoot ? LoopProbes.zone : zone.name
        guard let name = listener.open(below: parent, onSeen: { [weak self] in self?.cameBack() }) else { return }
        loop = (name, listener, now, false)
        let lookup = LocalDNSLookup(Question(name: name, type: .a), only: server, environment)
        lookup.onEnd = { [weak self, unowned lookup] in
            if lookup.isHeard { self?.loopAnswered(name) }
        }
        lookup.start()
    }

    /// Looks again for a loop that is known.
    func findLoopIfDue() {
        guard isLooping, let loop, now - loop.sent >= Self.loopInterval else { return }
        findLoop(by: loop.listener)
    }

    private func closeLoop() {
        if let loop { loop.listener.close(loop.name) }
        loop = nil
    }

    private func cameBack() {
        // Late arrivals count as well: the name was sent to this server only.
        loop?.hasArrived = true
        guard !isLooping else { return }
        isLooping = true
        environment.report(.serverLoops(upstream: environment.name, server: server.description))
    }

    /// The server has responded to the query for a name; without a response a looping one stays so.
    private func loopAnswered(_ name: Name) {
        guard isLooping, let loop, loop.name == name, !loop.hasArrived else { return }
        isLooping = false
        environment.report(.serverLoopEnded(upstream: environment.name, server: server.description))
    }
}

extension LocalDNSLookup {
    /// The time-out of a query of the daemon's own.
    static let loneTimeout = Duration.seconds(1)

    /// A query of the daemon's own to one server, by default for `loneTimeout`: no other server and no earlier failure has
    /// an influence on it. It has the DO bit, so two datagrams have EDNS, and the third, which is sent over TCP too, has
    /// not.
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
