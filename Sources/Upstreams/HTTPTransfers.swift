import CCurl
package import HTTPDNS
package import Platform
package import Scheduling

/// All HTTP requests to one address of a service, on connections of their own.
///
/// Over TLS they share one HTTP/2 connection where the server can; else each takes one of a few. What is too much for
/// that waits here, not in libcurl, and an attempt's clock starts when its turn comes. libcurl is called from tasks,
/// timers and watches of the loop only, never from one of its own callbacks.
@Loop
package final class HTTPTransfers {
    package nonisolated let origin: HTTPOrigin
    private let loop: EventLoop
    // Destroyed in this order: handles before what they are part of and what they share.
    private var idle: [HTTPHandle] = []
    private let multi: CurlMulti
    private let share: CurlShare
    private let connectTo: CurlList
    private let sockets: HTTPSockets

    private var waiting = HTTPQueue()
    /// What libcurl has, by easy handle.
    private var active: [UnsafeMutableRawPointer: HTTPTransfer] = [:]
    /// How many transfers may be active: depends on what the server last spoke.
    private var capacity: Int
    /// The name that worked last, by its place in the origin's list.
    private var preferredHost = 0
    /// Whether the last reply came over HTTP/2.
    package private(set) var isMultiplexed = false

    /// - Throws: `HTTPFailure.network` when libcurl has no memory or lacks a feature.
    package init(_ origin: HTTPOrigin, loop: EventLoop) throws(HTTPFailure) {
        self.origin = origin
        self.loop = loop
        capacity = origin.scheme == .https ? HTTPLimits.streams : HTTPLimits.connections
        sockets = HTTPSockets(loop: loop)
        do {
            multi = try CurlMulti(sockets, connections: HTTPLimits.connections, streams: HTTPLimits.streams)
            share = try CurlShare()
            connectTo = try CurlList([origin.connectTo])
        } catch {
            throw .network("libcurl: \(error)")
        }
        sockets.onReady = { [weak self] descriptor, ready in self?.serve(descriptor, ready) }
    }

    isolated deinit { idle = [] }

    /// Asked as a request is about to be sent on a connection that is ready, also when it is sent a second time.
    ///
    /// Returns whether it may be. Must not call back into these transfers.
    package typealias Permit = @Loop () -> Bool

    /// Called with each reply of success: how long after the request was sent its first byte came.
    package var onFirstByte: (@Loop (Duration) -> Void)?

    /// How many requests are with libcurl, and how many wait for their turn.
    package var load: (active: Int, waiting: Int) { (active.count, waiting.count) }

    /// How many connections are open, idle ones included.
    package var openConnections: Int { sockets.openConnections }

    /// Sends a request and returns its reply, whatever its status.
    ///
    /// Ends at once when the task is cancelled; only this request's stream is then reset.
    /// - Parameters:
    ///   - timeout: how long the attempt may take, counted from when its turn comes.
    ///   - deadline: when it ends in any case, also while it still waits.
    ///   - permit: nil: it may be sent.
    package func perform(
        _ request: HTTPRequest, timeout: Duration, deadline: Instant, permit: Permit? = nil
    ) async -> Result<HTTPResponse, HTTPFailure> {
        let cancellation = Cancellation()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let transfer = HTTPTransfer(
                    request, timeout: timeout, deadline: deadline, permit: permit, continuation)
                cancellation.transfer = transfer
                start(transfer)
            }
        } onCancel: {
            // May run inside one of libcurl's callbacks: only enqueue.
            Loop.spawn { cancellation.transfer.map { self.stop($0, .cancelled) } }
        }
    }

    /// Makes a connection ready without sending anything on it: the request is taken back at the last moment.
    ///
    /// Only of use with HTTP/2: of HTTP/1.1 libcurl keeps no connection whose request was taken back.
    package func connect(timeout: Duration) async {
        // Whatever comes of it, the next request finds out.
        _ = await perform(HTTPRequest(target: "/"), timeout: timeout, deadline: loop.now + timeout) { false }
    }

    /// Lets a cancellation find the transfer, which is made after its handler.
    @Loop
    private final class Cancellation {
        var transfer: HTTPTransfer?

        nonisolated init() {}
    }

    /// Gives up all connections, for they may lead nowhere any more: what is on its way there is sent once more, inside
    /// its time, on a fresh one.
    package func renewConnections() {
        for descriptor in sockets.evictAll() { serve(descriptor, [.readable, .writable]) }
    }

    // MARK: The queue

    private func start(_ transfer: HTTPTransfer) {
        guard !Task.isCancelled else { return transfer.end(.failure(.cancelled)) }
        guard transfer.deadline > loop.now else { return transfer.end(.failure(.timeout)) }
        guard waiting.count < HTTPLimits.waiting else {
            return transfer.end(.failure(.overloaded("\(HTTPLimits.waiting) requests wait for \(origin.addressText)")))
        }
        transfer.timer = loop.schedule(at: transfer.deadline) { [weak self, weak transfer] in
            guard let self, let transfer else { return }
            let text = "\(self.active.count) requests are under way to \(self.origin.addressText)"
            self.stop(transfer, .overloaded(text))
        }
        // A service that may take longer is not silent before its time is up.
        let limit = max(HTTPLimits.silence, transfer.timeout)
        for descriptor in sockets.evictSilent(for: limit) { serve(descriptor, [.readable, .writable]) }
        transfer.place = waiting.append(transfer)
        fill()
    }

    /// Gives libcurl as much as it may have.
    private func fill() {
        while active.count < capacity, let transfer = waiting.popFirst() {
            transfer.place = nil
            do {
                try dispatch(transfer)
            } catch {
                transfer.end(.failure(.network("libcurl: \(error)")))
            }
        }
    }

    private func dispatch(_ transfer: HTTPTransfer) throws(CurlError) {
        let handle = if let spare = idle.popLast() { spare } else { try newHandle() }
        if transfer.refusedHosts.contains(preferredHost) {
            transfer.host = origin.hosts.indices.first { !transfer.refusedHosts.contains($0) } ?? 0
        } else {
            transfer.host = preferredHost
        }
        // On HTTP/1.1 the next idle connection may be as dead as the last one.
        let isFresh = transfer.isRepeated && capacity == HTTPLimits.connections
        try handle.prepare(
            transfer.request, url: origin.url(host: transfer.host, target: transfer.request.target), isFresh: isFresh,
            permit: transfer.permit)
        try multi.add(handle.pointer)
        transfer.handle = handle
        active[handle.pointer] = transfer
        if !transfer.isStarted { startClock(transfer) }
    }

    private func newHandle() throws(CurlError) -> HTTPHandle {
        try HTTPHandle(origin, sockets: sockets, share: share, connectTo: connectTo)
    }

    private func startClock(_ transfer: HTTPTransfer) {
        transfer.isStarted = true
        transfer.timer?.cancel()
        let end = min(transfer.deadline, loop.now + transfer.timeout)
        transfer.timer = loop.schedule(at: end) { [weak self, weak transfer] in
            guard let self, let transfer else { return }
            self.timeOut(transfer)
        }
    }

    /// Puts a transfer first in the queue: its clock is running.
    private func repeatLater(_ transfer: HTTPTransfer) { transfer.place = waiting.prepend(transfer) }

    /// Takes a transfer back from libcurl.
    private func release(_ transfer: HTTPTransfer) {
        guard let handle = transfer.handle.take() else { return }
        active[handle.pointer] = nil
        multi.remove(handle.pointer)
        handle.reset()
        if idle.count < HTTPLimits.idleHandles { idle.append(handle) }
    }

    // MARK: Ends from our side

    /// Ends a transfer wherever it is, and lets the next one start.
    private func stop(_ transfer: HTTPTransfer, _ failure: HTTPFailure) {
        withdraw(transfer, failure)
        fill()
    }

    /// Resets the stream that took too long, and breaks its connection only if that has fallen silent.
    private func timeOut(_ transfer: HTTPTransfer) {
        let hasReceived = transfer.handle?.hasConnectionReceived
        let silent = hasReceived == false ? transfer.handle?.connection : nil
        withdraw(transfer, hasReceived == true ? .slow : .timeout)
        guard let descriptor = silent?.evict() else { return fill() }
        // At once, so that nothing more is sent there.
        serve(descriptor, [.readable, .writable])
    }

    private func withdraw(_ transfer: HTTPTransfer, _ failure: HTTPFailure) {
        guard !transfer.isEnded else { return }
        if let place = transfer.place.take() { waiting.remove(place) }
        release(transfer)
        transfer.end(.failure(failure))
    }

    // MARK: Ends from libcurl's side

    private func serve(_ descriptor: Int32?, _ ready: Interest) {
        let events =
            (ready.contains(.readable) ? CURL_CSELECT_IN : 0) | (ready.contains(.writable) ? CURL_CSELECT_OUT : 0)
        multi.act(on: descriptor, events)
        while let (easy, result) = multi.nextEnded() {
            if let transfer = active[easy], let handle = transfer.handle { finish(transfer, handle, result) }
        }
        fill()
    }

    private func finish(_ transfer: HTTPTransfer, _ handle: HTTPHandle, _ code: CURLcode) {
        if code == CURLE_OK {
            succeed(transfer, handle)
        } else if code == CURLE_PEER_FAILED_VERIFICATION {
            refuseHost(transfer, HTTPFailure(code, verification: handle.verification))
        } else if code == CURLE_SSL_PINNEDPUBKEYNOTMATCH {
            // The name is right: another one would not make the key so.
            for transfer in [transfer] + unconnected(under: transfer.host, except: transfer) {
                release(transfer)
                transfer.end(.failure(HTTPFailure(code)))
            }
        } else {
            let isBroken = handle.wasReused && HTTPFailure.isBrokenConnection(code)
            let isEvicted = handle.connection?.isEvicted ?? false
            release(transfer)
            if (isBroken || isEvicted) && !transfer.isRepeated {
                transfer.isRepeated = true
                repeatLater(transfer)
            } else {
                transfer.end(.failure(failure(code)))
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
        // An error is told sooner than an answer, and must not make its address look fast.
        if (200..<300).contains(response.status), let time = handle.timeToFirstByte { onFirstByte?(time) }
        if origin.scheme == .https {
            preferredHost = transfer.host
            isMultiplexed = handle.isMultiplexed
            capacity = isMultiplexed ? HTTPLimits.streams : HTTPLimits.connections
        }
        release(transfer)
        transfer.end(.success(response))
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
                transfer.end(.failure(failure))
            }
        }
        if preferredHost == host {
            preferredHost = origin.hosts.indices.first { !transfer.refusedHosts.contains($0) } ?? 0
        }
    }

    /// Those that wait for a connection under this name.
    private func unconnected(under host: Int, except transfer: HTTPTransfer) -> [HTTPTransfer] {
        active.values.filter { $0 !== transfer && $0.host == host && $0.handle?.connection == nil }
    }
}
