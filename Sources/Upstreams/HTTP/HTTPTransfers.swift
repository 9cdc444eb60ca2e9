import DNSResolver
public import DNSWire
public import HTTPDNS
public import Platform

/// All HTTP requests to one address of a service, on the address's own connections.
///
/// They share one connection where the server has chosen HTTP/2; else each uses one of a few connections.
/// Requests above that capacity are queued. One whose connection broke is sent again, on a connection that it shares with no other:
/// what a service does at one name says nothing about the names that were on the same connection.
@Loop
public final class HTTPTransfers {
    /// The least time between two scans of all transfers for those whose time is up.
    private static let clockInterval: Duration = .milliseconds(1)

    public nonisolated let origin: HTTPOrigin
    private let loop: EventLoop
    private let clock: any LoopClock
    let connections: HTTPConnections
    private let waiting = FairQueue<HTTPTransfer>(capacity: HTTPLimits.waiting)
    /// Scheduled for `alarm`, which is not later than any transfer's deadline.
    private var timer: LoopTimer?
    private var alarm = Instant(nanoseconds: 0)
    /// What the service has shown of how many requests at once it takes.
    private(set) var pace = ServicePace() {
        didSet { if (pace.limit == nil) != (oldValue.limit == nil) { onPace?(pace.limit) } }
    }
    /// Called when that has got a limit, or has none any more.
    var onPace: (@Loop (Int?) -> Void)?
    /// Called when the service has shown a certificate that is wrong in its time alone.
    public var onWrongTime: (@Loop () -> Void)?
    private var replies = 0
    /// Whether the last reply came over HTTP/2.
    public private(set) var isMultiplexed = false

    /// - Parameter clock: for how long a refused request waits; the loop except in tests.
    public init(_ origin: HTTPOrigin, loop: EventLoop, clock: (any LoopClock)? = nil) {
        self.origin = origin
        self.loop = loop
        self.clock = clock ?? loop
        connections = HTTPConnections(origin, loop: loop)
    }

    // A request retains all: there is none any more.
    isolated deinit { renewConnections() }

    /// Called as a request is about to be sent on a connection that is ready, also a second time. Returns whether it may
    /// be. Must not call back into these transfers.
    public typealias Permit = @Loop () -> Bool

    /// The numbers of active and of queued requests.
    public var load: (active: Int, waiting: Int) { (connections.requests, waiting.count) }

    /// Sends a request, unless it is cancelled before it is dispatched; cancelled later, only its stream is reset.
    ///
    /// - Parameters:
    ///   - deadline: when it ends in any case, also while it is queued.
    ///   - holder: the client network in whose share of the active and of the queued requests it is.
    ///   - renewing: whether it is sent on a new connection opened for it, without being queued. When it is answered
    ///     there, with a status below 500 that is not 429, that connection replaces the older ones; if not, it is closed.
    ///     There is one such request at a time: a further one fails as overloaded.
    ///   - permit: nil: it may be sent.
    ///   - delayed: called each time that the service says "not so fast" and it waits; it may be cancelled then.
    ///   - done: called once, with the reply, whatever its status, or why there is none; never before this returns, and not
    ///     after `cancel()`.
    public func begin(
        _ request: HTTPRequest, deadline: Instant, holder: ClientNetwork = .daemon,
        renewing: Bool = false, permit: Permit? = nil, delayed: (@Loop () -> Void)? = nil,
        done: @escaping @Loop (Result<HTTPResponse, UpstreamFailure>) -> Void
    ) -> any Cancellable {
        let transfer = HTTPTransfer(
            request, deadline: deadline, holder: holder, permit: permit, delayed: delayed, isRenewing: renewing,
            ended: { [self] in attemptEnded($1, of: $0) }, done: done)
        guard deadline > loop.now else {
            fail(transfer, .timeout)
            return transfer
        }
        watchClock(until: deadline)
        if renewing {
            if connections.beginRenewal(transfer) {
                dispatch(transfer)
            } else {
                fail(transfer, .overloaded("a connection to \(origin.addressText) is being renewed"))
            }
        } else if waiting.count == 0, hasRoom {
            dispatch(transfer)
        } else if enqueueOrFail(transfer) {
            if hasRoom { fill() } else { displaceActive(for: holder) }
        }
        return transfer
    }

