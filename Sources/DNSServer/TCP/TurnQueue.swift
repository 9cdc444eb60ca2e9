import DNSWire
import Platform

/// The turns of what takes the loop long for a connection: a step of its handshake, a miss, another request over HTTP.
///
/// So much is done in each turn of the loop; of that the client networks for which something waits have equal parts. What
/// waits stays with its connection, which is not read meanwhile.
@Loop
final class TurnQueue {
    private struct Waiting {
        let network: ClientNetwork
        let act: @Loop () -> Void
    }

    private let loop: EventLoop
    private let perTurn: Int
    private var queue: SharedQueue<Waiting>
    /// How many there are in it.
    private var waiting = 0
    /// The turn of the loop in which something was done last, and how much.
    private var turn: UInt64 = 0
    private var done = 0
    /// What one that has waited may still do; nil: none is at its turn.
    private var share: Int?
    private var isScheduled = false

    /// - Parameters:
    ///   - perTurn: how much is done in a turn of the loop.
    ///   - capacity: for how many connections something may wait; a network always has its equal part of that.
    init(on loop: EventLoop, perTurn: Int, capacity: Int) {
        (self.loop, self.perTurn) = (loop, perTurn)
        queue = SharedQueue(capacity: capacity, few: 0) { ($0.network, Instant(nanoseconds: 0)) }
    }

    /// Whether the connection that asks may do something now; else it waits.
    var hasRoom: Bool { share.map { $0 > 0 } ?? (waiting == 0 && left > 0) }

    /// How much is left to do in this turn of the loop.
    private var left: Int { turn == loop.turns ? perTurn - done : perTurn }

    func count() {
        if turn != loop.turns { (turn, done) = (loop.turns, 0) }
        done += 1
        share? -= 1
    }

    /// Has `act` called at the end of this turn of the loop, or, without room, at the turn of a client network.
    ///
    /// - Returns: false when too much waits, and so the connection is to be closed.
    func wait(of network: ClientNetwork, _ act: @escaping @Loop () -> Void) -> Bool {
        if hasRoom {
            loop.atTurnEnd(act)
            return true
        }
        guard queue.append(Waiting(network: network, act: act)) else { return false }
        waiting += 1
        schedule()
        return true
    }

    private func schedule() {
        guard !isScheduled, waiting > 0 else { return }
        isScheduled = true
        loop.atTurnEnd { [weak self] in
            self?.isScheduled = false
            self?.serve()
            self?.schedule()
        }
    }

    /// Gives what is left to the networks in turn, one after the other; to one that waits alone all of it.
    private func serve() {
        var next: [Waiting] = []
        // Once round without anything done it ends: what waits may only have come back.
        var idle = 0
        while left > 0, waiting > 0, idle <= waiting {
            let before = left
            share = waiting == 1 ? before : 1
            queue.take(1, into: &next)
            waiting -= 1
            next.popLast()?.act()
            idle = left == before ? idle + 1 : 0
        }
        share = nil
    }
}
