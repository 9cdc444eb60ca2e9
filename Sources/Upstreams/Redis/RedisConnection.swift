import DNSWire
import Platform
import Scheduling

/// One connection to a Redis: commands go out as they come (pipelined), and replies are matched to them in order.
@Loop
final class RedisConnection {
    /// The most commands without a reply; and the most bytes that wait to be sent. Beyond that the server takes nothing.
    private nonisolated static let mostAwaited = 2_048
    private nonisolated static let mostUnsent = 1 << 18

    typealias Completion = @Loop (RedisReply?) -> Void

    private let socket: any ByteSocket
    private var reader: RedisReader
    /// For each command without a reply; those before `first` have theirs.
    private var awaited: [Completion] = []
    private var first = 0
    /// What is sent once the connection is made, and after that at the end of each turn: commands of many questions leave
    /// together.
    private var unsent: [UInt8] = []
    private var isFlushDue = false
    private let loop: EventLoop
    /// Called with what is published. Nil once closed.
    private var publish: (@Loop (RedisReply) -> Void)?
    /// Whether commands may be sent: the connection is made.
    private var isReady = false
    /// Called once when the connection has ended; not after `close()`.
    private var end: (@Loop (_ reason: String, _ hasFailed: Bool) -> Void)?

    /// Starts to connect, and sends the greeting first.
    ///
    /// - Parameters:
    ///   - publish: called with each reply that answers no command.
    ///   - end: called once when it has ended by itself: with the reason, and whether that is a failure. It is none when no
    ///     reply was awaited, for servers close idle connections.
    /// - Throws: without descriptors, memory, route or trust anchors.
    init(
        _ settings: RedisSettings, at address: SocketAddress?, on loop: EventLoop, paths: NetworkPaths,
        publish: @escaping @Loop (RedisReply) -> Void,
        end: @escaping @Loop (_ reason: String, _ hasFailed: Bool) -> Void
    ) throws(UpstreamFailure) {
        guard let reader = RedisReader() else { throw .overloaded("no memory for a connection to Redis") }
        self.reader = reader
        self.publish = publish
        self.end = end
        self.loop = loop
        socket = try Self.socket(settings, at: address, now: loop.now, paths: paths)
        try socket.watch(on: loop) { [self] in serve($0) }
        for command in settings.greeting {
            // A refusal's text may come from anywhere, and never holds what was sent.
            _ = send(command) { [self] reply in
                guard let refusal = reply?.refusal else { return }
                fail("it refuses \(command.name): \(refusal)")
            }
        }
    }

    private static func socket(
        _ settings: RedisSettings, at address: SocketAddress?, now: Instant, paths: NetworkPaths
    ) throws(UpstreamFailure) -> any ByteSocket {
        switch (settings.place, address) {
        case (.path(let path), _):
            do throws(SystemError) {
                return PlainSocket(try .connected(toUnixSocket: path), to: path)
            } catch {
                throw .network(error.description)
            }
        case (.host(let host, _, let usesTLS), let address?):
            let origin = HTTPOrigin(
                scheme: usesTLS ? .https : .http, address: address.ip, port: address.port, hosts: [host],
                caFile: settings.caFile
            ).reached(by: paths)
            if let reason = paths.unreachableReason(for: origin.nextHop) { throw .network(reason) }
            guard usesTLS else { return PlainSocket(try HTTPSocket.connect(to: origin), to: origin.addressText) }
            return try TLSSocket(to: origin, host: 0, resuming: nil, at: now, offersHTTP: false)
        case (.host, nil): throw .network("no address is known")
        }
    }

    /// Sends a command.
    ///
    /// - Parameter done: called once with its reply, or nil when the connection ends first; never before this returns.
    /// - Returns: false when it cannot be sent; `done` is then not called.
    func send(_ command: RedisCommand, _ done: @escaping Completion) -> Bool {
        guard awaited.count - first < Self.mostAwaited, sendWithoutReply(command) else { return false }
        awaited.append(done)
        return true
    }

    /// Sends a command whose replies are among what is published.
    ///
    /// - Returns: false when it cannot be sent.
    func sendWithoutReply(_ command: RedisCommand) -> Bool {
        guard end != nil, unsent.count + socket.unsentCount < Self.mostUnsent, let bytes = command.encoded else {
            return false
        }
        unsent += bytes
        if isReady, !isFlushDue {
            isFlushDue = true
            loop.atTurnEnd { [self] in flush() }
        }
        return true
    }

    /// Whether a command has no reply yet.
    private var isAwaiting: Bool { first < awaited.count }

    private func serve(_ ready: Interest) {
        do {
            try socket.serve(ready) { event throws(HTTPEnd) in
                switch event {
                case .isReady: isReady = true
                case .bytes(let bytes): try receive(bytes)
                }
            }
            // Those whose handshake has just ended are sent outside of it.
            flush()
        } catch {
            fail(Self.reason(of: error))
        }
    }

    private func flush() {
        isFlushDue = false
        guard isReady, end != nil, !unsent.isEmpty else { return }
        do {
            try socket.write(unsent)
            unsent.removeAll(keepingCapacity: true)
        } catch {
            fail("\(error)")
        }
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTPEnd) {
        do {
            try reader.receive(bytes) { take($0) }
        } catch {
            throw .failed(.unusable(error.reason))
        }
    }

    private func take(_ reply: RedisReply) {
        if case .list = reply {
            publish?(reply)
        } else if isAwaiting {
            let done = awaited[first]
            first += 1
            if first == awaited.count {
                awaited.removeAll(keepingCapacity: true)
                first = 0
            }
            done(reply)
        }
    }

    private static func reason(of end: HTTPEnd) -> String {
        switch end {
        case .broken(let failure, _), .refusedName(let failure), .failed(let failure), .evicted(let failure),
            .unprocessed(let failure, _):
            "\(failure)"
        case .reply, .lacksHTTP2: "the connection was closed"
        }
    }

    private func fail(_ reason: String) {
        let (end, hasFailed) = (end.take(), !isReady || isAwaiting)
        close()
        end?(reason, hasFailed)
    }

    /// Ends it; commands without a reply get nil.
    func close() {
        end = nil
        publish = nil
        socket.close(saysGoodbye: true)
        let left = awaited[first...]
        awaited = []
        first = 0
        for done in left { done(nil) }
    }
}
