import DNSResolver
import DNSWire
import HTTPDNS
import Platform

/// One address of an HTTPDNS provider.
@Loop
final class HTTPDNSEndpoint: Endpoint {
    /// One query to one address of a service: a request and its reply, sent again once if our clock has to be corrected.
    @Loop
    fileprivate final class SentQuestion: Cancellable {
        let question: UpstreamQuestion
        /// Whether a new connection is made for it.
        let onNewConnection: Bool
        let began: Instant
        /// Called when its request waits, since the service has said "not so fast".
        let delayed: (@Loop () -> Void)?
        /// The correction of our clock when its request was sent, in seconds.
        var offset: Int64 = 0
        var isSecond = false
        /// Its request, while that is in progress.
        var transfer: (any Cancellable)?
        /// Nil once called, and after `cancel()`.
        var done: (@Loop (UpstreamReply) -> Void)?

        /// - Parameter question: with the client network that is sent to the service.
        init(
            _ question: UpstreamQuestion, onNewConnection: Bool, began: Instant, delayed: (@Loop () -> Void)?,
            done: @escaping @Loop (UpstreamReply) -> Void
        ) {
            self.question = question
            self.onNewConnection = onNewConnection
            self.began = began
            self.delayed = delayed
            self.done = done
        }

        func cancel() {
            done = nil
            transfer.take()?.cancel()
        }
    }

    /// The age from which the stored name that was answered here is replaced by a newer one.
    private nonisolated static let answeredNameAge: Duration = .seconds(60)

    nonisolated let name: String
    let health = AddressHealth()
    nonisolated let address: SocketAddress
    private let origin: HTTPOrigin
    /// A copy of `origin.nextHop`: reading it from the origin for each request would copy the whole origin.
    nonisolated let nextHop: IPAddress
    private nonisolated let settings: HTTPDNSSettings
    private let account: ProviderAccount
    private let paths: NetworkPaths
    private let loop: EventLoop
    /// Takes a request that is about to be sent from the quota; false if that is exhausted.
    private let permit: HTTPTransfers.Permit
    /// Created by the first request: an address that is never used costs no descriptor.
    private var transfers: HTTPTransfers?
    /// When a request last used its connections, or one was opened in advance.
    private var lastUse: Instant?
    /// Whether the service has answered here. Over https its certificate was valid then: the address is the service's.
    private(set) var isVerified = false
    /// A name that was answered here, and when.
    private var answeredName: Name?
    private var nameAnswered = Instant(nanoseconds: 0)
    private let onAnswer: @Loop (HTTPDNSEndpoint) -> Void
    private let onUnreachable: @Loop (HTTPDNSEndpoint) -> Void

    /// - Parameters:
    ///   - onAnswer: called with the endpoint when the service has answered there.
    ///   - onUnreachable: called with it when a probe got no reply at all, or no valid certificate.
    init(
        _ settings: HTTPDNSSettings, _ address: SocketAddress, _ account: ProviderAccount, paths: NetworkPaths,
        loop: EventLoop, onAnswer: @escaping @Loop (HTTPDNSEndpoint) -> Void,
        onUnreachable: @escaping @Loop (HTTPDNSEndpoint) -> Void
    ) {
        origin = settings.origin.at(address).reached(by: paths)
        nextHop = origin.nextHop
        (self.onAnswer, self.onUnreachable) = (onAnswer, onUnreachable)
        name = origin.addressText
        self.address = address
        self.settings = settings
        self.account = account
        self.paths = paths
        self.loop = loop
        permit = { account.take() }
    }

    nonisolated var silence: Duration { settings.timeout }

    func networkChanged() {
        health.networkChanged(at: loop.now)
        // Closing a connection sends packets: that waits until there is a route, which is a network change of its own.
        if paths.unreachableReason(for: nextHop) == nil { transfers?.renewConnections() }
    }

    /// Requests that wait for capacity on its connections.
    var waitingRequests: Int { transfers?.load.waiting ?? 0 }

    var pace: Int? { transfers?.pace.limit }

    /// Whether the server supports HTTP/2, as far as is known.
    var isMultiplexed: Bool { transfers?.isMultiplexed ?? false }

    /// Opens a connection in the background, unless there is one. The next query renews it: an idle daemon stays idle.
    func keepReady() {
        guard lastUse.map({ loop.now - $0 >= HTTPLimits.spareRenewal }) ?? true else { return }
        lastUse = loop.now
        readyTransfers().connect(timeout: silence)
    }

    func begin(
        _ question: UpstreamQuestion, delayed: @escaping @Loop () -> Void,
        done: @escaping @Loop (UpstreamReply) -> Void
    ) -> any Cancellable {
        begin(question, onNewConnection: false, delayed: delayed, done: done)
    }

    /// - Parameter onNewConnection: whether a new connection is made for it, which replaces the others once it has
    ///   carried a response.
    private func begin(
        _ question: UpstreamQuestion, onNewConnection: Bool, delayed: (@Loop () -> Void)? = nil,
        done: @escaping @Loop (UpstreamReply) -> Void
    ) -> any Cancellable {
        var question = question
        question.clientNetwork = settings.clientSubnet.reported(for: question.clientNetwork)
        let attempt = SentQuestion(
            question, onNewConnection: onNewConnection, began: loop.now, delayed: delayed, done: done)
        send(attempt)
        return attempt
    }

