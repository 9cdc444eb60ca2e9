import DNSResolver
import Platform
import Scheduling

/// A connection whose last response has been sent, and whose client may still be sending: closed at once it would be reset,
/// and the client might never read the response (RFC 9112 section 9.6). What comes is dropped.
@Loop
final class EndingConnection: ServedConnection {
    /// The most bytes that are dropped: more than is in transit to a client that reads its response.
    private nonisolated static let most = 1 << 20

    let client: ConnectionClient
    var ticket: FairShare.Ticket?
    private let socket: StreamSocket
    private let owner: Connections
    private var life: ConnectionLife
    private var dropped = 0

    /// - Parameter socket: of which the sending side is closed.
    init(_ socket: StreamSocket, client: ConnectionClient, in owner: Connections) {
        self.socket = socket
        self.client = client
        self.owner = owner
        life = ConnectionLife(at: owner.loop.now)
    }

    var isIdle: Bool { true }
    var lastActivity: Instant { life.lastActivity }
    var held: Int { 0 }

    func start() -> Bool {
        life.watch = try? owner.loop.watch(socket.number, for: .readable) { [self] _ in drop() }
        guard life.watch != nil else {
            socket.close()
            return false
        }
        life.setTimer(at: owner.loop.now + owner.limits.linger, owner) { [weak self] in self?.close() }
        return true
    }

    private func drop() {
        switch owner.read(socket) {
        case (.moved(let count), _):
            dropped += count
            if dropped > Self.most { close() }
        case (.waits, _): break
        case (.ended, _), (.failed, _): close()
        }
    }

    func finish() { close() }

    func close() { if life.end(socket, owner) { owner.remove(self) } }
}
