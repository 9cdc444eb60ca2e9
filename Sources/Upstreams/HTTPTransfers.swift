import CCurl
package import HTTPDNS
package import Platform
package import Scheduling

/// All HTTP requests to one address of a service, on connections of their own.
///
/// Over TLS they share one HTTP/2 connection where the server can; else each takes one of a few. What is too much for
/// that waits here, not in libcurl, and an attempt's clock starts when its turn comes. libcurl is never called from one of
/// its own callbacks: those note, and what they want is done at the end of the loop's turn.
@Loop
package final class HTTPTransfers {
    /// The least time between two looks at all transfers for those whose time is up.
    private static let clockInterval: Duration = .milliseconds(1)

    package nonisolated let origin: HTTPOrigin
    private let loop: EventLoop
    // Destroyed in this order: handles before what they are part of and what they share.
    private var idle: [HTTPHandle] = []
    /// What libcurl has, in no order.
    private var active: [HTTPHandle] = []
    private let multi: CurlMulti
    private let share: CurlShare
    private let connectTo: CurlList
    private let sockets: HTTPSockets

    private var waiting = HTTPQueue()
    /// Set for `alarm`, which is not later than the end of any transfer.
    private var timer: LoopTimer?
    private var alarm = Instant(nanoseconds: 0)
    /// How many were handed to libcurl that it has not looked at yet.
    private var startedCount = 0
    /// How many transfers may be active: depends on what the server last spoke.
    private var capacity: Int { canMultiplex ? HTTPLimits.streams : HTTPLimits.connections }
    /// Whether one connection may carry many transfers: over TLS, unless the last reply came over HTTP/1.1.
    private var canMultiplex: Bool {
        didSet { sockets.connectsOneAtATime = canMultiplex }
    }
    /// Whether a transfer was refused a connection of its own: all that wait do so for the one that is being made.
    private var awaitsConnection = false
    /// The name that worked last, by its place in the origin's list.
    private var preferredHost = 0
    /// Whether the last reply came over HTTP/2.
    package private(set) var isMultiplexed = false

    /// - Throws: `HTTPFailure.network` when libcurl has no memory or lacks a feature.
    package init(_ origin: HTTPOrigin, loop: EventLoop) throws(HTTPFailure) {
        self.origin = origin
        self.loop = loop
        canMultiplex = origin.scheme == .https
        sockets = HTTPSockets(loop: loop)
        sockets.connectsOneAtATime = canMultiplex
        do {
            multi = try CurlMulti(sockets, connections: HTTPLimits.connections, streams: HTTPLimits.streams)
            share = try CurlShare()
            connectTo = try CurlList([origin.connectTo])
        } catch {
            throw HTTPFailure(error)
        }
        sockets.onReady = { [weak self] descriptor, ready in self?.serve(descriptor, ready) }
    }

    isolated deinit { idle = [] }

    /// Asked as a request is about to be sent on a connection that is ready, also when it is sent a second time.
    ///
    /// Returns whether it may be. Must not call back into these transfers.
    package typealias Permit = @Loop () -> Bool

    /// How many requests are with libcurl, and how many wait for their turn.
    package var load: (active: Int, waiting: Int) { (active.count, waiting.count) }

    /// How many connections are open, idle ones included.
    package var openConnections: Int { sockets.openConnections }

    /// Told of the reply, whatever its status, or why there is none.
    package typealias Completion = @Loop (Result<HTTPResponse, HTTPFailure>) -> Void

    /// Sends a request, unless it is cancelled before its turn comes; cancelled later, only its stream is reset.
    ///
    /// - Parameters:
    ///   - timeout: how long the attempt may take, counted from when its turn comes.
    ///   - deadline: when it ends in any case, also while it still waits.
    ///   - permit: nil: it may be sent.
    ///   - done: called once, never before this returns, and not after `cancel()`.
    package func begin(
        _ request: HTTPRequest, timeout: Duration, deadline: Instant, permit: Permit? = nil,
        done: @escaping Completion
    ) -> any Cancellable {
        let transfer = HTTPTransfer(
            request, timeout: timeout, deadline: deadline, permit: permit, on: self, done: done)
        if deadline <= loop.now {
            fail(transfer, .timeout)
        } else if waiting.count >= HTTPLimits.waiting {
            fail(transfer, .overloaded("\(HTTPLimits.waiting) requests wait for \(origin.addressText)"))
        } else {
            // A service that may take longer is not silent before its time is up.
            sockets.evictSilent(for: max(HTTPLimits.silence, timeout))
            if active.count < capacity, waiting.count == 0, !sockets.willTellOfEvicted {
                dispatch(transfer)
            } else {
                transfer.place = waiting.append(transfer)
                watchClock(until: deadline)
            }
        }
        return transfer
    }

    /// Makes a connection ready without sending anything on it: the request is taken back at the last moment.
    ///
    /// Only of use with HTTP/2: of HTTP/1.1 libcurl keeps no connection whose request was taken back.
    /// - Parameter done: called when that has succeeded or failed: the next request finds out.
    package func connect(timeout: Duration, done: @escaping @Loop () -> Void = {}) {
        _ = begin(
            HTTPRequest(target: "/"), timeout: timeout, deadline: loop.now + timeout, permit: { false },
            done: { _ in done() })
    }

    /// Gives up all connections, for they may lead nowhere any more: what is on its way there is sent once more, inside
    /// its time, on a fresh one.
    package func renewConnections() { sockets.evictAll() }

    // MARK: The queue

    /// Gives libcurl as much as it may have.
    ///
    /// Nothing while it does not know of a connection that we broke: it would go out there. Called again when it does.
    private func fill() {
        guard !sockets.willTellOfEvicted else { return }
        if awaitsConnection {
            guard !canMultiplex || !sockets.isConnecting else { return }
            awaitsConnection = false
        }
        while active.count < capacity, let transfer = waiting.popFirst() {
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
        // On HTTP/1.1 the next idle connection may be as dead as the last one.
        let isFresh = transfer.isRepeated && !canMultiplex
        do {
            let handle = if let spare = idle.popLast() { spare } else { try newHandle() }
            try handle.prepare(transfer, isFresh: isFresh)
            try multi.add(handle.pointer)
            transfer.handle = handle
            handle.index = active.count
            active.append(handle)
            startedCount += 1
        } catch {
            return fail(transfer, HTTPFailure(error))
        }
        if !transfer.isStarted {
            transfer.isStarted = true
            transfer.end = min(transfer.end, loop.now + transfer.timeout)
        }
        watchClock(until: transfer.end)
    }

    private func newHandle() throws(CurlError) -> HTTPHandle {
        try HTTPHandle(origin, sockets: sockets, share: share, connectTo: connectTo)
    }

    /// Ends a transfer at the end of the turn: whoever began it is not ready to be told.
    private func fail(_ transfer: HTTPTransfer, _ failure: HTTPFailure) {
        loop.atTurnEnd { transfer.finish(.failure(failure)) }
    }

    /// Puts a transfer first in the queue: its clock is running.
    private func repeatLater(_ transfer: HTTPTransfer) { transfer.place = waiting.prepend(transfer) }

    /// Puts a transfer first in the queue as if it had not been sent: what its connection was given is not its own doing.
    private func repeatAnew(_ transfer: HTTPTransfer) {
        release(transfer)
        transfer.isRepeated = true
        transfer.isStarted = false
        transfer.end = transfer.deadline
        watchClock(until: transfer.end)
        repeatLater(transfer)
    }

    /// Takes a transfer back from libcurl.
    private func release(_ transfer: HTTPTransfer) {
        guard let handle = transfer.handle.take() else { return }
        let last = active.removeLast()
        if last !== handle {
            active[handle.index] = last
            last.index = handle.index
        }
        multi.remove(handle.pointer)
        handle.reset()
        idle.append(handle)
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
        for handle in active { handle.transfer.map(look) }
        for transfer in waiting.all { look(at: transfer) }
        if let next { watchClock(until: max(next, now + Self.clockInterval)) }
        if active.isEmpty { idle.removeLast(max(0, idle.count - HTTPLimits.idleHandles)) }
        for transfer in overdue where !transfer.isEnded {
            // The first of several on a dead connection has just broken it: the others are not to blame their address.
            if transfer.handle?.connection?.isEvicted == true, !transfer.isRepeated {
                repeatAnew(transfer)
            } else {
                timeOut(transfer)
            }
        }
        fill()
    }

    /// Ends a transfer whose time is up: resets its stream, and breaks its connection only if that has fallen silent.
    private func timeOut(_ transfer: HTTPTransfer) {
        var failure = HTTPFailure.timeout
        if !transfer.isStarted {
            failure = .overloaded("\(active.count) requests are under way to \(origin.addressText)")
        } else if let handle = transfer.handle, let hasReceived = handle.hasConnectionReceived {
            if hasReceived {
                failure = .slow
            } else if let connection = handle.connection {
                sockets.evict(connection)
            }
        }
        withdraw(transfer)
        transfer.finish(.failure(failure))
    }

    // MARK: Ends from libcurl's side

    private func serve(_ descriptor: Int32?, _ ready: Interest) {
        let events =
            (ready.contains(.readable) ? CURL_CSELECT_IN : 0) | (ready.contains(.writable) ? CURL_CSELECT_OUT : 0)
        sockets.beginRound()
        let isBurst = descriptor == nil && startedCount > 1
        if descriptor == nil { startedCount = 0 }
        if isBurst, isMultiplexed, let connection = sockets.lastUsed {
            connection.together { multi.act(on: nil) }
        } else {
            multi.act(on: descriptor, events)
        }
        while let (handle, result) = nextEnded() {
            if let transfer = handle.transfer { finish(transfer, handle, result) }
        }
        fill()
    }

    private func nextEnded() -> (handle: HTTPHandle, result: CURLcode)? {
        guard let (easy, result) = multi.nextEnded(), let handle = ccurl_get_private(easy) else { return nil }
        return (Unmanaged<HTTPHandle>.fromOpaque(handle).takeUnretainedValue(), result)
    }

    private func finish(_ transfer: HTTPTransfer, _ handle: HTTPHandle, _ code: CURLcode) {
        if code == CURLE_OK {
            succeed(transfer, handle)
        } else if handle.isHeldBack {
            awaitsConnection = true
            release(transfer)
            repeatLater(transfer)
        } else if code == CURLE_PEER_FAILED_VERIFICATION {
            refuseHost(transfer, HTTPFailure(code, verification: handle.verification))
        } else if code == CURLE_SSL_PINNEDPUBKEYNOTMATCH {
            // The name is right: another one would not make the key so.
            for transfer in [transfer] + unconnected(under: transfer.host, except: transfer) {
                release(transfer)
                transfer.finish(.failure(HTTPFailure(code)))
            }
        } else {
            let isBroken = handle.wasReused && HTTPFailure.isBrokenConnection(code)
            let isEvicted = handle.connection?.isEvicted ?? false
            release(transfer)
            if isEvicted && !transfer.isRepeated {
                repeatAnew(transfer)
            } else if isBroken && !transfer.isRepeated {
                transfer.isRepeated = true
                repeatLater(transfer)
            } else {
                transfer.finish(.failure(failure(code)))
            }
        }
    }

    /// What libcurl's result means; that we have no descriptor left is not the address's fault.
    private func failure(_ code: CURLcode) -> HTTPFailure {
        guard code == CURLE_COULDNT_CONNECT, let shortage = sockets.shortage else { return HTTPFailure(code) }
        return .overloaded("no socket for \(origin.addressText): \(shortage)")
    }

    private func succeed(_ transfer: HTTPTransfer, _ handle: HTTPHandle) {
        let response = handle.response
        if origin.scheme == .https {
            preferredHost = transfer.host
            isMultiplexed = handle.isMultiplexed
            if canMultiplex != isMultiplexed { canMultiplex = isMultiplexed }
        }
        release(transfer)
        transfer.finish(.success(response))
    }

    /// Goes on to the next accepted name, together with all that wait for a connection under the refused one: each of
    /// them would only fail in a handshake of its own.
    private func refuseHost(_ transfer: HTTPTransfer, _ failure: HTTPFailure) {
        let host = transfer.host
        for transfer in [transfer] + unconnected(under: host, except: transfer) {
            release(transfer)
            transfer.refusedHosts.insert(host)
            if transfer.refusedHosts.count < origin.hosts.count {
                repeatLater(transfer)
            } else {
                transfer.finish(.failure(failure))
            }
        }
        if preferredHost == host {
            preferredHost = origin.hosts.indices.first { !transfer.refusedHosts.contains($0) } ?? 0
        }
    }

    /// Those that wait for a connection under this name.
    private func unconnected(under host: Int, except transfer: HTTPTransfer) -> [HTTPTransfer] {
        active.compactMap { $0.connection == nil ? $0.transfer : nil }.filter { $0 !== transfer && $0.host == host }
    }
}
