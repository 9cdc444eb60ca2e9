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
        let deadline = began + LoneServer.timeout
        // The others are asked, all at once, where the zone has no answer by then.
        let secondStep = began + LoneServer.timeout / 2
        Loop.spawn { [self] in
            await withTaskGroup(of: (Question, LocalDNSLookup?).self) { group in
                for question in [zone] + others {
                    group.addTask { [self] in
                        let isDue = question == zone ? true : await environment.clock.sleep(until: secondStep)
                        guard isDue else { return (question, nil) }
                        let lookup = await LoneServer(server, environment).ask(question, until: deadline)
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

/// A query of the daemon's own to one server: no other server and no earlier failure has an influence on it.
@Loop
final class LoneServer: LookupServers {
    /// The time-out of a query.
    static let timeout = Duration.seconds(1)

    let environment: LocalDNSEnvironment
    private let server: LocalDNSServer

    init(_ server: LocalDNSServer, _ environment: LocalDNSEnvironment) {
        self.server = server
        self.environment = environment
    }

    /// Queries the server, with the DO bit: so two datagrams have EDNS, and the third one has not.
    ///
    /// - Parameter deadline: by default after `timeout`.
    /// - Returns: the lookup, which has ended.
    func ask(_ asked: Question, until deadline: Instant? = nil) async -> LocalDNSLookup {
        let deadline = deadline ?? environment.clock.now + Self.timeout
        let question = UpstreamQuestion(name: asked.name, types: [asked.type], dnssecOK: true, deadline: deadline)
        let lookup = LocalDNSLookup(asked.type, of: question, deadline: deadline, at: self, triesTCP: true)
        lookup.start()
        await lookup.ended()
        return lookup
    }

    func ways() -> [LocalDNSLookup.Way] {
        [.init(server: server, group: 0, transport: server.usesTCP ? .tcp : .udp, edns: true)]
    }

    func isAway(_ server: LocalDNSServer) -> Bool { false }
    func answered(_ server: LocalDNSServer, _ question: Question, for holder: ClientNetwork) {}
    func doubted(_ server: LocalDNSServer, since began: Instant) {}
}
