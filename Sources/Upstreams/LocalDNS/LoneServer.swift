import DNSResolver
import DNSWire
import Scheduling

/// A query of the daemon's own to one server: no other server and no earlier failure has an influence on it.
@Loop
final class LoneServer: LookupServers {
    /// What one query has shown.
    struct Finding: Sendable {
        let result: UpstreamResult
        /// Whether it was answered with EDNS; nil when that cannot be said.
        let takesEDNS: Bool?
        /// The transport over which it was answered; nil when that says nothing about the other one.
        let transport: AresTransport?

        /// Whether the server has responded, be it with an error.
        var isHeard: Bool {
            switch result {
            case .answer, .failure(.responseCode), .failure(.rejected): true
            default: false
            }
        }

        /// Whether it was not asked, for want of a place here.
        var isOurs: Bool {
            if case .failure(let failure) = result { failure.isOurs } else { false }
        }
    }

    /// The time-out of a query.
    static let timeout = Duration.seconds(1)

    let environment: LocalDNSEnvironment
    private let server: LocalDNSServer
    private var takesEDNS: Bool?
    private var answeredOver: AresTransport?

    init(_ server: LocalDNSServer, _ environment: LocalDNSEnvironment) {
        self.server = server
        self.environment = environment
    }

    /// Queries the server, with the DO bit: so two datagrams have EDNS, and the third one has not.
    ///
    /// - Parameter deadline: by default after `timeout`.
    func ask(_ asked: Question, until deadline: Instant? = nil) async -> Finding {
        let deadline = deadline ?? environment.clock.now + Self.timeout
        let question = UpstreamQuestion(name: asked.name, types: [asked.type], dnssecOK: true, deadline: deadline)
        let lookup = LocalDNSLookup(asked.type, of: question, deadline: deadline, at: self)
        lookup.start()
        let result = await lookup.result()
        return Finding(result: result, takesEDNS: takesEDNS, transport: answeredOver)
    }

    var servers: [LocalDNSServer] { [server] }
    func serversInOrder() -> [LocalDNSServer] { [server] }
    func group(of server: LocalDNSServer) -> Int? { 0 }
    func isAway(_ server: LocalDNSServer) -> Bool { false }
    var noServer: UpstreamFailure { .noServer("no server") }
    func offersEDNS(to server: LocalDNSServer) -> Bool { true }
    func answered(_ server: LocalDNSServer, _ question: Question, for holder: ClientNetwork) {}
    func failed(_ server: LocalDNSServer, began: Instant) {}
    func answered(_ server: LocalDNSServer, withEDNS: Bool) { takesEDNS = withEDNS }
    func transport(to server: LocalDNSServer) -> AresTransport { server.usesTCP ? .tcp : .udp }
    var triesTCP: Bool { true }
    func answered(_ server: LocalDNSServer, over transport: AresTransport) { answeredOver = transport }
}
