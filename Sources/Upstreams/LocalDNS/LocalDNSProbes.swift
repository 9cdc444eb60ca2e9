import DNSResolver
import DNSWire
import Scheduling

/// The health of the servers of one LocalDNS, and the probes that decide it.
///
/// A probe asks for the name servers of the zone for which the servers are used. It alone puts a server in backoff, or
/// has it queried without EDNS: clients' questions, and what becomes of them, decide only when a probe begins. A client
/// can ask for names whose name servers are silent, or refuse EDNS, and would else take the server from everyone.
@Loop
final class LocalDNSProbes {
    private let name: String
    private let environment: LocalDNSEnvironment
    private let report: @Loop (ResolverEvent) -> Void
    /// The zone whose NS records are queried.
    var zone = Name.root
    private var states: [LocalDNSServer: LocalDNSHealth] = [:]
    private var lastProbe = 0
    /// Probes up to this number concern another network.
    private var lastForgotten = 0

    nonisolated init(
        name: String, _ environment: LocalDNSEnvironment, report: @escaping @Loop (ResolverEvent) -> Void
    ) {
        self.name = name
        self.environment = environment
        self.report = report
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

    /// Begins the probes that are due, while clients' questions are asked.
    func beginDue(at servers: [LocalDNSServer]) {
        for server in servers where health(of: server).isDue(at: environment.clock.now) { begin(server) }
    }

    /// Called when a client's question that began at `began` has no answer of `server`.
    func suspect(_ server: LocalDNSServer, since began: Instant) {
        if health(of: server).isSuspect(since: began, at: environment.clock.now) { begin(server) }
    }

    /// Called when a client's question was answered by `server` only without EDNS.
    func suspectEDNS(of server: LocalDNSServer) {
        if health(of: server).isSuspectedOfRefusingEDNS(at: environment.clock.now) { begin(server) }
    }

    private func begin(_ server: LocalDNSServer) {
        lastProbe += 1
        let (number, began) = (lastProbe, environment.clock.now)
        states[server, default: LocalDNSHealth()].probeBegan(number, at: began)
        Loop.spawn { [weak self, zone, environment] in
            let finding = await LoneServer(server, environment).ask(zone, .ns)
            self?.judge(finding, of: server, by: number, began)
        }
    }

    // MARK: Result

    private func judge(_ finding: LoneServer.Finding, of server: LocalDNSServer, by number: Int, _ began: Instant) {
        guard number > lastForgotten else { return }
        let now = environment.clock.now
        states[server, default: LocalDNSHealth()].probeEnded(number)
        if let takesEDNS = finding.takesEDNS {
            states[server, default: LocalDNSHealth()].showed(edns: takesEDNS, at: now)
        }
        if finding.isHeard { return answered(server) }
        guard case .failure(let failure) = finding.result, !failure.isOurs else { return }
        let health = health(of: server)
        guard !health.hasAnswered(since: began) else { return }
        states[server, default: LocalDNSHealth()].failed(at: now)
        guard !health.isSilent else { return }
        report(.serverSilent(upstream: name, server: server.description, reason: failure.description))
    }

    /// Called when `server` has answered a question, of a client or of a probe.
    func answered(_ server: LocalDNSServer) {
        let wasSilent = isSilent(server)
        states[server, default: LocalDNSHealth()].answered(at: environment.clock.now)
        if wasSilent { report(.serverRecovered(upstream: name, server: server.description)) }
    }
}
