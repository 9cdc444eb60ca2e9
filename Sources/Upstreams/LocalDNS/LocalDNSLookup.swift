import DNSResolver
import DNSWire
import Platform
import Scheduling

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
/// - A response that is truncated over UDP: the same server is queried over TCP.
/// - A response that cannot be parsed: the same server is queried without EDNS, which some servers do not understand but
///   send back, and then over TCP.
/// - A server that has no socket for UDP is queried over TCP; also one that is silent there, by a probe, or once a probe
///   has shown that it responds over TCP.
/// - SERVFAIL, REFUSED and other codes, with or without the question, a response of a server that does not recurse, and
///   a failed connection: the server is not queried any more.
@Loop
final class LocalDNSLookup: Sendable {
    let question: Question
    /// The server that gave the result's answer.
    private(set) var answeredBy: LocalDNSServer?
    /// What the servers have said since the network or the servers changed last.
    private(set) var turns = LocalDNSTurns([], turns: 0)
    private let asked: UpstreamQuestion
    private let environment: LocalDNSEnvironment
    private let localDNS: LocalDNS?
    private let servers: @Loop () throws(UpstreamFailure) -> [LocalDNSTurns.Candidate]
    private var began: Instant
    private var share = Duration.zero
    /// The outstanding queries by their tickets in the limit, each with the index of its server in `turns`.
    private var sent: [FairShare.Ticket: (index: Int, way: LocalDNSWay, exchange: LocalDNSExchange)] = [:]
    private var shareTimer: LoopTimer?
    private var deadlineTimer: LoopTimer?
    /// The result; nil until it has ended.
    private(set) var outcome: UpstreamResult?
    var onEnd: (@Loop () -> Void)?

    /// - Parameters:
    ///   - localDNS: hears of what happens; nil: none does, and a server's last turn is over TCP as well.
    ///   - servers: those that are queried.
    init(
        _ type: RecordType, of asked: UpstreamQuestion, _ environment: LocalDNSEnvironment, for localDNS: LocalDNS?,
        at servers: @escaping @Loop () throws(UpstreamFailure) -> [LocalDNSTurns.Candidate]
    ) {
        question = Question(name: asked.name.lowercased, type: type)
        self.asked = asked
        self.environment = environment
        self.localDNS = localDNS
        self.servers = servers
        began = environment.clock.now
    }

    /// Sends the first query.
    func start() {
        guard environment.clock.now < asked.deadline else { return finish(.failure(.timeout)) }
        deadlineTimer = environment.clock.schedule(at: asked.deadline) { [self] in settle() }
        begin()
    }

    /// Restarts the lookup, when the network or the servers have changed; the deadline stays.
    func startOver() {
        guard outcome == nil, deadlineTimer != nil else { return }
        close { _ in true }
        begin()
    }

    private func begin() {
        began = environment.clock.now
        do throws(UpstreamFailure) {
            // Each datagram has its own ID, letter case and port.
            turns = LocalDNSTurns(try servers(), turns: asked.dnssecOK ? 3 : 2)
        } catch {
            return finish(.failure(error))
        }
        share = min(LocalDNSLimit.patience, (asked.deadline - began) / (turns.candidates.count + 1))
        askNext()
    }

    /// Returns once it has ended; at most one caller may wait.
    func ended() async {
        if outcome == nil { await withCheckedContinuation { waiter in onEnd = { waiter.resume() } } }
    }

    /// Ends the lookup at once.
    func cancel() { finish(.failure(.cancelled)) }

    // MARK: Moving on

    private func askNext() {
        guard outcome == nil else { return }
        guard let next = turns.next else {
            if sent.isEmpty { settle() }
            return
        }
        guard environment.limit.hasRoom(for: asked.holder, isOnly: sent.isEmpty, at: environment.clock.now) else {
            turns.note(environment.limit.failure)
            return sent.isEmpty ? settle() : waitForShare()
        }
        let (way, isLast) = turns.take(next)
        ask(next, way)
        if isLast, localDNS == nil { askOverTCPAsWell(turns.candidates[next].server) }
    }

    /// Queries a server over TCP, once, if there is a query over UDP to which it has not responded.
    func askOverTCPAsWell(_ server: LocalDNSServer) {
        guard let index = turns.candidates.firstIndex(where: { $0.server == server }), isAwaited(index, over: [.udp])
        else { return }
        askBeside(index, turns.candidates[index].first)
    }

    private func isAwaited(_ index: Int, over transports: [Transport]) -> Bool {
        sent.values.contains { $0.index == index && transports.contains($0.way.transport) }
    }

    /// Queries a server over TCP, once.
    ///
    /// - Returns: false when it was before.
    @discardableResult
    private func askBeside(_ index: Int, _ way: LocalDNSWay) -> Bool {
        guard turns.askBeside(index) else { return false }
        ask(index, way.overTCP)
        return true
    }

