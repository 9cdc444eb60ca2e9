import DNSResolver
import DNSWire
import Scheduling

/// The health of the servers of one LocalDNS, and the probes that decide it.
///
/// A probe asks for the name servers of the zone for which the servers are used, and where that has no answer, for a few
/// names that this server has answered (`ProbeQuestions`): silence on all of them puts the server in backoff. The zone
/// alone decides whether it is queried without EDNS. Clients' questions, and what becomes of them, decide only when a
/// probe begins, and can end a backoff. A client can ask for names whose name servers are silent, or refuse EDNS, and would else take the server
/// from everyone.
@Loop
final class LocalDNSProbes {
    /// How long a probe waits for the answer about the zone before it also asks for other names.
    private static let headStart = LoneServer.timeout / 2

    private let name: String
    /// The zone whose NS records are queried.
    private let zone: Name
    private let environment: LocalDNSEnvironment
    private let report: @Loop (ResolverEvent) -> Void
    private let onTCPAlone: @Loop (LocalDNSServer) -> Void
    private var states: [LocalDNSServer: LocalDNSHealth] = [:]
    private var lastProbe = 0
    /// Probes up to this number concern another network.
    private var lastForgotten = 0

    /// - Parameter onTCPAlone: called when a probe was answered over TCP and not over UDP.
    nonisolated init(
        name: String, zone: Name, _ environment: LocalDNSEnvironment,
        report: @escaping @Loop (ResolverEvent) -> Void, onTCPAlone: @escaping @Loop (LocalDNSServer) -> Void
    ) {
        self.name = name
        self.zone = zone
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

    /// Whether the last probe of `server` failed.
    func isSilent(_ server: LocalDNSServer) -> Bool { health(of: server).isSilent }

    /// Whether a probe of `server` is under way.
    func isProbing(_ server: LocalDNSServer) -> Bool { health(of: server).backoff.isProbing }

    // MARK: Begin

    /// Begins the probes that are due, while a client's question is asked; a silent server is asked it as well.
    func beginDue(at servers: [LocalDNSServer], while asked: UpstreamQuestion) {
        for server in servers where health(of: server).isDue(at: environment.clock.now) {
            begin(
                server, with: isSilent(server) ? asked.types.prefix(1).map { Question(name: asked.name, type: $0) } : []
            )
        }
    }

    /// Called when a client's question that began at `began` has no answer of `server`.
    func suspect(_ server: LocalDNSServer, since began: Instant) {
        if health(of: server).isSuspect(since: began, at: environment.clock.now) { begin(server) }
    }

    /// Called when a client's question was answered by `server` only without EDNS.
    func suspectEDNS(of server: LocalDNSServer) {
        if health(of: server).isSuspectedOfRefusingEDNS(at: environment.clock.now) { begin(server) }
    }

    /// Called when a client's question was answered by `server` only over TCP.
    func suspectUDP(of server: LocalDNSServer) {
        if health(of: server).isSuspectedOfTCPAlone(at: environment.clock.now) { begin(server) }
    }

    private func begin(_ server: LocalDNSServer, with more: [Question] = []) {
        lastProbe += 1
        let (number, began) = (lastProbe, environment.clock.now)
        let ofZone = Question(name: zone, type: .ns)
        let others = Set(health(of: server).questions.all + more).subtracting([ofZone])
        states[server, default: LocalDNSHealth()].probeBegan(number, at: began)
        Loop.spawn {
            async let findings = self.findings(for: others, of: server, by: number, began)
            let finding = await self.finding(for: ofZone, of: server, by: number, until: began + LoneServer.timeout)
            // What is left of the others is cancelled then.
            self.judge(finding, finding.isHeard ? [:] : await findings, of: server, by: number, began)
        }
    }

    /// Asks the further questions of a probe, all at once, unless the zone's is answered before `headStart` is over.
    private func findings(
        for questions: Set<Question>, of server: LocalDNSServer, by number: Int, _ began: Instant
    ) async -> [Question: LoneServer.Finding] {
        guard !questions.isEmpty, await environment.clock.sleep(until: began + Self.headStart) else { return [:] }
        return await withTaskGroup(of: (Question, LoneServer.Finding).self) { group in
            let deadline = began + LoneServer.timeout
            for question in questions {
                group.addTask {
                    (question, await self.finding(for: question, of: server, by: number, until: deadline))
                }
            }
            var findings: [Question: LoneServer.Finding] = [:]
            for await (question, finding) in group { findings[question] = finding }
            return findings
        }
    }

    /// Asks one question of a probe. An answer counts as soon as it comes.
    private func finding(
        for question: Question, of server: LocalDNSServer, by number: Int, until deadline: Instant
    ) async -> LoneServer.Finding {
        let finding = await LoneServer(server, environment).ask(question, until: deadline)
        if finding.isHeard, number > lastForgotten { answered(server) }
        return finding
    }

    // MARK: Result

    /// - Parameters:
    ///   - finding: for the zone; it alone decides on EDNS and UDP.
    ///   - others: for questions of clients; each can only show that the server responds.
    private func judge(
        _ finding: LoneServer.Finding, _ others: [Question: LoneServer.Finding], of server: LocalDNSServer,
        by number: Int, _ began: Instant
    ) {
        guard number > lastForgotten else { return }
        let now = environment.clock.now
        states[server, default: LocalDNSHealth()].probeEnded(number)
        if let takesEDNS = finding.takesEDNS {
            states[server, default: LocalDNSHealth()].showed(edns: takesEDNS, at: now)
        }
        if let transport = finding.transport {
            states[server, default: LocalDNSHealth()].showed(transport, at: now)
            if transport == .tcp { onTCPAlone(server) }
        }
        guard !finding.isHeard, !others.values.contains(where: \.isHeard) else {
            let silent = others.filter { !$0.value.isHeard }.keys
            for question in silent { states[server, default: LocalDNSHealth()].questions.remove(question) }
            return
        }
        guard case .failure(let failure) = finding.result, !failure.isOurs,
            !others.values.contains(where: \.isOurs), !health(of: server).hasAnswered(since: began)
        else { return }
        let wasSilent = isSilent(server)
        states[server, default: LocalDNSHealth()].failed(at: now)
        guard !wasSilent else { return }
        report(.serverSilent(upstream: name, server: server.description, reason: failure.description))
    }

    /// Called when `server` has answered a question of a client, which then serves its probes.
    func answered(_ server: LocalDNSServer, _ question: Question, for holder: ClientNetwork) {
        states[server, default: LocalDNSHealth()].questions.add(question, for: holder)
        answered(server)
    }

    private func answered(_ server: LocalDNSServer) {
        let wasSilent = isSilent(server)
        states[server, default: LocalDNSHealth()].answered(at: environment.clock.now)
        if wasSilent { report(.serverRecovered(upstream: name, server: server.description)) }
    }
}
