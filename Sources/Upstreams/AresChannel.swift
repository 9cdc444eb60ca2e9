import CCares
import Platform
import Scheduling

/// How the exchange of an `AresChannel` ended.
enum AresOutcome: Sendable {
    /// A reply with our ID and, letter case aside, our question; otherwise unchecked.
    case reply([UInt8])
    case failure(AresError)
}

/// One query to one server, on a c-ares channel and a source port of its own.
///
/// The channel is told of readiness by the event loop and tells it which sockets it waits for. What its callbacks bring is
/// only written down; it is acted upon once c-ares has returned, so the channel is never destroyed inside itself.
/// Keeps itself alive from creation until the exchange ends or `close()`.
@Loop
final class AresChannel: Sendable {
    private var handle: AresHandle?
    private let loop: EventLoop
    private var watches: [Watch] = []
    private var outcome: AresOutcome?
    private var onEnd: (@Loop (AresOutcome) -> Void)?
    private var isInsideLibrary = false
    private var isClosing = false

    /// Opens the channel; its socket is opened by `send`.
    ///
    /// - Parameter onEnd: called once, unless the channel is closed before; the channel is destroyed by then.
    init(
        server: LocalDNSServer, transport: AresTransport, edns: Bool, loop: EventLoop,
        onEnd: @escaping @Loop (AresOutcome) -> Void
    ) throws(AresError) {
        self.loop = loop
        self.onEnd = onEnd
        handle = try AresHandle(
            server: server, transport: transport, edns: edns, changed: socketChanged,
            data: Unmanaged.passUnretained(self).toOpaque())
        // Balanced in destroy().
        _ = Unmanaged.passRetained(self)
    }

    /// Sends `query`, once in the channel's life. The exchange may end before this returns.
    func send(_ query: [UInt8]) {
        inLibrary { channel in
            query.withUnsafeBufferPointer { bytes in
                ares_send(
                    channel, bytes.baseAddress, Int32(bytes.count), replyArrived,
                    Unmanaged.passUnretained(self).toOpaque())
            }
        }
    }

    /// Ends the exchange and closes the sockets; nothing is reported any more. Harmless when it has ended.
    func close() {
        onEnd = nil
        if isInsideLibrary {
            isClosing = true
        } else {
            destroy()
        }
    }

    /// Calls c-ares, then does what its callbacks asked for meanwhile.
    private func inLibrary(_ call: (OpaquePointer) -> Void) {
        guard !isInsideLibrary, let channel = handle?.pointer else { return }
        isInsideLibrary = true
        call(channel)
        isInsideLibrary = false
        guard outcome != nil || isClosing else { return }
        let end = onEnd.take()
        let ended = outcome.take()
        destroy()
        if let end, let ended { end(ended) }
    }

    private func destroy() {
        guard let taken = handle.take() else { return }
        // Also reports the sockets as closed, and an unanswered query as destroyed.
        _ = consume taken
        for watch in watches { watch.cancel() }
        watches = []
        Unmanaged.passUnretained(self).release()
    }

    // MARK: For the callbacks

    fileprivate func socket(_ descriptor: Int32, waitsFor interest: Interest) {
        let index = watches.firstIndex { $0.descriptor == descriptor }
        switch (index, interest.isEmpty) {
        case (nil, true): break
        case (let index?, true): watches.remove(at: index).cancel()
        case (let index?, false): watches[index].update(interest)
        case (nil, false):
            do throws(SystemError) {
                watches.append(
                    try loop.watch(descriptor, for: interest) { [self] ready in process(descriptor, ready) })
            } catch {
                outcome = outcome ?? .failure(AresError("\(error)"))
            }
        }
    }

    fileprivate func ended(_ outcome: AresOutcome) { self.outcome = self.outcome ?? outcome }

    private func process(_ descriptor: Int32, _ ready: Interest) {
        inLibrary { channel in
            ares_process_fd(
                channel, ready.contains(.readable) ? descriptor : ccares_no_socket,
                ready.contains(.writable) ? descriptor : ccares_no_socket)
        }
    }
}

/// Called by c-ares when a socket was opened, is about to be closed (neither), or waits for something else.
private func socketChanged(
    _ data: UnsafeMutableRawPointer?, _ descriptor: ares_socket_t, _ readable: Int32, _ writable: Int32
) {
    guard let data else { return }
    let channel = Unmanaged<AresChannel>.fromOpaque(data).takeUnretainedValue()
    var interest: Interest = []
    if readable != 0 { interest.insert(.readable) }
    if writable != 0 { interest.insert(.writable) }
    Loop.assumeIsolated { channel.socket(descriptor, waitsFor: interest) }
}

/// Called by c-ares once for each query, at the latest when its channel is destroyed. The buffer dies with the call.
private func replyArrived(
    _ data: UnsafeMutableRawPointer?, _ status: Int32, _ timeouts: Int32, _ bytes: UnsafeMutablePointer<UInt8>?,
    _ count: Int32
) {
    guard let data else { return }
    let channel = Unmanaged<AresChannel>.fromOpaque(data).takeUnretainedValue()
    let outcome: AresOutcome =
        if status == ccares_success, let bytes {
            .reply(Array(UnsafeBufferPointer(start: bytes, count: max(0, Int(count)))))
        } else {
            .failure(AresError(status: status))
        }
    Loop.assumeIsolated { channel.ended(outcome) }
}
