import DNSResolver
import DNSWire
import Platform
import Scheduling

/// What the queries to servers need and share.
struct LocalDNSEnvironment: Sendable {
    let limit: LocalDNSLimit
    /// Says which servers are unreachable now, and are therefore not queried.
    let paths: NetworkPaths
    let loop: EventLoop
    /// For deadlines; the loop except in tests.
    let clock: any LoopClock
}

/// The lookup of one question of one type at the servers, until one of them answers.
///
/// Servers are queried in order, the next one as soon as one fails, and also when one has not responded for its share
/// of the time (`LocalDNSLimit.patience` at most): that one may still answer. Once all were queried they are queried
/// again, since datagrams get lost; the last query to a server has no EDNS, which some drop. The response decides:
/// - NOERROR ends the lookup.
/// - NXDOMAIN ends it when every other group has denied the name, or each of its servers has refused to answer or is away
///   (`LocalDNS.isAway`); until then only the other groups are queried. If one of them fails, so does the lookup: it
///   may be the one that knows the name.
/// - FORMERR, NOTIMP or BADVERS to a query with EDNS: the server is queried without EDNS, at once.
/// - A response in another letter case is forged, or the server does not preserve it. It is not accepted, and the
///   lookup goes on listening; in parallel the server is queried over TCP, once, where a response cannot be forged
///   off the path.
/// - Datagrams with another ID or question, with QR 0 or of another opcode are not from the server, and are ignored.
/// - A response that is truncated over UDP: the same server is queried over TCP.
/// - A response that cannot be parsed: the same server is queried without EDNS, which some servers do not understand but
///   send back, and then over TCP.
/// - A server that has no socket for UDP is queried over TCP; also one that is silent there, by a probe, or once a probe
///   has shown that it responds over TCP.
/// - SERVFAIL, REFUSED and other codes, with or without the question, a response of a server that does not recurse, and
///   a failed connection: the server is not queried any more.
@Loop
final class LocalDNSLookup: Sendable {
    /// The time-out of a query of the daemon's own.
    static let loneTimeout = Duration.seconds(1)

    /// How a server is queried.
    struct Way {
        let server: LocalDNSServer
        /// Servers of one group know the same names.
        let group: Int
        let transport: Transport
        let edns: Bool

        init(_ server: LocalDNSServer, group: Int = 0, transport: Transport = .udp, edns: Bool = true) {
            (self.server, self.group, self.edns) = (server, group, edns)
            self.transport = server.usesTCP ? .tcp : transport
        }

        var overTCP: Way { Way(server, group: group, transport: .tcp, edns: edns) }
        var withoutEDNS: Way { Way(server, group: group, transport: transport, edns: false) }
    }

    /// An outstanding query.
    private struct SentQuery {
        let way: Way
        let query: LocalDNSQuery
        let exchange: LocalDNSExchange
        let place: FairShare.Ticket
    }

    let question: Question
    /// The server that gave the result's answer.
    private(set) var answeredBy: LocalDNSServer?
    /// Whether a server to which EDNS was offered has responded with it; false also when it has not responded to a query
    /// with it.
    private(set) var takesEDNS: Bool?
    /// Over what a server has answered; TCP only when it had not responded over UDP.
    private(set) var answeredOver: Transport?
    private let asked: UpstreamQuestion
    private let deadline: Instant
    private let environment: LocalDNSEnvironment
    /// Whose servers are queried; nil: `only` one is.
    private let localDNS: LocalDNS?
    private let only: LocalDNSServer?
    private var began: Instant
    /// How the servers are queried first.
    private var ways: [Way] = []
    /// The next servers to query, and how many more times.
    private var candidates: [(way: Way, sends: Int)] = []
    private var share = Duration.zero
    /// The servers queried over TCP beside a query over UDP, or in place of one that failed; and whether because they had not
    /// responded over UDP.
    private var askedBeside: [LocalDNSServer: Bool] = [:]
    private var sent: [Int: SentQuery] = [:]
    private var lastNumber = 0
    private var shareTimer: LoopTimer?
    private var deadlineTimer: LoopTimer?
    private var failure: UpstreamFailure?
    /// The last NXDOMAIN.
    private var denial: (answer: Answer, server: LocalDNSServer)?
    /// The groups that denied the name, and the servers that refused to answer.
    private var deniedBy: Set<Int> = []
    private var refusedBy: Set<LocalDNSServer> = []
    /// The result; nil until it has ended.
    private(set) var outcome: UpstreamResult?
    private var waiter: CheckedContinuation<Void, Never>?

