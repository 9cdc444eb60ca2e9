import DNSWire
public import HTTPDNS
import Platform

/// One connection to a Redis: commands go out as they come (pipelined), and replies are matched to them in order.
@Loop
final class RedisConnection: RedisChannel {
    /// The most commands without a reply; and the most bytes that wait to be sent. Beyond that the server takes nothing.
    private nonisolated static let mostAwaited = 2_048
    private nonisolated static let mostUnsent = 1 << 18
    /// The most commands that wait for the connection to be made, and how long that may take.
    private nonisolated static let mostEarly = 256
    private nonisolated static let patience: Duration = .seconds(5)

    private typealias Awaited = (done: Completion, deadline: Instant?)

    private let socket: ServiceSocket
    private var reader: RedisReader
    /// For each command without a reply, the oldest first.
    private var awaited: [Awaited] = []
    /// Commands with a deadline that came before the connection was made.
    private var early: [(command: RedisCommand, awaited: Awaited)] = []
    /// Whether one of these was not sent in time: none is taken any more before the connection is made.
    private var isLate = false
    /// Until the connection is made.
    private var connecting: LoopTimer?
    /// Fires when a reply may be late: one for all that are awaited, since later commands have later deadlines.
    private var watchdog: LoopTimer?
    /// What is sent once the connection is made, and after that at the end of each turn: commands of many questions leave
    /// together.
    private var unsent: [UInt8] = []
    private let loop: EventLoop
    /// For logs: what deadlines are made of.
    private let timeout: Duration
    /// Nil once closed.
    private var events: RedisChannelEvents?
    /// Whether commands may be sent: the connection is made.
    private var isReady = false

    /// Starts to connect, and sends the greeting first. Throws without descriptors, memory, route or trust anchors.
    init(
        _ settings: RedisSettings, at address: SocketAddress?, on loop: EventLoop, paths: NetworkPaths,
        events: RedisChannelEvents
    ) throws(UpstreamFailure) {
        guard let reader = RedisReader() else { throw .overloaded("no memory for a connection to Redis") }
        self.reader = reader
        self.events = events
        self.loop = loop
        timeout = settings.timeout
        socket = try Self.socket(settings, at: address, now: loop.now, paths: paths)
        try socket.watch(on: loop) { [self] in serve($0) }
        connecting = loop.schedule(after: Self.patience) { [self] in fail("no connection within 5 s") }
        for command in settings.greeting {
            // A refusal's text may come from anywhere, and never holds what was sent.
            _ = send(command, until: nil) { [self] reply in
                guard let refusal = reply?.refusal else { return }
                fail("it refuses \(command.name): \(refusal)")
            }
        }
    }

    private static func socket(
        _ settings: RedisSettings, at address: SocketAddress?, now: Instant, paths: NetworkPaths
    ) throws(UpstreamFailure) -> ServiceSocket {
        switch (settings.place, address) {
        case (.path(let path), _):
            do throws(SystemError) {
                return ServiceSocket(try .connected(toUnixSocket: path), to: path)
            } catch {
                throw .network(error.description)
            }
        case (.host(let host, _, let usesTLS), let address?):
            let origin = HTTPOrigin(
                scheme: usesTLS ? .https : .http, address: address.ip, port: address.port, hosts: [host],
                caFile: settings.caFile
            ).reached(by: paths)
            if let reason = paths.unreachableReason(for: origin.nextHop) { throw .network(reason) }
            return try ServiceSocket(to: origin, host: 0, resuming: nil, at: now, offering: [])
        case (.host, nil): throw .network("no address is known")
        }
    }

    // MARK: Commands

    func send(_ command: RedisCommand, until deadline: Instant?, _ done: @escaping Completion) -> Bool {
        guard awaited.count < Self.mostAwaited else { return false }
        if isReady || deadline == nil {
            guard sendWithoutReply(command) else { return false }
            awaited.append((done, deadline))
        } else {
            guard events != nil, !isLate, early.count < Self.mostEarly else { return false }
            early.append((command, (done, deadline)))
        }
        if let deadline { setWatchdog(deadline) }
        return true
    }

    func sendWithoutReply(_ command: RedisCommand) -> Bool {
        guard events != nil, unsent.count + socket.pendingCount < Self.mostUnsent else { return false }
        if isReady, unsent.isEmpty { loop.atTurnEnd { [self] in flush() } }
        command.append(to: &unsent)
        return true
    }

    private func setWatchdog(_ deadline: Instant) {
        guard watchdog == nil else { return }
        watchdog = loop.schedule(at: deadline) { [self] in
            watchdog = nil
            // A handshake may take longer than a reply: what waits ends without one, and it goes on.
            guard isReady else { return giveUpEarly() }
            guard let next = awaited.lazy.compactMap(\.deadline).first else { return }
            if next > loop.now { return setWatchdog(next) }
            fail("no reply within \(Int(timeout / .milliseconds(1))) ms")
        }
    }

