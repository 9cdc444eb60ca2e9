import DNSWire
import Platform
import Scheduling

/// The turns of what takes the loop long for a connection: a step of its handshake, or queries that the cache cannot answer.
///
/// So much is done in each turn of the loop; of that the client networks for which something waits have equal parts. What
/// waits stays with its connection, which is not read meanwhile.
@Loop
final class TurnQueue {
    private struct Waiting {
        let act: @Loop () -> Void
    }

    private let loop: EventLoop
    private let perTurn: Int
    private let capacity: Int
    private var waiting = 0
    /// What waits, in order for each network.
    private var lanes: [ClientNetwork: ArraySlice<Waiting>] = [:]
    /// The networks of which something waits, in the order of their turns.
    private var order: [ClientNetwork] = []
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
        (self.loop, self.perTurn, self.capacity) = (loop, perTurn, capacity)
    }

    /// Whether the connection that asks may do something now; else it waits.
    var hasRoom: Bool { share.map { $0 > 0 } ?? (order.isEmpty && left > 0) }

    /// How much is left to do in this turn of the loop.
    private var left: Int { turn == loop.turns ? perTurn - done : perTurn }

    /// Counts what is done.
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
        let held = lanes[network]?.count
        guard waiting < capacity || held ?? 0 < capacity / (lanes.count + (held == nil ? 1 : 0)) else { return false }
        if held == nil { order.append(network) }
        lanes[network, default: []].append(Waiting(act: act))
        waiting += 1
        schedule()
        return true
    }

    private func schedule() {
        guard !isScheduled, !order.isEmpty else { return }
        isScheduled = true
        loop.atTurnEnd { [weak self] in
            self?.isScheduled = false
            self?.serve()
            self?.schedule()
        }
    }

    /// Gives equal parts of what is left to the networks, and of its part to what waits of each.
    private func serve() {
        let networks = order.prefix(max(0, left))
        guard !networks.isEmpty else { return }
        let part = left / networks.count
        order.removeFirst(networks.count)
        for network in networks {
            let count = lanes[network]?.count ?? 0
            for _ in 0..<min(part, count) {
                guard let next = lanes[network]?.popFirst() else { break }
                waiting -= 1
                share = max(1, part / count)
                next.act()
            }
            if lanes[network]?.isEmpty == false { order.append(network) } else { lanes[network] = nil }
        }
        share = nil
    }
}