    init(
        _ type: RecordType, of asked: UpstreamQuestion, deadline: Instant, _ environment: LocalDNSEnvironment,
        at localDNS: LocalDNS?, only server: LocalDNSServer? = nil
    ) {
        question = Question(name: asked.name.lowercased, type: type)
        self.asked = asked
        self.deadline = deadline
        self.environment = environment
        self.localDNS = localDNS
        only = server
        began = environment.clock.now
    }

    /// A query of the daemon's own to one server: no other server and no earlier failure has an influence on it. It has the DO
    /// bit, so two datagrams have EDNS, and the third one, which is sent over TCP as well, has not.
    ///
    /// - Parameter deadline: by default after `loneTimeout`.
    /// - Returns: the lookup, which has ended.
    static func ask(
        _ asked: Question, only server: LocalDNSServer, until deadline: Instant? = nil,
        _ environment: LocalDNSEnvironment
    ) async -> LocalDNSLookup {
        let deadline = deadline ?? environment.clock.now + loneTimeout
        let question = UpstreamQuestion(name: asked.name, types: [asked.type], dnssecOK: true, deadline: deadline)
        let lookup = LocalDNSLookup(asked.type, of: question, deadline: deadline, environment, at: nil, only: server)
        lookup.start()
        await lookup.ended()
        return lookup
    }

    /// Sends the first query.
    func start() {
        guard environment.clock.now < deadline else { return finish(.failure(.timeout)) }
        deadlineTimer = environment.clock.schedule(at: deadline) { [self] in settle() }
        begin()
    }

    /// Restarts the lookup, when the network or the servers have changed; the deadline stays.
    func startOver() {
        guard outcome == nil, deadlineTimer != nil else { return }
        close { _ in true }
        (failure, denial, deniedBy, refusedBy, askedBeside) = (nil, nil, [], [], [:])
        begin()
    }

    private func begin() {
        began = environment.clock.now
        do throws(UpstreamFailure) {
            ways = try localDNS?.ways() ?? only.map { [Way($0)] } ?? []
        } catch {
            return finish(.failure(error))
        }
        // The most datagrams to one server, each with its own ID, letter case and port. The last one has no EDNS.
        candidates = ways.map { ($0, asked.dnssecOK ? 3 : 2) }
        share = min(LocalDNSLimit.patience, (deadline - began) / (candidates.count + 1))
        askNext()
    }