    private func enqueue(_ transfer: HTTPTransfer) {
        transfer.place = waiting.append(transfer, for: transfer.holder)
    }

    /// Queues a transfer, for which another one may have to go. Returns false where it has failed instead.
    @discardableResult
    private func enqueueOrFail(_ transfer: HTTPTransfer) -> Bool {
        if waiting.isFull {
            let displaced = waiting.displace(for: transfer.holder)
            displaced?.place = nil
            failOverloaded(displaced ?? transfer)
            if displaced == nil { return false }
        }
        enqueue(transfer)
        return true
    }

    private func failOverloaded(_ transfer: HTTPTransfer) {
        fail(transfer, .overloaded("\(HTTPLimits.waiting) requests wait for \(origin.addressText)"))
    }

    /// Has an active request of the client network that has most wait in the queue again for one of `holder`, if that has
    /// fewer.
    private func displaceActive(for holder: ClientNetwork) {
        guard let displaced = connections.displace(for: holder) else { return }
        enqueue(displaced)
        if hasRoom, let next = takeNext({ $0 == holder ? 0 : 1 }) { dispatch(next) }
    }

    /// Opens a connection without sending a request on it: that is refused at the last moment. Calls `done` when it has
    /// succeeded or failed, without saying which: the next request shows it.
    public func connect(timeout: Duration, done: @escaping @Loop () -> Void = {}) {
        connections.closeIdle(for: HTTPLimits.spareRenewal)
        _ = begin(HTTPRequest(target: "/"), deadline: loop.now + timeout, permit: { false }, done: { _ in done() })
    }

    /// Closes all connections, which may be dead after a change of network: requests in progress are sent once more.
    public func renewConnections() { connections.evictAll() }

    /// Sends no further request on the existing connections; each closes when its requests have ended. Called when the address
    /// is in backoff: the fault may be one of its connections alone.
    public func retireConnections() { connections.retireAll() }

    // MARK: The queue

    private var hasRoom: Bool { connections.requests < min(connections.capacity, pace.limit ?? .max) }

    private func fill() {
        while hasRoom, let next = takeNext({ connections.held(by: $0) }) { dispatch(next) }
        if waiting.count == 0 { connections.forgetShares() }
    }

    /// Removes the next queued transfer for which there is a connection: of the client network that holds least.
    private func takeNext(_ held: (ClientNetwork) -> Int) -> HTTPTransfer? {
        let place = waiting.first(held, where: connections.hasPlace)
        guard let transfer = place.flatMap({ waiting.take($0) }) else { return nil }
        transfer.place = nil
        return transfer
    }

    private func dispatch(_ transfer: HTTPTransfer) {
        do throws(UpstreamFailure) {
            try connections.add(transfer)
        } catch {
            return fail(transfer, error)
        }
        transfer.round = pace.round
        transfer.repliesBefore = replies
    }

    /// Fails a transfer at the end of the turn: its caller is not ready for the result before.
    private func fail(_ transfer: HTTPTransfer, _ failure: UpstreamFailure) {
        connections.endRenewal(transfer)
        loop.atTurnEnd { transfer.finish(.failure(failure)) }
    }

    /// Sends a transfer again, in the place that it had if that is still free. A renewal is sent on another new connection
    /// in any case.
    private func repeatLater(_ transfer: HTTPTransfer) {
        if !connections.hasPlace(for: transfer), let displaced = connections.displaceSeparate(for: transfer.holder) {
            enqueue(displaced)
        }
        if transfer.isRenewing || hasRoom && connections.hasPlace(for: transfer) {
            dispatch(transfer)
        } else {
            enqueueOrFail(transfer)
        }
    }

    // MARK: Ends from our side

    private func withdraw(_ transfer: HTTPTransfer) {
        transfer.wait.take()?.cancel()
        if let place = transfer.place.take() { waiting.remove(place) }
        connections.withdraw(transfer)
    }

