import DNSResolver
import DNSWire
import Platform

/// The lookup of one question of one type at the servers, until one of them answers.
///
/// Servers are queried in order, the next one as soon as one fails, and also when one has not responded for its share
/// of the time (`LocalDNSLimit.patience` at most): that one may still answer. Once all were queried they are queried
/// again, since datagrams get lost; the last query to a server has no EDNS, which some drop. The response decides:
/// - NOERROR ends the lookup.
/// - NXDOMAIN ends it when every other group has denied the name, or each of its servers has refused to answer or is away
///   (`LocalDNSCandidate.isAway`); until then only the other groups are queried. If one of them fails, so does the lookup: it
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
final class LocalDNSLookup: Cancellable, Sendable {
    let question: Question
    private let asked: UpstreamQuestion
    private let environment: LocalDNSEnvironment
    private let servers: @Loop () throws(UpstreamFailure) -> [LocalDNSCandidate]
    /// What the servers have said since the network or the servers changed last; they are meant by their index.
    private var candidates: [LocalDNSCandidate] = []
    /// The queries that are yet to be sent, each with the index of its server.
    private var plan: [(index: Int, way: LocalDNSWay)] = []
    /// The most informative failure.
    private var failure: UpstreamFailure?
    /// The last NXDOMAIN.
    private var denial: (answer: Answer, server: LocalDNSServer)?
    /// How a server that was queried with EDNS over UDP first has shown that it answers: over TCP only when it had not
    /// responded over UDP; nil when it has not.
    private(set) var shown: LocalDNSWay?
    private var began = Instant(nanoseconds: 0)
    private var share = Duration.zero
    /// The outstanding queries by their tickets in the limit, each with the index of its server.
    private var sent: [FairShare.Ticket: (index: Int, way: LocalDNSWay, exchange: LocalDNSExchange)] = [:]
    private var shareTimer: LoopTimer?
    private var deadlineTimer: LoopTimer?
    /// The result; nil until it has ended.
    private(set) var outcome: UpstreamResult?
    /// The server that gave the result's answer.
    private(set) var answeredBy: LocalDNSServer?
    private(set) var isCancelled = false
    var onEnd: (@Loop () -> Void)?
    /// Called when a server has answered.
    var onAnswer: (@Loop (LocalDNSServer) -> Void)?
    /// Called when something since an instant is a reason to probe a server: no response in its share of the time, no
    /// connection, an invalid response, or one only without EDNS or only over TCP.
    var onDoubt: (@Loop (LocalDNSServer, Instant) -> Void)?

    /// - Parameter asked: of which the first type is asked.
    init(
        _ asked: UpstreamQuestion, _ environment: LocalDNSEnvironment,
        at servers: @escaping @Loop () throws(UpstreamFailure) -> [LocalDNSCandidate]
    ) {
        question = Question(name: asked.name.lowercased, type: asked.types.first ?? .a)
        self.asked = asked
        self.environment = environment
        self.servers = servers
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
        drop { _ in true }
        begin()
    }

    private func begin() {
        began = environment.clock.now
        (failure, denial, shown) = (nil, nil, nil)
        do throws(UpstreamFailure) {
            candidates = try servers()
        } catch {
            return finish(.failure(error))
        }
        let first = candidates.enumerated().map { (index: $0, way: $1.first) }
        plan = asked.dnssecOK ? first + first : first
        plan += first.map { ($0.index, $0.way.withoutEDNS) }
        share = min(LocalDNSLimit.patience, (asked.deadline - began) / (candidates.count + 1))
        askNext()
    }

    func cancel() {
        isCancelled = true
        finish(.failure(.cancelled))
    }

    // MARK: Moving on

    private func askNext() {
        guard outcome == nil else { return }
        guard let (index, way) = plan.first else {
            if sent.isEmpty { settle() }
            return
        }
        plan.removeFirst()
        guard ask(index, way) else {
            plan.insert((index, way), at: 0)
            return sent.isEmpty ? settle() : waitForShare()
        }
        if plan.isEmpty, candidates[index].health == nil { askOverTCPAsWell(candidates[index].server) }
    }

    /// Queries a server over TCP, once, if there is a query over UDP to which it has not responded.
    func askOverTCPAsWell(_ server: LocalDNSServer) {
        guard let index = candidates.firstIndex(where: { $0.server == server }), isAwaited(index, over: [.udp])
        else { return }
        askBeside(index, candidates[index].first)
    }

    private func isAwaited(_ index: Int, over transports: [Transport]) -> Bool {
        sent.values.contains { $0.index == index && transports.contains($0.way.transport) }
    }

    /// Queries a server over TCP, once. Returns false when it was before, and when there is no room for a query.
    @discardableResult
    private func askBeside(_ index: Int, _ way: LocalDNSWay) -> Bool {
        guard !candidates[index].isAskedBeside else { return false }
        candidates[index].isAskedBeside = true
        return ask(index, way.overTCP)
    }