    /// Ends the commands that came too early for a connection that is not made yet.
    private func giveUpEarly() {
        isLate = true
        for (_, awaited) in takeEarly() { awaited.done(nil) }
    }

    private func takeEarly() -> [(command: RedisCommand, awaited: Awaited)] {
        defer { early = [] }
        return early
    }

    // MARK: The socket

    private func serve(_ ready: Interest) {
        do {
            try socket.serve(ready) { event throws(UpstreamFailure) in
                switch event {
                case .isReady: isReady = true
                case .bytes(let bytes): unsafe try receive(bytes)
                case .isEnded: break
                }
            }
            if isReady {
                connecting.take()?.cancel()
                for (command, awaited) in takeEarly() {
                    command.append(to: &unsent)
                    self.awaited.append(awaited)
                }
            }
            // Those whose handshake has just ended are sent outside of it.
            flush()
        } catch {
            fail("\(error)")
        }
    }

    private func flush() {
        guard isReady, events != nil, !unsent.isEmpty else { return }
        do {
            try socket.write(unsent)
            unsent.removeAll(keepingCapacity: true)
        } catch {
            fail("\(error)")
        }
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) throws(UpstreamFailure) {
        unsafe try reader.receive(bytes) { reply in
            if case .list = reply {
                events?.publish(reply)
            } else if !awaited.isEmpty {
                awaited.removeFirst().done(reply)
            }
        }
    }

    // MARK: The end

    private func fail(_ reason: String) {
        let (events, hasFailed) = (events, !isReady || !awaited.isEmpty)
        // Its owner first: what gets no reply below may send again, and shall find that this one has ended.
        self.events = nil
        events?.end(reason, hasFailed)
        close()
    }

    func close() {
        events = nil
        socket.close(saysGoodbye: true)
        connecting.take()?.cancel()
        watchdog.take()?.cancel()
        let left = awaited + takeEarly().map(\.awaited)
        awaited = []
        for each in left { each.done(nil) }
    }
}

/// A way to send commands to one Redis, until it is closed or ends by itself.
@Loop
protocol RedisChannel: AnyObject {
    typealias Completion = @Loop (RedisReply?) -> Void

    /// Sends a command.
    ///
    /// - Parameters:
    ///   - deadline: when the connection fails unless the reply has come, or, while it is being made, the command is given
    ///     up; not before that of an earlier command; nil: never.
    ///   - done: called once with its reply, or nil when the connection ends first; never before this returns.
    /// - Returns: false when it cannot be sent; `done` is then not called.
    func send(_ command: RedisCommand, until deadline: Instant?, _ done: @escaping Completion) -> Bool

    /// Sends a command whose replies are among what is published. Returns false when it cannot be sent.
    func sendWithoutReply(_ command: RedisCommand) -> Bool

    /// Ends it; commands without a reply get nil.
    func close()
}

/// What a connection tells its owner: each reply that answers no command, and once that it has ended by itself, with the
/// reason, and whether that is a failure. It is none when no reply was awaited, for servers close idle connections.
typealias RedisChannelEvents = (
    publish: @Loop (RedisReply) -> Void, end: @Loop (_ reason: String, _ hasFailed: Bool) -> Void
)

/// Where a Redis is, and how it is asked.
public struct RedisSettings: Hashable, Sendable {
    public enum Place: Hashable, Sendable {
        /// A name, or an address as text; with TLS the server must show a certificate for it.
        case host(String, port: UInt16, usesTLS: Bool)
        /// The path of a Unix socket, at most 107 bytes.
        case path(String)
    }

    public var place: Place
    /// Empty: the server's default user.
    public var user: String
    /// Nil: none is sent.
    public var password: Secret?
    /// The number of the database, which the server counts from 0.
    public var database: Int
    /// A PEM file of trust anchors; empty: the system's.
    public var caFile = ""
    /// How long one look-up may take.
    public var timeout: Duration = .milliseconds(50)

    public init(place: Place, user: String = "", password: Secret? = nil, database: Int = 0) {
        (self.place, self.user, self.password, self.database) = (place, user, password, database)
    }

    /// The commands that every connection begins with.
    var greeting: [RedisCommand] {
        var commands: [RedisCommand] = []
        if let password {
            let words = (user.isEmpty ? [] : [user]) + [password.value]
            commands.append(RedisCommand("AUTH", words.map { Array($0.utf8) }))
        }
        if database != 0 { commands.append(RedisCommand("SELECT", Array("\(database)".utf8))) }
        return commands
    }

    /// Host and port, or the path, for logs.
    public var placeText: String {
        switch place {
        case .host(let host, let port, _): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .path(let path): path
        }
    }
}
