import DNSResolver
import DNSWire
import Platform
import Scheduling

/// What the queries to servers need and share.
struct LocalDNSEnvironment: Sendable {
    let limit: LocalDNSChannelLimit
    /// Says which servers are unreachable now, and are therefore not queried.
    let paths: NetworkPaths
    let loop: EventLoop
    /// For deadlines; the loop except in tests.
    let clock: any LoopClock
}

/// The servers of a lookup: those of a LocalDNS, or a single one that is probed.
@Loop
protocol LookupServers: AnyObject, Sendable {
    var environment: LocalDNSEnvironment { get }

    /// All servers.
    var servers: [LocalDNSServer] { get }

    /// The servers in the order in which a lookup that begins now queries them.
    func serversInOrder() -> [LocalDNSServer]

    /// The index of the group of `server`; nil for a server that is not used any more.
    func group(of server: LocalDNSServer) -> Int?

    /// Whether `server` cannot be reached from here, and not just for a moment: a denial by the others is final without
    /// it.
    func isAway(_ server: LocalDNSServer) -> Bool

    /// The failure of a lookup without servers.
    var noServer: UpstreamFailure { get }

    /// Whether a query to `server` has EDNS.
    func offersEDNS(to server: LocalDNSServer) -> Bool

    /// The transport of a query to `server`.
    func transport(to server: LocalDNSServer) -> AresTransport

    /// Whether a server that is silent over UDP is queried over TCP as well.
    var triesTCP: Bool { get }

    /// Called when `server` has answered a question that counts against the share of `holder`.
    func answered(_ server: LocalDNSServer, _ question: Question, for holder: ClientNetwork)

    /// Called when `server` has not responded in its share of the time, could not be reached, or sent an invalid
    /// response, to a lookup that began at `began`.
    func failed(_ server: LocalDNSServer, began: Instant)

    /// Called when `server` has answered a query with EDNS, or only one without it: it has refused EDNS, or an earlier
    /// query with EDNS still has no response.
    func answered(_ server: LocalDNSServer, withEDNS: Bool)

    /// Called when `server` has answered over UDP, or over TCP a question to which it had not responded over UDP.
    func answered(_ server: LocalDNSServer, over transport: AresTransport)
}