    /// Returns once it has ended; at most one caller may wait.
    func ended() async {
        if outcome == nil { await withCheckedContinuation { waiter = $0 } }
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

    /// Ends the lookup at once.
    func cancel() { finish(.failure(.cancelled)) }

    // MARK: Moving on

    private func askNext() {
        guard outcome == nil else { return }
        guard let (way, sends) = candidates.first else {
            if sent.isEmpty { settle() }
            return
        }
        guard environment.limit.hasRoom(for: asked.holder, isOnly: sent.isEmpty, at: environment.clock.now) else {
            note(environment.limit.failure)
            return sent.isEmpty ? settle() : waitForShare()
        }
        candidates.removeFirst()
        if sends > 1 { candidates.append((way, sends - 1)) }
        ask(sends > 1 ? way : way.withoutEDNS)
        if sends == 1, only != nil { askOverTCPAsWell(way.server) }
    }

    /// Queries a server over TCP, once, if there is a query over UDP to which it has not responded.
    func askOverTCPAsWell(_ server: LocalDNSServer) {
        guard isAwaited(server, over: [.udp]), let way = firstWay(server) else { return }
        askBeside(way, isMute: true)
    }

    private func firstWay(_ server: LocalDNSServer) -> Way? { ways.first { $0.server == server } }

    private func isAwaited(_ server: LocalDNSServer, over transports: [Transport]) -> Bool {
        sent.values.contains { $0.way.server == server && transports.contains($0.way.transport) }
    }

    /// Queries a server over TCP, once.
    ///
    /// - Parameter isMute: whether it does not respond over UDP.
    /// - Returns: false when it was before.
    @discardableResult
    private func askBeside(_ way: Way, isMute: Bool) -> Bool {
        guard askedBeside[way.server] == nil else { return false }
        askedBeside[way.server] = isMute
        ask(way.overTCP)
        return true
    }

    private func ask(_ way: Way) {
        if let reason = environment.paths.unreachableReason(for: way.server.address) {
            return giveUp(way.server, .network(reason))
        }
        lastNumber += 1
        let number = lastNumber
        let now = environment.clock.now
        let place = environment.limit.enter(for: asked.holder, isOnly: sent.isEmpty, at: now) { [self] in
            sent.removeValue(forKey: number)?.exchange.close()
            note(environment.limit.failure)
            if sent.isEmpty { settle() }
        }
        guard let place else { return note(environment.limit.failure) }
        var generator = SystemNumbers()
        let query = LocalDNSQuery(
            question, over: way.transport, dnssecOK: asked.dnssecOK, checkingDisabled: asked.checkingDisabled,
            edns: way.edns, using: &generator)
        do throws(UpstreamFailure) {
            let exchange = try LocalDNSExchange(
                query.bytes, to: way.server, over: way.transport, on: environment.loop,
                accepts: { [self] in accepts($0, number) }, onEnd: { [self] in ended(number, $0) })
            sent[number] = SentQuery(way: way, query: query, exchange: exchange, place: place)
            waitForShare(of: (number, way.server))
        } catch {
            environment.limit.leave(place)
            failed(way, error)
        }
    }

    /// Queries the next server when a query has had no response for its server's share of the time.
    private func waitForShare(of query: (number: Int, server: LocalDNSServer)? = nil) {
        shareTimer?.cancel()
        shareTimer = environment.clock.schedule(after: share) { [self] in
            if let query, sent[query.number] != nil { localDNS?.doubted(query.server, since: began) }
            askNext()
        }
    }

    // MARK: Responses

    /// Whether a datagram is the response to a query; nothing else ends the query.
    private func accepts(_ datagram: [UInt8], _ number: Int) -> Bool {
        guard let sent = sent[number] else { return false }
        switch sent.query.kind(of: datagram) {
        case .response: return true
        case .foreign: return false
        case .otherLetterCase:
            note(.unusable("a response in another letter case"))
            askBeside(sent.way, isMute: false)
            return false
        }
    }

    private func ended(_ number: Int, _ outcome: Result<[UInt8], UpstreamFailure>) {
        guard let ended = sent.removeValue(forKey: number) else { return }
        environment.limit.leave(ended.place)
        switch outcome {
        case .failure(let failure): failed(ended.way, failure)
        case .success(let bytes):
            do throws(UpstreamFailure) {
                received(try ended.query.read(bytes), ended.way)
            } catch {
                refuse(ended.way, error)
            }
        }
    }

    /// Called when no query could be sent, or no response can come any more.
    private func failed(_ way: Way, _ failure: UpstreamFailure) {
        note(failure)
        // One over UDP still listens, also beside one over TCP.
        guard !isAwaited(way.server, over: way.transport == .udp ? [.udp, .tcp] : [.udp]) else { return }
        if !failure.isOurs {
            // A server without a socket for UDP may have one for TCP.
            if way.transport == .udp, askBeside(way, isMute: true) { return }
            localDNS?.doubted(way.server, since: began)
        }
        giveUp(way.server, failure)
    }

    private func received(_ message: Message, _ way: Way) {
        switch ReceivedReply(message, to: question, dnssecOK: asked.dnssecOK) {
        case .answer(let answer):
            // A referral: the server does not recurse, and names other servers to query (RFC 1034 section 4.3.1).
            let isReferral =
                message.responseCode == .noError && message.answers.isEmpty
                && message.flags.isDisjoint(with: [.recursionAvailable, .authoritative])
                && !message.authorities.contains { $0.type == .soa }
            guard !isReferral else { return giveUp(way.server, .rejected("the server does not do recursion")) }
            localDNS?.answered(way.server, question, for: asked.holder)
            noteEDNS(way)
            if way.transport == .udp || askedBeside[way.server] == true {
                answeredOver = way.transport
                if way.transport == .tcp, firstWay(way.server)?.transport == .udp { doubt(way.server) }
            }
            guard answer.responseCode != .nameError else { return deny(answer, by: way) }
            answeredBy = way.server
            finish(.answer(answer))
        case .failure(let code) where way.edns && code.mayRefuseEDNS:
            ask(way.withoutEDNS)
        case .failure(let code):
            if !way.edns, !code.mayRefuseEDNS { noteEDNS(way) }
            if code == .refused { refusedBy.insert(way.server) }
            giveUp(way.server, .responseCode(code))
        case .endlessAliases:
            giveUp(way.server, .rejected("the name's chain of aliases has no end"))
        case .truncated, .mismatch:
            refuse(way, .unusable("the reply does not belong to the question"))
        }
    }

    private func noteEDNS(_ way: Way) {
        guard firstWay(way.server)?.edns == true else { return }
        takesEDNS = way.edns
        if !way.edns { doubt(way.server) }
    }

    /// Has a server probed that has just responded.
    private func doubt(_ server: LocalDNSServer) { localDNS?.doubted(server, since: environment.clock.now) }

    /// Discards an invalid response.
    private func refuse(_ way: Way, _ failure: UpstreamFailure) {
        note(failure)
        if way.edns, failure != LocalDNSQuery.truncated {
            ask(way.withoutEDNS)
        } else if way.transport == .udp {
            ask(way.overTCP)
        } else {
            localDNS?.doubted(way.server, since: began)
            giveUp(way.server, failure)
        }
    }

    // MARK: Denials

    /// Removes a server's group from this lookup: the others may know the name.
    private func deny(_ answer: Answer, by way: Way) {
        denial = (answer, way.server)
        deniedBy.insert(way.group)
        candidates.removeAll { deniedBy.contains($0.way.group) }
        close { deniedBy.contains($0.group) }
        guard sent.isEmpty else { return }
        if candidates.allSatisfy({ isAway($0.way.server) }) { settle() } else { askNext() }
    }

    // MARK: The end

    /// Removes `server` from this lookup, and queries the next one.
    private func giveUp(_ server: LocalDNSServer, _ failure: UpstreamFailure) {
        note(failure)
        candidates.removeAll { $0.way.server == server }
        close { $0.server == server }
        askNext()
    }

    /// Stores the most informative failure.
    private func note(_ failure: UpstreamFailure) {
        func weight(_ failure: UpstreamFailure?) -> Int {
            switch failure {
            case .responseCode, .rejected: 4
            case .unusable: 3
            case .network: 2
            case .overloaded: 1
            default: 0
            }
        }
        if weight(failure) > weight(self.failure) { self.failure = failure }
    }

    private func close(where isMeant: (Way) -> Bool) {
        for (number, query) in sent where isMeant(query.way) {
            sent[number] = nil
            query.exchange.close()
            environment.limit.leave(query.place)
        }
    }

    /// Ends the lookup without an answer, or with a denial that no group can contradict.
    private func settle() {
        guard let denial, ways.allSatisfy(hasNothingMore) else { return finish(.failure(failure ?? .timeout)) }
        answeredBy = denial.server
        finish(.answer(denial.answer))
    }

    /// Whether nothing that a server could say contradicts a denial by another group.
    private func hasNothingMore(_ way: Way) -> Bool {
        deniedBy.contains(way.group) || refusedBy.contains(way.server) || isAway(way.server)
    }

    private func isAway(_ server: LocalDNSServer) -> Bool { localDNS?.isAway(server) ?? false }

    private func finish(_ result: UpstreamResult) {
        guard outcome == nil else { return }
        outcome = result
        shareTimer?.cancel()
        deadlineTimer?.cancel()
        candidates = []
        close { _ in true }
        waiter.take()?.resume()
    }
}

extension ResponseCode {
    /// Whether a server may mean by it that it does not support EDNS (RFC 6891 sections 6.1.3 and 7).
    fileprivate var mayRefuseEDNS: Bool { self == .formatError || self == .notImplemented || self == .badVersion }
}
