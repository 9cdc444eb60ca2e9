import Logs
import Platform
import Scheduling

/// Takes the TCP connections to one address.
@Loop
final class TCPListener: Sendable {
    /// Connections taken in one turn of the loop.
    private nonisolated static let acceptsPerTurn = 64
    /// How long no connection is taken after descriptors have run out, unless one is closed before.
    private nonisolated static let pause: Duration = .seconds(1)

    private var socket: ListeningSocket?
    private let connections: TCPConnections
    private let events: EventLog
    private var watch: Watch?
    private var retry: LoopTimer?

    init(_ socket: ListeningSocket, connections: TCPConnections, events: EventLog) {
        self.socket = socket
        self.connections = connections
        self.events = events
    }

    /// Begins to take connections.
    func start() throws(SystemError) {
        guard let socket else { return }
        watch = try connections.loop.watch(socket.descriptor.number, for: .readable) { [self] _ in accept() }
        connections.onClose { [weak self] in self?.resume() }
    }

    /// Takes no more, and closes the socket.
    func stop() {
        watch?.cancel()
        watch = nil
        retry?.cancel()
        retry = nil
        socket = nil
    }

    private func accept() {
        for _ in 0..<Self.acceptsPerTurn {
            guard let socket else { return }
            switch socket.accept() {
            case .connection(let descriptor, let peer): connections.admit(descriptor, from: peer)
            case .wouldBlock: return
            case .retry: continue
            case .exhausted(let error): return pause(error)
            }
        }
    }

    /// Leaves the waiting connections alone for a while: their socket stays readable, and the loop would spin.
    private func pause(_ error: SystemError) {
        events.report(LogMessage(.limitConnections, about: "", "no TCP connection can be taken: \(error)"))
        watch?.update([])
        retry?.cancel()
        retry = connections.loop.schedule(after: Self.pause) { [weak self] in self?.resume() }
    }

    private func resume() {
        guard retry != nil else { return }
        retry?.cancel()
        retry = nil
        watch?.update(.readable)
    }
}
