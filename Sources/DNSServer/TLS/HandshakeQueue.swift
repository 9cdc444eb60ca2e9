import DNSWire
import Platform
import Scheduling

/// The turns of handshakes: a few in each turn of the loop, since one takes as long as hundreds of answers. Those that
/// wait take turns by client network.
@Loop
final class HandshakeQueue {
    /// Steps in one turn of the loop. The dearest one, with a client's key on P-384, takes 1.5 ms.
    nonisolated static let perTurn = 2

    private struct Waiting: Sendable {
        let handshake: TLSHandshake
        let network: ClientNetwork
        let since: Instant
    }

    private let loop: EventLoop
    private var waiting: SharedQueue<Waiting>
    /// The turn in which steps were taken last, and how many.
    private var turn: UInt64 = 0
    private var taken = 0
    private var isScheduled = false

    /// - Parameter capacity: how many may wait.
    init(on loop: EventLoop, capacity: Int) {
        self.loop = loop
        waiting = SharedQueue(capacity: capacity) { ($0.network, $0.since) }
    }

    /// How many wait.
    var count: Int { waiting.count }

    /// Has a handshake take its next step, now or in a later turn.
    ///
    /// - Returns: false when it finds no room.
    func step(_ handshake: TLSHandshake) -> Bool {
        if waiting.count == 0, roomInTurn > 0 {
            taken += 1
            handshake.step()
            return true
        }
        handshake.pause()
        let network = ClientNetwork(handshake.client.address.ip)
        let hasRoom = waiting.append(Waiting(handshake: handshake, network: network, since: loop.now))
        schedule()
        return hasRoom
    }

    /// How many steps this turn of the loop has left.
    private var roomInTurn: Int {
        if turn != loop.turns { (turn, taken) = (loop.turns, 0) }
        return Self.perTurn - taken
    }

    private func schedule() {
        guard !isScheduled, waiting.count > 0 else { return }
        isScheduled = true
        loop.atTurnEnd { [weak self] in
            guard let self else { return }
            isScheduled = false
            var batch: [Waiting] = []
            waiting.take(roomInTurn, into: &batch)
            taken += batch.count
            for each in batch { each.handshake.step() }
            schedule()
        }
    }
}