    /// Ensures that transfers are scanned at `end`. One timer serves all: most end long before anything is due, so it is
    /// rescheduled only for an earlier end.
    private func watchClock(until end: Instant) {
        if let timer, timer.isPending, alarm <= end { return }
        timer?.cancel()
        alarm = end
        timer = loop.schedule(at: end) { [weak self] in self?.lookAtDue() }
    }

    private func lookAtDue() {
        let (now, all) = (loop.now, connections.transfers + waiting.all)
        if let next = all.lazy.map(\.deadline).filter({ $0 > now }).min() {
            watchClock(until: max(next, now + Self.clockInterval))
        }
        for transfer in all where transfer.deadline <= now {
            connections.carrier(of: transfer)?.readUnread()
            if !transfer.isEnded { timeOut(transfer) }
        }
        fill()
    }

    /// Ends a transfer whose time is up. With HTTP/2 its stream is reset; with HTTP/1.1 its connection is closed.
    private func timeOut(_ transfer: HTTPTransfer) {
        let count = connections.requests
        let reason = count == 0 ? "there was no connection" : "\(count) requests were under way"
        let failure: UpstreamFailure =
            if transfer.index == nil {
                .overloaded("not sent in time: \(reason) to \(origin.addressText)")
            } else {
                replies == transfer.repliesBefore ? .timeout : .slow
            }
        // What follows on the connection needs to know whether it is dead, however short this one's time was.
        connections.carrier(of: transfer)?.test()
        withdraw(transfer)
        transfer.finish(.failure(failure))
    }

    // MARK: Ends from the connection's side

    /// Called when an attempt has ended, and with nil when a transfer is not wanted any more.
    private func attemptEnded(_ end: HTTPEnd?, of transfer: HTTPTransfer) {
        guard let end else {
            withdraw(transfer)
            return fill()
        }
        connections.remove(transfer)
        switch end {
        case .success((let response, let isHTTP2)):
            connections.endRenewal(transfer, isGood: response.status < 500 && response.status != 429)
            replies += 1
            isMultiplexed = isHTTP2
            connections.noteName(of: transfer)
            if !transfer.isRenewing {
                if !ServicePace.isRefusal(response) {
                    pace.answered()
                } else if waits(transfer, retryAfter: response.retryAfter) {
                    break
                }
            }
            transfer.finish(response.readable)
        case .failure(.refusedName(let failure, let isTimeAlone)):
            if isTimeAlone { onWrongTime?() }
            goOn(with: transfer, unless: connections.refuseName(of: transfer) ? nil : failure)
        case .failure(.unmade) where connections.hasSent && transfer.refusals < HTTPLimits.refusals:
            // The service takes no further connection now.
            transfer.refusals += 1
            delay(transfer, for: ServicePace.firstWait)
        case .failure(.refused) where !transfer.isRenewing && waits(transfer): break
        case .failure(let loss): goOn(with: transfer, unless: transfer.failure(after: loss))
        }
        if waiting.count > 0 { fill() }
    }

    /// Has a request wait that the service refuses for now, and learns the service's pace. Returns whether it waits: one on
    /// a connection of its own shows how the service is, and does not.
    private func waits(_ transfer: HTTPTransfer, retryAfter: UInt32? = nil) -> Bool {
        guard
            let wait = pace.refused(
                retryAfter: retryAfter, waits: transfer.waits, sent: transfer.round, underWay: connections.requests,
                capacity: connections.capacity, until: transfer.deadline, at: clock.now)
        else { return false }
        transfer.waits += 1
        transfer.isPermitted = true
        delay(transfer, for: wait)
        return true
    }

    private func delay(_ transfer: HTTPTransfer, for wait: Duration) {
        transfer.wait = clock.schedule(at: clock.now + wait) { [weak self] in
            transfer.wait = nil
            guard let self, !transfer.isEnded else { return }
            watchClock(until: transfer.deadline)
            repeatLater(transfer)
        }
        transfer.delayed?()
    }

    private func goOn(with transfer: HTTPTransfer, unless failure: UpstreamFailure?) {
        guard let failure else { return repeatLater(transfer) }
        connections.endRenewal(transfer)
        transfer.finish(.failure(failure))
    }
}
