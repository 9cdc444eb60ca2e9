import CCares
import DNSWire
import Glibc
import Platform
import Scheduling

/// One query to one server, on its own c-ares channel and source port.
///
/// The event loop reports readiness to the channel, and the channel reports to the loop which sockets it waits for. Its
/// callbacks only record; their results are handled once c-ares has returned, so the channel is never destroyed inside
/// a call of its own.
///
/// Datagrams are read here and not by c-ares. That would drop error responses without a question, accept responses in
/// another letter case, with QR 0 or of another opcode, and stop listening after the first one; so the caller checks
/// each datagram, and the channel listens until one is accepted. It retains itself from its creation until the exchange
/// ends or `close()`.
@Loop
final class AresChannel: Sendable {
    private var handle: AresHandle?
    /// The longest datagram that is read, in bytes: more than any requested size.
    private nonisolated static let datagramSize = 4_096
    /// The most datagrams read in one turn of the loop.
    private nonisolated static let datagramsPerTurn = 16

    private let loop: EventLoop
    private let transport: AresTransport
    private var accepts: (@Loop ([UInt8]) -> Bool)?
    private var watches: [Watch] = []
    private var outcome: Result<[UInt8], UpstreamFailure>?
    private var onEnd: (@Loop (Result<[UInt8], UpstreamFailure>) -> Void)?
    private var isInsideLibrary = false
    private var isClosing = false

    /// Creates the channel; its socket is opened by `send`.
    ///
    /// - Parameters:
    ///   - accepts: over UDP, whether a datagram is the response; while none is, the exchange continues.
    ///   - onEnd: called once, unless the channel is closed before; the channel is already destroyed then. The response is,
    ///     over UDP, a datagram that was accepted; over TCP, a message with our ID and, regardless of letter case, our
    ///     question.
    init(
        server: LocalDNSServer, transport: AresTransport, loop: EventLoop,
        accepts: @escaping @Loop ([UInt8]) -> Bool,
        onEnd: @escaping @Loop (Result<[UInt8], UpstreamFailure>) -> Void
    ) throws(UpstreamFailure) {
        self.loop = loop
        self.transport = transport
        self.accepts = accepts
        self.onEnd = onEnd
        handle = unsafe try AresHandle(
            server: server, transport: transport, changed: socketChanged,
            data: Unmanaged.passUnretained(self).toOpaque())
        // Balanced in `destroy()`.
        _ = unsafe Unmanaged.passRetained(self)
    }

    /// Sends `query`; called once per channel. The exchange may end before this returns.
    func send(_ query: [UInt8]) {
        unsafe inLibrary { channel in
            unsafe query.withUnsafeBufferPointer { bytes in
                unsafe ares_send(
                    channel, bytes.baseAddress, Int32(bytes.count), replyArrived,
                    Unmanaged.passUnretained(self).toOpaque())
            }
        }
    }

    /// Ends the exchange and closes the sockets; nothing is reported any more. Without effect once the exchange has
    /// ended.
    func close() {
        onEnd = nil
        accepts = nil
        if isInsideLibrary {
            isClosing = true
        } else {
            destroy()
        }
    }

    /// Calls c-ares, then does what its callbacks requested.
    private func inLibrary(_ call: (OpaquePointer) -> Void) {
        guard !isInsideLibrary, let channel = unsafe handle?.pointer else { return }
        isInsideLibrary = true
        unsafe call(channel)
        isInsideLibrary = false
        guard outcome != nil || isClosing else { return }
        let end = onEnd.take()
        let ended = outcome.take()
        destroy()
        if let end, let ended { end(ended) }
    }

    /// Reads datagrams until one is accepted or the channel is closed.
    private func readDatagrams(_ descriptor: Int32) {
        for _ in 0..<Self.datagramsPerTurn {
            // `accepts` may close the channel, and with it the descriptor.
            guard handle != nil else { return }
            var count = 0
            let datagram = unsafe [UInt8](unsafeUninitializedCapacity: Self.datagramSize) { buffer, length in
                count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
                length = max(0, count)
            }
            if count >= 0 {
                if accepts?(datagram) == true { return end(.success(datagram)) }
            } else if errno == EAGAIN {
                return
            } else if errno != EINTR {
                return end(.failure(UpstreamFailure(socketError: errno)))
            }
        }
    }

    private func end(_ outcome: Result<[UInt8], UpstreamFailure>) {
        let end = onEnd.take()
        destroy()
        end?(outcome)
    }

    private func destroy() {
        guard let taken = handle.take() else { return }
        accepts = nil
        // This also reports the sockets as closed, and an unanswered query as destroyed.
        _ = consume taken
        for watch in watches { watch.cancel() }
        watches = []
        unsafe Unmanaged.passUnretained(self).release()
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
                outcome = outcome ?? .failure(.network("\(error)"))
            }
        }
    }

    fileprivate func ended(_ outcome: Result<[UInt8], UpstreamFailure>) { self.outcome = self.outcome ?? outcome }

    private func process(_ descriptor: Int32, _ ready: Interest) {
        if transport == .udp { return readDatagrams(descriptor) }
        unsafe inLibrary { channel in
            unsafe ares_process_fd(
                channel, ready.contains(.readable) ? descriptor : ccares_no_socket,
                ready.contains(.writable) ? descriptor : ccares_no_socket)
        }
    }
}

/// Called by c-ares when a socket was opened, is about to be closed (neither flag set), or waits for other events.
private func socketChanged(
    _ data: UnsafeMutableRawPointer?, _ descriptor: ares_socket_t, _ readable: Int32, _ writable: Int32
) {
    guard let data = unsafe data else { return }
    let channel = unsafe Unmanaged<AresChannel>.fromOpaque(data).takeUnretainedValue()
    var interest: Interest = []
    if readable != 0 { interest.insert(.readable) }
    if writable != 0 { interest.insert(.writable) }
    Loop.assumeIsolated { channel.socket(descriptor, waitsFor: interest) }
}

/// Called by c-ares once for each query, at the latest when its channel is destroyed. The buffer is valid during the
/// call only.
private func replyArrived(
    _ data: UnsafeMutableRawPointer?, _ status: Int32, _ timeouts: Int32, _ bytes: UnsafeMutablePointer<UInt8>?,
    _ count: Int32
) {
    guard let data = unsafe data else { return }
    let channel = unsafe Unmanaged<AresChannel>.fromOpaque(data).takeUnretainedValue()
    let outcome: Result<[UInt8], UpstreamFailure> =
        if status == ccares_success, let bytes = unsafe bytes {
            unsafe .success(Array(UnsafeBufferPointer(start: bytes, count: max(0, Int(count)))))
        } else {
            .failure(UpstreamFailure(aresStatus: status))
        }
    Loop.assumeIsolated { channel.ended(outcome) }
}