    private func ask(_ index: Int, _ way: LocalDNSWay) {
        let (server, now) = (turns.candidates[index].server, environment.clock.now)
        let place = environment.limit.enter(for: asked.holder, isOnly: sent.isEmpty, at: now) { [self] place in
            sent.removeValue(forKey: place)?.exchange.close()
            turns.note(environment.limit.failure)
            if sent.isEmpty { settle() }
        }
        guard let place else { return turns.note(environment.limit.failure) }
        var generator = SystemNumbers()
        let query = LocalDNSQuery(
            question, over: way.transport, dnssecOK: asked.dnssecOK, checkingDisabled: asked.checkingDisabled,
            edns: way.edns, using: &generator)
        do throws(UpstreamFailure) {
            let exchange = try LocalDNSExchange(query, to: server, over: way.transport, on: environment.loop) {
                [self] result in received(result, place)
            }
            sent[place] = (index, way, exchange)
            waitForShare(of: place)
        } catch {
            environment.limit.leave(place)
            failed(index, way, error)
        }
    }

    /// Queries the next server when a query has had no response for its server's share of the time.
    private func waitForShare(of place: FairShare.Ticket? = nil) {
        shareTimer?.cancel()
        shareTimer = environment.clock.schedule(after: share) { [self] in
            if let query = place.flatMap({ sent[$0] }) { doubt(query.index, since: began) }
            askNext()
        }
    }

    // MARK: Responses

    private func received(_ result: Result<LocalDNSQuery.Reply, UpstreamFailure>, _ place: FairShare.Ticket) {
        guard let (index, way, _) = sent[place] else { return }
        if case .success = result { turns.heard(index, over: way.transport) }
        if case .success(.otherLetterCase) = result {
            turns.note(.unusable("a response in another letter case"))
            askBeside(index, way)
            return
        }
        sent[place] = nil
        environment.limit.leave(place)
        switch result {
        case .success(.answer(let answer)):
            let server = turns.candidates[index].server
            localDNS?.answered(server, question, for: asked.holder)
            learn(index, way)
            guard answer.responseCode != .nameError else { return deny(answer, by: index) }
            answeredBy = server
            finish(.answer(answer))
        case .success(.refusal(.responseCode(let code))) where code.mayRefuseEDNS && way.edns:
            ask(index, way.withoutEDNS)
        case .success(.refusal(let failure)):
            if case .responseCode(let code) = failure, !way.edns, !code.mayRefuseEDNS { learn(index, way) }
            giveUp(index, failure)
        case .success(.unusable(let failure)):
            turns.note(failure)
            if way.edns, failure != LocalDNSQuery.truncated { return ask(index, way.withoutEDNS) }
            if way.transport == .udp { return ask(index, way.overTCP) }
            doubt(index, since: began)
            giveUp(index, failure)
        case .failure(let failure): failed(index, way, failure)
        case .success(.otherLetterCase): break
        }
    }

    /// Called when no query could be sent, or no response can come any more.
    private func failed(_ index: Int, _ way: LocalDNSWay, _ failure: UpstreamFailure) {
        turns.note(failure)
        // One over UDP still listens, also beside one over TCP.
        guard !isAwaited(index, over: way.transport == .udp ? [.udp, .tcp] : [.udp]) else { return }
        if !failure.isOurs {
            // A server without a socket for UDP may have one for TCP.
            if way.transport == .udp, askBeside(index, way) { return }
            doubt(index, since: began)
        }
        giveUp(index, failure)
    }

    /// Learns how a server responds, which is probed if that is not how it was queried first.
    private func learn(_ index: Int, _ way: LocalDNSWay) {
        if turns.learn(index, way) { doubt(index, since: environment.clock.now) }
    }

    /// Has a server probed.
    private func doubt(_ index: Int, since began: Instant) {
        localDNS?.doubted(turns.candidates[index].server, since: began)
    }

    // MARK: The end

    /// Removes a server's group from this lookup.
    private func deny(_ answer: Answer, by index: Int) {
        turns.deny(answer, by: index)
        let group = turns.candidates[index].group
        close { turns.candidates[$0].group == group }
        guard sent.isEmpty else { return }
        if turns.isOver(isAway: isAway) { settle() } else { askNext() }
    }

    /// Removes a server from this lookup, and queries the next one.
    private func giveUp(_ index: Int, _ failure: UpstreamFailure) {
        turns.giveUp(index, failure)
        close { $0 == index }
        askNext()
    }

    private func close(where isMeant: (Int) -> Bool) {
        for (place, query) in sent where isMeant(query.index) {
            sent[place] = nil
            query.exchange.close()
            environment.limit.leave(place)
        }
    }

    /// Ends the lookup without an answer.
    private func settle() {
        guard outcome == nil else { return }
        let (result, server) = turns.result(isAway: isAway)
        answeredBy = server
        finish(result)
    }

    private func isAway(_ server: LocalDNSServer) -> Bool { localDNS?.isAway(server) == true }

    private func finish(_ result: UpstreamResult) {
        guard outcome == nil else { return }
        outcome = result
        shareTimer?.cancel()
        deadlineTimer?.cancel()
        close { _ in true }
        onEnd.take()?()
    }
}

extension ResponseCode {
    /// Whether a server may mean by it that it does not support EDNS (RFC 6891 sections 6.1.3 and 7).
    fileprivate var mayRefuseEDNS: Bool { self == .formatError || self == .notImplemented || self == .badVersion }
}