    /// Queries a server. Returns false when there is no room for a query.
    @discardableResult
    private func ask(_ index: Int, _ way: LocalDNSWay) -> Bool {
        let (server, now) = (candidates[index].server, environment.clock.now)
        let place = environment.limit.enter(for: asked.holder, isOnly: sent.isEmpty, at: now) { [self] place in
            sent.removeValue(forKey: place)?.exchange.close()
            note(environment.limit.failure)
            // Later: another lookup is being asked.
            Loop.spawn { [self] in if sent.isEmpty { settle() } }
        }
        guard let place else {
            note(environment.limit.failure)
            return false
        }
        let query = LocalDNSQuery(question, by: way, dnssecOK: asked.dnssecOK, checkingDisabled: asked.checkingDisabled)
        do throws(UpstreamFailure) {
            let exchange = try LocalDNSExchange(query, to: server, on: environment.loop) { [self] reply in
                received(reply, place)
            }
            sent[place] = (index, way, exchange)
            waitForShare(of: place)
        } catch {
            environment.limit.leave(place)
            failed(index, way, error)
        }
        return true
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

    private func received(_ reply: LocalDNSQuery.Reply, _ place: FairShare.Ticket) {
        guard let (index, way, _) = sent[place] else { return }
        if reply != .otherLetterCase { forget(place) }
        if case .lost(let failure) = reply { return failed(index, way, failure) }
        if way.transport == .udp { candidates[index].isHeardOverUDP = true }
        switch reply {
        case .otherLetterCase:
            note(.unusable("a response in another letter case"))
            askBeside(index, way)
        case .answer(let answer):
            let server = candidates[index].server
            onAnswer?(server)
            learn(index, way)
            guard answer.responseCode != .nameError else { return deny(answer, by: index) }
            finish(.answer(answer), by: server)
        case .refusal(.responseCode(let code)) where code.mayRefuseEDNS && way.edns:
            ask(index, way.withoutEDNS)
        case .refusal(let failure):
            if case .responseCode(let code) = failure, !way.edns, !code.mayRefuseEDNS { learn(index, way) }
            giveUp(index, failure)
        case .unusable(let failure):
            note(failure)
            guard let next = failure == LocalDNSQuery.truncated ? way.afterTruncation : way.next else {
                doubt(index, since: began)
                return giveUp(index, failure)
            }
            ask(index, next)
        case .lost: break
        }
    }

    private func forget(_ place: FairShare.Ticket) {
        sent[place] = nil
        environment.limit.leave(place)
    }

    /// Called when no query could be sent, or no response can come any more.
    private func failed(_ index: Int, _ way: LocalDNSWay, _ failure: UpstreamFailure) {
        note(failure)
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
        let (first, isHeardOverUDP) = (candidates[index].first, candidates[index].isHeardOverUDP)
        let isOverTCPAlone = first.transport == .udp && !isHeardOverUDP
        shown = LocalDNSWay(transport: isOverTCPAlone ? .tcp : .udp, edns: way.edns)
        if first.edns && !way.edns || isOverTCPAlone { doubt(index, since: environment.clock.now) }
    }

    private func doubt(_ index: Int, since began: Instant) { onDoubt?(candidates[index].server, began) }

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

    // MARK: The end

    /// Removes a server's group, which has denied the name, from this lookup: the others may know it.
    private func deny(_ answer: Answer, by index: Int) {
        let group = candidates[index].group
        denial = (answer, candidates[index].server)
        for member in candidates.indices where candidates[member].group == group {
            candidates[member].hasNothingMore = true
        }
        drop { candidates[$0].group == group }
        guard sent.isEmpty else { return }
        if plan.allSatisfy({ candidates[$0.index].isAway }) { settle() } else { askNext() }
    }

    /// Removes a server from this lookup, and queries the next one.
    private func giveUp(_ index: Int, _ failure: UpstreamFailure) {
        note(failure)
        if failure == .responseCode(.refused) { candidates[index].hasNothingMore = true }
        drop { $0 == index }
        askNext()
    }

    /// Closes the queries to servers, and sends them no more.
    private func drop(where isMeant: (Int) -> Bool) {
        plan.removeAll { isMeant($0.index) }
        for (place, query) in sent where isMeant(query.index) {
            query.exchange.close()
            forget(place)
        }
    }

    /// Ends the lookup without an answer: with a denial that no group can contradict, or the most informative failure.
    private func settle() {
        guard outcome == nil else { return }
        guard let denial, candidates.allSatisfy({ $0.hasNothingMore || $0.isAway }) else {
            return finish(.failure(failure ?? .timeout))
        }
        finish(.answer(denial.answer), by: denial.server)
    }

    private func finish(_ result: UpstreamResult, by server: LocalDNSServer? = nil) {
        guard outcome == nil else { return }
        (outcome, answeredBy) = (result, server)
        shareTimer?.cancel()
        deadlineTimer?.cancel()
        drop { _ in true }
        onEnd.take()?()
    }
}
