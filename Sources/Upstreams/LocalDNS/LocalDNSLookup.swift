import DNSResolver
import DNSWire
import Platform
import Scheduling

/// The lookup of one question of one type at the servers, until one of them answers.
///
/// Servers are queried in order, the next one as soon as one fails, and also when one has not responded for its share
/// of the time (`LocalDNSChannelLimit.patience` at most): that one may still answer. Once all were queried they are
/// queried again, since datagrams get lost; the last query to a server has no EDNS, which some drop. The response
/// decides:
/// - NOERROR ends the lookup.
/// - NXDOMAIN ends it when every group has denied the name or refused to answer, or is away (`LookupServers.isAway`);
///   until then only the other groups are queried. If one of them fails, so does the lookup: it may be the one that
///   knows the name.
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
    /// The most datagrams to one server, each with its own ID, letter case and port. The last one has no EDNS.
    private var sendsPerServer: Int { asked.dnssecOK ? 3 : 2 }

    private struct Attempt {
        let server: LocalDNSServer
        let transport: AresTransport
        let edns: Bool
        /// Whether the server has refused EDNS in this lookup.
        let isRefused: Bool
        let query: LocalDNSQuery
        let channel: AresChannel
        let place: LocalDNSChannelLimit.Place
    }

    let question: Question
    /// The server that gave the result's answer.
    private(set) var answeredBy: LocalDNSServer?
    private let asked: UpstreamQuestion
    private let deadline: Instant
    private let servers: any LookupServers
    private var environment: LocalDNSEnvironment { servers.environment }
    private var began: Instant
    /// The next servers to query, and how many more times.
    private var candidates: [(server: LocalDNSServer, sends: Int)] = []
    private var share = Duration.zero
    /// Servers queried over TCP in parallel to a query over UDP, or in place of one that failed.
    private var askedBeside: Set<LocalDNSServer> = []
    /// Those of them that had not responded over UDP.
    private var mute: Set<LocalDNSServer> = []
    /// The outstanding queries.
    private var attempts: [Int: Attempt] = [:]
    private var lastAttempt = 0
    private var shareTimer: LoopTimer?
    private var deadlineTimer: LoopTimer?
    private var failure: UpstreamFailure?
    /// The last NXDOMAIN.
    private var denial: (answer: Answer, server: LocalDNSServer)?
    /// The groups that denied the name, or refused to answer.
    private var deniedBy: Set<Int> = []
    private var outcome: UpstreamResult?
    private var waiter: CheckedContinuation<UpstreamResult, Never>?

    init(_ type: RecordType, of asked: UpstreamQuestion, deadline: Instant, at servers: any LookupServers) {
        question = Question(name: asked.name.lowercased, type: type)
        self.asked = asked
        self.deadline = deadline
        self.servers = servers
        began = servers.environment.clock.now
    }

    /// Sends the first query.
    func start() {
        let clock = environment.clock
        guard clock.now < deadline else { return finish(.failure(.timeout)) }
        candidates = servers.serversInOrder().map { ($0, sendsPerServer) }
        guard !candidates.isEmpty else { return finish(.failure(servers.noServer)) }
        share = min(LocalDNSChannelLimit.patience, (deadline - clock.now) / (candidates.count + 1))
        deadlineTimer = clock.schedule(at: deadline) { [self] in settle() }
        askNext()
    }

    /// Restarts the lookup, when the network or the servers have changed; the deadline stays.
    func startOver() {
        guard outcome == nil, deadlineTimer != nil else { return }
        for (number, attempt) in attempts { close(number, attempt) }
        began = environment.clock.now
        failure = nil
        denial = nil
        deniedBy = []
        askedBeside = []
        mute = []
        candidates = servers.serversInOrder().map { ($0, sendsPerServer) }
        askNext()
    }

    /// The result, once there is one; at most one caller may wait.
    func result() async -> UpstreamResult {
        await withCheckedContinuation { continuation in
            if let outcome { continuation.resume(returning: outcome) } else { waiter = continuation }
        }
    }

    /// Ends the lookup at once.
    func cancel() { finish(.failure(.cancelled)) }

    // MARK: Moving on

    private func askNext() {
        guard outcome == nil else { return }
        guard !candidates.isEmpty else {
            if attempts.isEmpty { settle() }
            return
        }
        let (server, sends) = candidates.removeFirst()
        if sends > 1 { candidates.append((server, sends - 1)) }
        let transport = servers.transport(to: server)
        ask(server, over: transport, edns: sends > 1 && servers.offersEDNS(to: server))
        if sends < sendsPerServer, servers.triesTCP { askOverTCPAsWell(server) }
    }

    /// Queries a server over TCP, once, if there is a query over UDP to which it has not responded.
    func askOverTCPAsWell(_ server: LocalDNSServer) {
        guard attempts.values.contains(where: { $0.server == server && $0.transport == .udp }) else { return }
        askOverTCP(server, edns: servers.offersEDNS(to: server))
    }

    private func hasAttempt(at server: LocalDNSServer) -> Bool { attempts.values.contains { $0.server == server } }

    /// Queries a server that does not respond over UDP over TCP, once.
    ///
    /// - Returns: false when it was before.
    @discardableResult
    private func askOverTCP(_ server: LocalDNSServer, edns: Bool, isRefused: Bool = false) -> Bool {
        guard askedBeside.insert(server).inserted else { return false }
        mute.insert(server)
        ask(server, over: .tcp, edns: edns, isRefused: isRefused)
        return true
    }

    /// Puts off a server for which there is no channel, while other queries are outstanding; otherwise the lookup
    /// fails.
    private func postpone(_ server: LocalDNSServer) {
        note(.overloaded("\(environment.limit.maximum) queries to LocalDNS are under way"))
        guard !attempts.isEmpty else { return settle() }
        let left = candidates.first { $0.server == server }?.sends ?? 0
        candidates.removeAll { $0.server == server }
        candidates.insert((server, left + 1), at: 0)
        shareTimer?.cancel()
        shareTimer = environment.clock.schedule(after: share) { [self] in askNext() }
    }

    /// Called when a query is displaced by one with priority, or by one of another client network.
    private func displace(_ number: Int) {
        guard let attempt = attempts.removeValue(forKey: number) else { return }
        attempt.channel.close()
        note(.overloaded("\(environment.limit.maximum) queries to LocalDNS are under way"))
        if attempts.isEmpty { settle() }
    }

    private func ask(
        _ server: LocalDNSServer, over transport: AresTransport, edns: Bool, isRefused: Bool = false
    ) {
        if let reason = environment.paths.unreachableReason(for: server.address) {
            return giveUp(server, .network(reason))
        }
        lastAttempt += 1
        let number = lastAttempt
        let place = environment.limit.enter(for: asked.holder, isOnly: attempts.isEmpty, at: environment.clock.now) {
            [self] in displace(number)
        }
        guard let place else { return postpone(server) }
        var generator = SystemNumbers()
        let query = LocalDNSQuery(
            question, over: transport, dnssecOK: asked.dnssecOK, checkingDisabled: asked.checkingDisabled,
            edns: edns, using: &generator)
        do throws(UpstreamFailure) {
            let channel = try AresChannel(
                server: server, transport: transport, loop: environment.loop,
                accepts: { [self] in accepts($0, number) },
                onEnd: { [self] in ended(number, $0) })
            attempts[number] = Attempt(
                server: server, transport: transport, edns: edns, isRefused: isRefused, query: query, channel: channel,
                place: place)
            waitForShare(of: number, at: server)
            // May end at once, and then the lookup has already moved on.
            channel.send(query.bytes)
        } catch {
            environment.limit.leave(place)
            giveUp(server, error)
        }
    }

    /// Queries the next server when the attempt at `server` has had no response for its share of the time.
    private func waitForShare(of number: Int, at server: LocalDNSServer) {
        shareTimer?.cancel()
        shareTimer = environment.clock.schedule(after: share) { [self] in
            if attempts[number] != nil { servers.failed(server, began: began) }
            askNext()
        }
    }

    // MARK: Responses

    /// Whether a datagram is the response to a query; nothing else ends the query.
    private func accepts(_ datagram: [UInt8], _ number: Int) -> Bool {
        guard let attempt = attempts[number] else { return false }
        switch attempt.query.kind(of: datagram) {
        case .response: return true
        case .foreign: return false
        case .otherLetterCase:
            note(.unusable("a response in another letter case"))
            if askedBeside.insert(attempt.server).inserted {
                ask(attempt.server, over: .tcp, edns: attempt.edns, isRefused: attempt.isRefused)
            }
            return false
        }
    }

    private func ended(_ number: Int, _ outcome: Result<[UInt8], UpstreamFailure>) {
        guard let attempt = attempts.removeValue(forKey: number) else { return }
        environment.limit.leave(attempt.place)
        switch outcome {
        case .failure(let failure) where isBeside(attempt):
            note(failure)
        case .failure(let failure) where attempt.transport == .udp && hasAttempt(at: attempt.server):
            note(failure)
        case .failure(let failure):
            note(failure)
            // A server without a socket for UDP may have one for TCP.
            if attempt.transport == .udp,
                askOverTCP(attempt.server, edns: attempt.edns, isRefused: attempt.isRefused)
            {
                return
            }
            servers.failed(attempt.server, began: began)
            giveUp(attempt.server, failure)
        case .success(let bytes):
            do throws(UpstreamFailure) {
                received(try attempt.query.read(bytes), from: attempt)
            } catch {
                refuse(attempt, error)
            }
        }
    }

    /// Whether a query over TCP is in parallel to one over UDP, which still listens.
    private func isBeside(_ attempt: Attempt) -> Bool {
        attempt.transport == .tcp
            && attempts.values.contains { $0.server == attempt.server && $0.transport == .udp }
    }

    private func received(_ message: Message, from attempt: Attempt) {
        switch ReceivedReply(message, to: question, dnssecOK: asked.dnssecOK) {
        case .answer(let answer):
            // A referral: the server does not recurse, and names other servers to query (RFC 1034 section 4.3.1).
            let isReferral =
                message.responseCode == .noError && message.answers.isEmpty
                && message.flags.isDisjoint(with: [.recursionAvailable, .authoritative])
                && !message.authorities.contains { $0.type == .soa }
            guard !isReferral else {
                return giveUp(attempt.server, .rejected("the server does not do recursion"))
            }
            servers.answered(attempt.server, question, for: asked.holder)
            noteEDNS(attempt)
            noteTransport(attempt)
            guard answer.responseCode != .nameError else { return deny(answer, by: attempt.server) }
            answeredBy = attempt.server
            finish(.answer(answer))
        case .failure(let code) where attempt.edns && code.mayRefuseEDNS:
            ask(attempt.server, over: attempt.transport, edns: false, isRefused: true)
        case .failure(let code):
            if attempt.isRefused, !code.mayRefuseEDNS { noteEDNS(attempt) }
            if code == .refused, let group = servers.group(of: attempt.server) { deniedBy.insert(group) }
            giveUp(attempt.server, .responseCode(code))
        case .endlessAliases:
            giveUp(attempt.server, .rejected("the name's chain of aliases has no end"))
        case .truncated, .mismatch:
            refuse(attempt, .unusable("the reply does not belong to the question"))
        }
    }

    /// Removes the group of `server` from this lookup: the others may know the name.
    private func deny(_ answer: Answer, by server: LocalDNSServer) {
        denial = (answer, server)
        if let group = servers.group(of: server) { deniedBy.insert(group) }
        candidates.removeAll { hasDenied($0.server) }
        for (number, attempt) in attempts where hasDenied(attempt.server) { close(number, attempt) }
        guard attempts.isEmpty else { return }
        if candidates.allSatisfy({ servers.isAway($0.server) }) { settle() } else { askNext() }
    }

    private func hasDenied(_ server: LocalDNSServer) -> Bool {
        servers.group(of: server).map(deniedBy.contains) ?? false
    }

    /// Ends the lookup without an answer, or with a denial that no group can contradict.
    private func settle() {
        guard let denial, servers.servers.allSatisfy({ hasDenied($0) || servers.isAway($0) }) else {
            return finish(.failure(failure ?? .timeout))
        }
        answeredBy = denial.server
        finish(.answer(denial.answer))
    }

    /// Records whether the server supports EDNS. An answer without EDNS counts only after a refusal, or while an
    /// earlier query with EDNS still has no response.
    private func noteEDNS(_ attempt: Attempt) {
        let isPlain =
            !attempt.edns
            && (attempt.isRefused || attempts.values.contains { $0.server == attempt.server && $0.edns })
        if attempt.edns || isPlain { servers.answered(attempt.server, withEDNS: attempt.edns) }
    }

    /// Records over which transport the server responds. An answer over TCP counts only when there was none over UDP.
    private func noteTransport(_ attempt: Attempt) {
        if attempt.transport == .udp || mute.contains(attempt.server) {
            servers.answered(attempt.server, over: attempt.transport)
        }
    }

    /// Discards an invalid response.
    private func refuse(_ attempt: Attempt, _ failure: UpstreamFailure) {
        note(failure)
        if attempt.edns, failure != LocalDNSQuery.truncated {
            ask(attempt.server, over: attempt.transport, edns: false, isRefused: true)
        } else if attempt.transport == .udp {
            ask(attempt.server, over: .tcp, edns: attempt.edns, isRefused: attempt.isRefused)
        } else {
            servers.failed(attempt.server, began: began)
            giveUp(attempt.server, failure)
        }
    }

    /// Removes `server` from this lookup, and queries the next one.
    private func giveUp(_ server: LocalDNSServer, _ failure: UpstreamFailure) {
        note(failure)
        candidates.removeAll { $0.server == server }
        for (number, attempt) in attempts where attempt.server == server { close(number, attempt) }
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

    private func close(_ number: Int, _ attempt: Attempt) {
        attempts[number] = nil
        attempt.channel.close()
        environment.limit.leave(attempt.place)
    }

    private func finish(_ result: UpstreamResult) {
        guard outcome == nil else { return }
        outcome = result
        shareTimer?.cancel()
        deadlineTimer?.cancel()
        candidates = []
        for (number, attempt) in attempts { close(number, attempt) }
        waiter.take()?.resume(returning: result)
    }
}

extension ResponseCode {
    /// Whether a server may mean by it that it does not support EDNS (RFC 6891 sections 6.1.3 and 7).
    fileprivate var mayRefuseEDNS: Bool { self == .formatError || self == .notImplemented || self == .badVersion }
}
