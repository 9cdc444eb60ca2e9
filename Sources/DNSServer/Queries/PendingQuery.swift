import DNSCache
public import DNSResolver
public import DNSWire
import Platform

/// One query that waits for the resolver.
@Loop
final class PendingQuery: Sendable {
    /// The longest query that is retained whole. Of others, which may have 64 KiB of padding, header and question are.
    private nonisolated static let longestRetained = 512

    /// The query, or its header and question.
    let message: [UInt8]
    private let query: Query
    private let question: Question
    let arrived: Instant
    let client: SocketAddress
    let path: ReplyPath
    /// Called with the resolver's answer, or what is sent in place of it.
    private let done: @Loop (PendingQuery, Response) -> Void
    /// In whose share it waits; nil until that is decided.
    var network: ClientNetwork?
    /// Identifies a retransmitted datagram; nil over TCP, where nothing is retransmitted by the client.
    var identity: DatagramIdentity?
    /// Its place among the waiting queries; nil when it has none.
    var ticket: FairShare.Ticket?
    /// With which it counts among those over UDP that began a short time ago.
    var recent: Int?
    private let wantsPadding: Bool
    /// Of the response, if it has one.
    var cookie: Cookie?
    /// Whether its wait has ended.
    private var isFinished = false
    /// Ends its wait when no answer comes in time.
    var guardTimer: LoopTimer?

    init(
        message: [UInt8], query: Query, question: Question, client: SocketAddress, path: ReplyPath, arrived: Instant,
        done: @escaping @Loop (PendingQuery, Response) -> Void
    ) {
        self.message =
            message.count <= Self.longestRetained
            ? message : Array(message.prefix(Header.length + query.questionLength))
        self.query = query
        self.question = question
        wantsPadding = path.transport.isEncrypted && query.wantsPadding(in: message.span)
        self.arrived = arrived
        self.client = client
        self.path = path
        self.done = done
    }

    func finish(_ response: Response) { done(self, response) }

    /// Ends its wait.
    ///
    /// - Returns: false when it had ended before.
    func end() -> Bool {
        guard !isFinished else { return false }
        isFinished = true
        guardTimer.take()?.cancel()
        return true
    }

    /// Composes the response and sends it, over UDP by way of `outbox`. Returns it.
    func reply(_ response: Response, _ limits: ServerLimits, _ outbox: ReplyOutbox) -> ArraySlice<UInt8> {
        switch path {
        case .datagram(let path):
            let (limit, cookie) = (query.udpLimit, cookie)
            // `@Sendable`, and so not isolated to the loop: else the runtime would check at each call that it runs on
            // the loop.
            return outbox.add(by: path, limit: limit) { @Sendable output in
                compose(response, limit: limit, keepalive: nil, cookie: cookie, into: &output)
            }
        case .connection(let transport, _, let send):
            let cookie = cookie
            let keepalive = query.hasKeepalive && transport.hasKeepalive ? limits.keepalive : nil
            let reply = ReplyBuffer.compose(isPadded: wantsPadding) { @Sendable output in
                compose(
                    response, limit: MessageBuilder.maximumLength, keepalive: keepalive, cookie: cookie, into: &output)
            }
            send(reply)
            return reply[...]
        }
    }

    /// A query that asks the same again; without its options where it was not retained whole.
    var repeated: [UInt8] {
        var message = message
        // Its records are gone, and nothing but the question is counted.
        if message.count == Header.length + query.questionLength { for index in 6..<12 { message[index] = 0 } }
        return message
    }

    /// The entry of this query in the query log.
    ///
    /// - Parameter now: read once in a turn of the loop, and so perhaps before the query arrived.
    func answered(with response: Response, at now: Instant) -> AnsweredQuery {
        AnsweredQuery(
            client: client.ip, network: network, transport: path.transport, question: question,
            responseCode: response.responseCode,
            kind: response.kind, source: response.source, took: max(.zero, now - arrived))
    }

