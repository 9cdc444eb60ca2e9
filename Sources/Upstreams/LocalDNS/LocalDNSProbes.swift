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

    /// How long a server that does not support EDNS is queried without it before a probe tries EDNS again, and one that
    /// responds over TCP alone over TCP before a probe tries UDP again.
    nonisolated static let plainTime = Duration.seconds(600)

    private(set) var health = AddressHealth()
    /// How it is queried instead of with EDNS over UDP, and when a probe tries these again.
    private var makeshift: (way: LocalDNSWay, until: Instant)?
    /// What it is probed with beside the zone.
    private var questions = ProbeQuestions()
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
        forget()
    }

    isolated deinit { closeLoop() }

    /// Discards all but a loop, and ends the probe under way: the network or the servers have changed.
    func forget() {
        endProbe()
        health = AddressHealth()
        health.backoff = Backoff(.seconds(1)...(.seconds(5)))
        (makeshift, questions) = (nil, ProbeQuestions())
    }

    /// Whether its last probe failed, and it has answered nothing since.
    private var isSilent: Bool { !health.isUsable }

    var way: LocalDNSWay { makeshift?.way ?? LocalDNSWay() }

    /// Begins a probe that is due, while a client's question is asked: of a silent server, which is asked it as well, or
    /// with EDNS or over UDP of one that did not support it.
    func beginDue(while asked: UpstreamQuestion) {
        if isSilent {
            guard health.backoff.isDue(at: now, isUrgent: false) else { return }
            begin(with: asked.types.prefix(1).map { Question(name: asked.name, type: $0) })
        } else if let makeshift, now >= makeshift.until, !health.backoff.isProbing {
            begin()
        }
    }

    /// Called when something in a client's lookup that began at `began` is a reason to probe.
    func doubted(since began: Instant) {
        if health.isSuspect(since: began, at: now) { begin() }
    }

    /// Called when the server has answered a question of a client, which then serves its probes.
    func answered(_ question: Question, for holder: ClientNetwork) {
        questions.add(question, for: holder)
        answered()
    }

    private func answered() {
        let wasSilent = isSilent
        health.answered(at: now)
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
        let others = Set(questions.all + more).subtracting([zone])
        probe = Probe(began: now, others: others)
        health.backoff.probeBegan(0)
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
        health.backoff.probeEnded(0)
    }

    /// The zone alone decides on EDNS and UDP; the others of those that have ended by themselves show only that it
    /// responds.
    private func judge(_ probe: Probe, _ ended: [LocalDNSLookup]) {
        let ofZone = probe.lookups[0]
        if let shown = ofZone.shown {
            makeshift = shown == LocalDNSWay() ? nil : (shown, now + Self.plainTime)
        } else {
            makeshift?.until = now + AddressHealth.trust
        }
        if ofZone.shown?.transport == .tcp { onTCPAlone() }
        let silent = ended.filter { !$0.isHeard }
        let hasResponded = silent.count < ended.count
        if hasResponded { for lookup in silent { questions.remove(lookup.question) } }
        if hasResponded || health.hasAnswered(since: probe.began) {
            return health.probeAnswered(at: now)
        }
        guard let failure = ofZone.outcomeFailure,
            !silent.contains(where: { $0.outcomeFailure?.isOurs ?? false })
        else { return }
        let wasSilent = isSilent
        health.backoff.failed(at: now)
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
        self.init(question, environment) { [.init(server)] }
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