    /// A query of the daemon's own, on a new connection.
    ///
    /// A private service may refuse all names but its own. So if it refuses the neutral name, a name that was answered here
    /// before is queried too; an answer to either shows that the address works. A client has chosen the second name: that
    /// it has no answer shows nothing.
    func probe(until deadline: Instant, done: @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable {
        let (probe, end) = (CurrentWork(), min(deadline, loop.now + silence))
        func ask(_ name: Name, _ done: @escaping @Loop (UpstreamReply) -> Void) {
            let question = UpstreamQuestion(name: name, types: [.a], deadline: end)
            probe.work = begin(question, onNewConnection: true) { reply in
                probe.work = nil
                done(reply)
            }
        }
        let probeName = settings.probeName
        ask(probeName) { [answeredName] reply in
            guard let answeredName, answeredName != probeName, reply.failure?.isRefusal == true else {
                return done(reply)
            }
            ask(answeredName) { second in done(second.failure == nil ? second : reply) }
        }
        return probe
    }

    func retireConnections() { transfers?.retireConnections() }

    // MARK: An attempt

    /// Sends its request: a second time when the service has reported that our clock is wrong.
    private func send(_ attempt: SentQuestion) {
        if let reason = account.refusal {
            account.refused()
            return end(attempt, unpermitted(attempt, reason))
        }
        if let reason = paths.unreachableReason(for: nextHop) { return end(attempt, .network(reason)) }
        attempt.offset = account.clock.offset
        lastUse = loop.now
        do throws(UpstreamFailure) {
            let request = try settings.format.request(for: attempt.question, at: account.clock.now)
            attempt.transfer = readyTransfers().begin(
                settings.mark?.added(to: request) ?? request, deadline: attempt.question.deadline,
                holder: attempt.question.holder,
                renewing: attempt.onNewConnection, permit: permit, delayed: attempt.delayed
            ) { [self] in received($0, of: attempt) }
        } catch {
            end(attempt, error)
        }
    }

    /// Ends an attempt at the end of the turn: its caller is not ready for the result before.
    private func end(_ attempt: SentQuestion, _ failure: UpstreamFailure) {
        loop.atTurnEnd { attempt.done.take()?(UpstreamReply(failure: failure, types: attempt.question.types)) }
    }

    /// Called with the result of an attempt's request.
    private func received(_ result: Result<HTTPResponse, UpstreamFailure>, of attempt: SentQuestion) {
        attempt.transfer = nil
        switch result {
        case .success(let response):
            // Errors are sent faster than answers, and would make the address look fast. So would waits without a reply look slow: a
            // client chooses the name. Where the address is slow, the probes that such waits cause have replies.
            if response.isSuccess, let time = response.timeToFirstByte { health.measured(time) }
            account.noteTime(of: response)
            switch settings.format.outcome(of: response, to: attempt.question) {
            case .success(let results):
                if !attempt.onNewConnection { account.latencies.add(from: attempt.began, to: loop.now) }
                account.bill(results)
                answered(attempt.question.name)
                // Also for what the service has left out.
                attempt.done.take()?(
                    UpstreamReply(attempt.question.types) { type in
                        results[type] ?? .failure(.unusable("the reply is silent on \(type)"))
                    })
            case .failure(.clockSkew(_, let serverTime))
            where !attempt.isSecond && mayCorrectClock(since: attempt.offset, serverTime ?? response.date):
                attempt.isSecond = true
                send(attempt)
            case .failure(let failure):
                attempt.done.take()?(UpstreamReply(failure: failure, types: attempt.question.types))
            }
        case .failure(let failure):
            if attempt.onNewConnection { note(failure) }
            // Its turn came when the quota was used up.
            let reported =
                failure == .cancelled
                ? unpermitted(attempt, account.refusal ?? "its limit of calls is reached") : failure
            attempt.done.take()?(UpstreamReply(failure: reported, types: attempt.question.types))
        }
    }

    /// What the quota does not permit: for a client's question the next source is asked, and a probe has shown nothing.
    private func unpermitted(_ attempt: SentQuestion, _ reason: String) -> UpstreamFailure {
        attempt.onNewConnection ? .overloaded(reason) : .rejected(reason)
    }

    private func answered(_ name: Name) {
        isVerified = true
        if answeredName == nil || loop.now - nameAnswered >= Self.answeredNameAge {
            (answeredName, nameAnswered) = (name, loop.now)
        }
        onAnswer(self)
    }

    /// Learns the service's time. Returns whether the offset now differs from `offset`, so that another attempt may
    /// succeed.
    private func mayCorrectClock(since offset: Int64, _ time: Int64?) -> Bool {
        if let time { account.learn(time) }
        // Another query may have learned it meanwhile.
        return account.clock.offset != offset
    }

    /// Records what a probe without a reply says about the address.
    private func note(_ failure: UpstreamFailure) {
        switch failure {
        case .timeout, .network, .certificate: onUnreachable(self)
        default: break
        }
    }

    // MARK: Connections

    private func readyTransfers() -> HTTPTransfers {
        if let transfers { return transfers }
        let made = HTTPTransfers(origin, loop: loop)
        made.onPace = { [account, name] in
            account.report(.endpointPaced(provider: account.provider, endpoint: name, limit: $0))
        }
        made.onWrongTime = { [account] in account.onSign?(.wrongTime) }
        transfers = made
        return made
    }
}

extension UpstreamFailure {
    /// Whether the service has replied, perhaps with an error because of the name.
    fileprivate var isRefusal: Bool {
        switch self {
        case .unusable, .refused, .authentication, .clockSkew: true
        case .timeout, .slow, .noServer, .network, .certificate, .forged, .busy, .responseCode, .rejected, .overloaded,
            .cancelled:
            false
        }
    }
}
