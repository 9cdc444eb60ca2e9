package import DNSWire
package import HTTPDNS
package import Platform
package import Scheduling

/// All HTTP requests to one address of a service, on connections of their own.
///
/// Over TLS they share one HTTP/2 connection where the server can; else each takes one of a few. What is too much for
/// that waits here, and an attempt's clock starts when its turn comes.
@Loop
package final class HTTPTransfers {
    /// The least time between two looks at all transfers for those whose time is up.
    private static let clockInterval: Duration = .milliseconds(1)

    package nonisolated let origin: HTTPOrigin
    private let loop: EventLoop
    private let http2: HTTP2Connections
    /// Made by the first request that needs it. Those that it replaced go with their last request.
    private var http1: HTTP1Connections?
    /// Whether requests go out over HTTP/2: over TLS, unless the server would not when it was last asked.
    private var usesHTTP2: Bool
    /// When it was last found not to.
    private var lastAsked = Instant(nanoseconds: 0)
    private var waiting = HTTPQueue()
    /// What is on a connection, or waits for one that is being made; in no order.
    private var active: [HTTPTransfer] = []
    /// The request under way on a connection opened for it.
    private var renewal: HTTPTransfer?
    /// Set for `alarm`, which is not later than the end of any transfer.
    private var timer: LoopTimer?
    private var alarm = Instant(nanoseconds: 0)
    /// How many transfers may be active.
    private var capacity: Int { usesHTTP2 ? http2.capacity : HTTPLimits.connections }
    /// The name that worked last, by its place in the origin's list.
    private var preferredHost = 0
    /// How many replies have come.
    private var replies = 0
    /// Whether the last reply came over HTTP/2.
    package private(set) var isMultiplexed = false

    /// - Throws: `HTTPFailure.network` when libcurl has no memory or lacks a feature.
    package init(_ origin: HTTPOrigin, loop: EventLoop) throws(HTTPFailure) {
        self.origin = origin
        self.loop = loop
        usesHTTP2 = origin.scheme == .https
        http2 = HTTP2Connections(origin, loop: loop)
        if !usesHTTP2 { _ = try readyHTTP1() }
    }

    isolated deinit { http2.abandonAll() }

    /// Asked as a request is about to be sent on a connection that is ready, also when it is sent a second time.
    ///
    /// Returns whether it may be. Must not call back into these transfers.
    package typealias Permit = @Loop () -> Bool

    /// How many requests are under way, and how many wait for their turn.
    package var load: (active: Int, waiting: Int) { (active.count, waiting.count) }

    /// How many connections are open, idle ones included. Only tests ask, whether none is left over.
    package var openConnections: Int { http2.count + (http1?.count ?? 0) }

    /// Told of the reply, whatever its status, or why there is none.
    package typealias Completion = @Loop (Result<HTTPResponse, HTTPFailure>) -> Void

    /// Sends a request, unless it is cancelled before its turn comes; cancelled later, only its stream is reset.
    ///
    /// - Parameters:
    ///   - timeout: how long the attempt may take, counted from when its turn comes.
    ///   - deadline: when it ends in any case, also while it still waits.
    ///   - holder: the client network behind which of the waiting requests it waits.
    ///   - renewing: whether it is sent on a connection opened for it, without waiting for its turn. When it is answered
    ///     there, with a status below 500 that is not 429, that connection takes all further requests and the older ones
    ///     are retired as by `retireConnections()`; if not, that connection is closed and the older ones stay as they are.
    ///     There is one such request at a time: a further one fails as overloaded.
    ///   - permit: nil: it may be sent.
    ///   - done: called once, never before this returns, and not after `cancel()`.
    package func begin(
        _ request: HTTPRequest, timeout: Duration, deadline: Instant, holder: ClientNetwork = .daemon,
        renewing: Bool = false, permit: Permit? = nil, done: @escaping Completion
    ) -> any Cancellable {
        let transfer = HTTPTransfer(
            request, timeout: timeout, deadline: deadline, holder: holder, permit: permit, isRenewing: renewing,
            on: self, done: done)
        if deadline <= loop.now {
            fail(transfer, .timeout)
        } else if renewing {
            if renewal == nil {
                renewal = transfer
                dispatch(transfer)
            } else {
                fail(transfer, .overloaded("a connection to \(origin.addressText) is being renewed"))
            }
        } else if waiting.count >= HTTPLimits.waiting, !makeRoom(for: holder) {
            fail(transfer, .overloaded("\(HTTPLimits.waiting) requests wait for \(origin.addressText)"))
        } else {
            // A service that may take longer is not silent before its time is up.
            let silence = max(HTTPLimits.silence, timeout)
            http2.evictSilent(for: silence)
            if waiting.count == 0, hasRoom {
                dispatch(transfer)
            } else {
                transfer.place = waiting.append(transfer)
                watchClock(until: deadline)
            }
        }
        return transfer
    }

    /// Ends a waiting request of the client network that has most, and returns whether there was one.
    private func makeRoom(for holder: ClientNetwork) -> Bool {
        guard let transfer = waiting.yielding(to: holder), let place = transfer.place.take() else { return false }
        waiting.remove(place)
        fail(transfer, .overloaded("\(HTTPLimits.waiting) requests wait for \(origin.addressText)"))
        return true
    }

    /// Makes a connection ready without sending anything on it: the request is taken back at the last moment.
    ///
    /// Only of use with HTTP/2: of HTTP/1.1 libcurl keeps no connection whose request was taken back.
    /// - Parameter done: called when that has succeeded or failed: the next request finds out.
    package func connect(timeout: Duration, done: @escaping @Loop () -> Void = {}) {
        http2.closeIdle(for: HTTPLimits.spareRenewal)
        _ = begin(
            HTTPRequest(target: "/"), timeout: timeout, deadline: loop.now + timeout, permit: { false },
            done: { _ in done() })
    }

    /// Gives up all connections, for they may lead nowhere any more: what is on its way there is sent once more, inside
    /// its time, on a fresh one.
    package func renewConnections() {
        usesHTTP2 = origin.scheme == .https
        http2.evictAll()
        http1?.evictAll()
        for transfer in active { transfer.http1?.evictAll() }
    }

    /// Has no further request be sent on the connections that there are: each closes when the requests on it have ended,
    /// one without any at once. The next request is sent on a new one.
    ///
    /// For when the address backs off: what is wrong may be wrong with its connections alone.
    package func retireConnections() {
        http2.retireAll()
        http1 = nil
    }

    // MARK: The queue

    /// Whether another transfer may become active.
    private var hasRoom: Bool { active.count < capacity && http1?.mayAdd ?? true }

    /// Dispatches as many as there is room for.
    private func fill() {
        while hasRoom, let transfer = waiting.popFirst() {
            transfer.place = nil
            dispatch(transfer)
        }
    }

    private func dispatch(_ transfer: HTTPTransfer) {
        if transfer.refusedHosts.contains(preferredHost) {
            transfer.host = origin.hosts.indices.first { !transfer.refusedHosts.contains($0) } ?? 0
        } else {
            transfer.host = preferredHost
        }
        // Servers learn, and there may be several behind one address.
        if !usesHTTP2, origin.scheme == .https, loop.now - lastAsked >= .seconds(HTTPLimits.connectionLifetime) {
            usesHTTP2 = true
        }
        do throws(HTTPFailure) {
            if usesHTTP2 {
                try http2.add(transfer)
            } else {
                try (transfer.isRenewing ? newHTTP1() : readyHTTP1()).add(transfer)
            }
        } catch {
            return fail(transfer, error)
        }
        transfer.index = active.count
        active.append(transfer)
        if !transfer.isStarted {
            transfer.isStarted = true
            transfer.end = min(transfer.end, loop.now + transfer.timeout)
            transfer.repliesBefore = replies
        }
        watchClock(until: transfer.end)
    }

    private func readyHTTP1() throws(HTTPFailure) -> HTTP1Connections {
        if let http1 { return http1 }
        let made = try newHTTP1()
        http1 = made
        return made
    }

    private func newHTTP1() throws(HTTPFailure) -> HTTP1Connections {
        try HTTP1Connections(origin, loop: loop) { [weak self] in self?.fill() }
    }

    /// Ends a transfer at the end of the turn: whoever began it is not ready to be told.
    private func fail(_ transfer: HTTPTransfer, _ failure: HTTPFailure) {
        endRenewal(transfer)
        loop.atTurnEnd { transfer.finish(.failure(failure)) }
    }

    /// Puts a transfer first in the queue: its clock is running. One on a connection of its own gets the next at once.
    private func repeatLater(_ transfer: HTTPTransfer) {
        if transfer.isRenewing { dispatch(transfer) } else { transfer.place = waiting.prepend(transfer) }
    }

    /// Puts a transfer first in the queue as if it had not been sent: what its connection was given is not its own doing.
    private func repeatAnew(_ transfer: HTTPTransfer) {
        transfer.isRepeated = true
        transfer.isStarted = false
        transfer.end = transfer.deadline
        watchClock(until: transfer.end)
        repeatLater(transfer)
    }

    /// Takes a transfer back from its connection.
    private func release(_ transfer: HTTPTransfer) {
        guard let index = transfer.index.take() else { return }
        let last = active.removeLast()
        if last !== transfer {
            active[index] = last
            last.index = index
        }
        if let connection = transfer.connection {
            connection.withdraw(transfer)
        } else {
            transfer.http1?.withdraw(transfer)
        }
    }

    /// Ends the renewal, if that is what this transfer was.
    ///
    /// - Parameters:
    ///   - isGood: whether its connection replaces all older ones; else it closes.
    ///   - http1: that connection's, if libcurl has it.
    private func endRenewal(_ transfer: HTTPTransfer, isGood: Bool = false, http1: HTTP1Connections? = nil) {
        guard renewal === transfer else { return }
        renewal = nil
        http2.endRenewal(isGood: isGood)
        if isGood { self.http1 = http1 }
    }

    // MARK: Ends from our side

    /// Takes a transfer back whose asker gave up, and lets the next one start.
    func giveUp(_ transfer: HTTPTransfer) {
        withdraw(transfer)
        fill()
    }

    private func withdraw(_ transfer: HTTPTransfer) {
        if let place = transfer.place.take() { waiting.remove(place) }
        release(transfer)
        endRenewal(transfer)
    }

    /// Sees to it that somebody looks at `end`.
    ///
    /// One timer serves all transfers. Most end long before their time, so it is left as it is unless one ends earlier.
    private func watchClock(until end: Instant) {
        if let timer, timer.isPending, alarm <= end { return }
        timer?.cancel()
        alarm = end
        timer = loop.schedule(at: end) { [weak self] in self?.endOverdue() }
    }

    private func endOverdue() {
        let now = loop.now
        var overdue: [HTTPTransfer] = []
        var next: Instant?
        func look(at transfer: HTTPTransfer) {
            if transfer.end <= now {
                overdue.append(transfer)
            } else {
                next = min(next ?? transfer.end, transfer.end)
            }
        }
        for transfer in active { look(at: transfer) }
        for transfer in waiting.all { look(at: transfer) }
        if let next { watchClock(until: max(next, now + Self.clockInterval)) }
        for transfer in overdue where !transfer.isEnded && transfer.end <= now {
            transfer.connection?.readUnread()
            guard !transfer.isEnded, transfer.end <= now else { continue }
            // The first of several on a dead connection has just broken it: the others are not to blame their address.
            let isEvicted = transfer.connection?.isOpen == false || transfer.handle?.connection?.isEvicted == true
            if isEvicted, !transfer.isRepeated {
                release(transfer)
                repeatAnew(transfer)
            } else {
                timeOut(transfer)
            }
        }
        fill()
    }

    /// Ends a transfer whose time is up: resets its stream, and breaks its connection only if that has fallen silent. Of
    /// HTTP/1.1 each has one to itself, which ends with it.
    private func timeOut(_ transfer: HTTPTransfer) {
        let failure: HTTPFailure =
            if !transfer.isStarted {
                .overloaded("\(active.count) requests are under way to \(origin.addressText)")
            } else {
                replies == transfer.repliesBefore ? .timeout : .slow
            }
        let connection = transfer.connection
        let isSilent =
            if let stream = transfer.stream {
                connection?.hasAnswered(since: stream) == false
            } else {
                connection?.isMaking(for: transfer.timeout, at: loop.now) == true
            }
        withdraw(transfer)
        if isSilent { connection?.evict() }
        transfer.finish(.failure(failure))
    }

    // MARK: Ends from the connection's side

    /// Takes how an attempt has ended.
    func take(_ end: HTTPEnd, of transfer: HTTPTransfer) {
        let http1 = transfer.http1
        release(transfer)
        switch end {
        case .reply(let response, let isHTTP2):
            endRenewal(transfer, isGood: response.status < 500 && response.status != 429, http1: http1)
            replies += 1
            isMultiplexed = isHTTP2
            if origin.scheme == .https { preferredHost = transfer.host }
            transfer.finish(.success(response))
        case .refusedName(let failure): refuseHost(of: transfer, failure)
        case .evicted where !transfer.isRepeated: repeatAnew(transfer)
        case .broken(_, wasReused: true) where !transfer.isRepeated:
            transfer.isRepeated = true
            repeatLater(transfer)
        case .unprocessed(_, let tookOthers)
        where transfer.refusals < (tookOthers ? HTTPLimits.requests : HTTPLimits.refusals):
            transfer.refusals += 1
            transfer.isPermitted = true
            repeatLater(transfer)
        case .lacksHTTP2:
            usesHTTP2 = false
            lastAsked = loop.now
            repeatLater(transfer)
        case .evicted(let failure), .broken(let failure, _), .unprocessed(let failure, _),
            .failed(let failure):
            // It may have changed what it speaks.
            if case .network = failure { usesHTTP2 = origin.scheme == .https }
            endRenewal(transfer)
            transfer.finish(.failure(failure))
        }
        if waiting.count > 0 { fill() }
    }

    /// Goes on to the next accepted name.
    private func refuseHost(of transfer: HTTPTransfer, _ failure: HTTPFailure) {
        transfer.refusedHosts.insert(transfer.host)
        let next = origin.hosts.indices.first { !transfer.refusedHosts.contains($0) }
        if preferredHost == transfer.host { preferredHost = next ?? 0 }
        if next == nil {
            endRenewal(transfer)
            transfer.finish(.failure(failure))
        } else {
            repeatLater(transfer)
        }
    }
}