    private nonisolated func compose(
        _ response: Response, limit: Int, keepalive: UInt16?, cookie: Cookie?, into output: inout OutputSpan<UInt8>
    ) {
        let options = Reply.Options(error: response.extendedError, keepalive: keepalive, cookie: cookie)
        let message = message
        let bytes = message.span
        switch response.content {
        case .answer(let answer, let age):
            Reply.write(
                answer, to: query, message: bytes, aging: .fresh(age: age), options: options, limit: limit,
                into: &output)
        case .stale(let answer):
            Reply.write(
                answer, to: query, message: bytes, aging: .stale, options: options, limit: limit, into: &output)
        case .failure(let code):
            Reply.write(code, to: query, message: bytes, options: options, limit: limit, into: &output)
        }
    }
}

/// The resolver as the server sees it; asked when the cache has no fresh answer.
@Loop
public protocol QueryResponder: AnyObject, Sendable {
    /// Calls `reply` once with the answer to one client's question, within 2.3 s of `arrived`, possibly before this
    /// returns.
    ///
    /// Called once for each waiting client. A client may have received SERVFAIL meanwhile.
    func respond(to question: ClientQuestion, reply: @escaping @Loop (Response) -> Void)

    /// Whether a miss of a client network is near the limit of its misses.
    func isNearBrake(_ question: Question, of network: ClientNetwork) -> Bool

    /// Whether requests for earlier questions already wait for room at a source.
    var isBacklogged: Bool { get }
}

/// Tells the programs of this machine apart, which all ask from one address: by the owners of their sockets.
///
/// The kernel is asked only while a choice among them may come: when many of their queries wait, or their misses near the
/// brake; by a UDP thread while many wait for the loop. A query that is answered from the cache never comes here.
@Loop
final class LocalClients {
    /// How many of their queries wait.
    private(set) var waiting = 0
    private let crowd: Int
    /// Until when those of the last crowd wait at the longest, and a choice among them may come.
    private var crowdEnds: Instant?
    private let longestWait: Duration
    private let programs = LocalPrograms()

    /// - Parameters:
    ///   - crowd: from how many waiting queries on the owners count.
    ///   - longestWait: how long a query waits at most.
    init(crowd: Int, longestWait: Duration) { (self.crowd, self.longestWait) = (crowd, longestWait) }

    /// In whose share a query is.
    ///
    /// - Parameters:
    ///   - now: when it began to wait.
    ///   - isBraked: whether misses of its address near the brake.
    func network(of client: SocketAddress, by path: ReplyPath, at now: Instant, isBraked: (ClientNetwork) -> Bool)
        -> ClientNetwork
    {
        let usual = ClientNetwork(client.ip)
        // Over TCP what its own connections hold is bounded already.
        guard client.ip.isLoopback, case .datagram(let datagram) = path, isCrowded(at: now) || isBraked(usual) else {
            return usual
        }
        return programs.program(of: client, by: datagram, at: now) ?? usual
    }

    private func isCrowded(at now: Instant) -> Bool {
        if waiting >= crowd { crowdEnds = now + longestWait }
        guard let end = crowdEnds, now < end else {
            crowdEnds = nil
            return false
        }
        return true
    }

    /// Counts a query that begins to wait, or that waits no more.
    func count(_ change: Int, of client: SocketAddress) { if client.ip.isLoopback { waiting += change } }
}

/// Whose the sockets of this machine are, as the kernel says. For one thread.
final class LocalPrograms {
    /// Nil until it is needed, and where the process may not ask.
    private lazy var owners = try? SocketOwners()
    /// What the kernel has said since `asked`. It counts for 10 ms: a program may close its socket, and the port be another's;
    /// one that opens and closes sockets as fast as it can has had but a small part of all ports in that time.
    private var known: [SocketAddress: ClientNetwork] = [:]
    private var asked: Instant?
    private static let trust: Duration = .milliseconds(10)

    /// The program that asks, as a client network; nil for a client elsewhere, and where its socket is closed.
    func program(of client: SocketAddress, by path: DatagramPath, at now: Instant) -> ClientNetwork? {
        guard client.ip.isLoopback else { return nil }
        if asked.map({ now - $0 >= Self.trust }) ?? true { (known, asked) = ([:], now) }
        if let program = known[client] { return program }
        let program = owners?.owner(of: client, asking: path.destination(of: client.family))
        known[client] = program
        return program
    }
}
