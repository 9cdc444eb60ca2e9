import DNSWire
import Platform

/// Accepts the connections to one address.
@Loop
final class Listener: Sendable {
    /// The most connections accepted in one turn of the loop.
    private nonisolated static let acceptsPerTurn = 64
    /// How long no connection is accepted after descriptors have run out, unless one is closed before.
    private nonisolated static let pause: Duration = .seconds(1)

    private var socket: ListeningSocket?
    private let connections: Connections
    /// Called with each connection and its client, which are for `connections`.
    private let admit: @Loop (consuming Descriptor, SocketAddress) -> Void
    private let events: EventLog
    private var watch: Watch?
    private var retry: LoopTimer?

    init(
        _ socket: ListeningSocket, of connections: Connections, events: EventLog,
        admit: @escaping @Loop (consuming Descriptor, SocketAddress) -> Void
    ) {
        self.socket = socket
        self.connections = connections
        self.events = events
        self.admit = admit
    }

    /// Begins to accept connections.
    func start() throws(SystemError) {
        guard let socket else { return }
        watch = try connections.loop.watch(socket.descriptor.number, for: .readable) { [self] _ in accept() }
        connections.onClose { [weak self] in self?.resume() }
    }

    /// Accepts no more connections, and closes the socket.
    func stop() {
        watch.take()?.cancel()
        retry.take()?.cancel()
        socket = nil
    }

    private func accept() {
        // Few enough that what a new connection has sent is read before others may take its place.
        for _ in 0..<min(Self.acceptsPerTurn, 1 + connections.capacity / 4) {
            guard let socket else { return }
            switch socket.accept() {
            case .connection(let descriptor, let peer): admit(descriptor, peer)
            case .wouldBlock: return
            case .retry: continue
            case .exhausted(let error): return pause("\(error)")
            }
        }
    }

    /// Pauses accepting: the socket with its waiting connections stays readable, and the loop would spin.
    private func pause(_ why: String) {
        events.report(.limitConnections, "no connection can be taken: \(why)")
        watch?.update([])
        retry?.cancel()
        retry = connections.loop.schedule(after: Self.pause) { [weak self] in self?.resume() }
    }

    private func resume() {
        guard retry != nil else { return }
        retry.take()?.cancel()
        if watch?.update(.readable) == false {
            pause("the kernel watches no more descriptors (fs.epoll.max_user_watches)")
        }
    }
}
