import DNSResolver
import DNSWire
import Platform
import Scheduling

/// A Redis: one server, or the nodes of a Redis Cluster, of which redirections tell where a name is.
///
/// The server of the configuration is asked first; what it or another node redirects is asked of the node that it names,
/// and so are the other names of that slot from then on.
@Loop
final class RedisNodes {
    /// The most nodes beside the configured one.
    private nonisolated static let mostNodes = 64
    /// How often one command is redirected: when a slot moves, twice in a row is possible.
    private nonisolated static let mostRedirections = 3

    typealias Completion = RedisChannel.Completion

    /// The server of the configuration.
    let home: RedisLink
    private let clock: any LoopClock
    private let timeout: Duration
    private let makeNode: @Loop (SocketAddress) -> RedisLink
    /// Nodes that redirections named.
    private var nodes: [(address: SocketAddress, link: RedisLink)] = []
    /// For each slot 0 for the configured server, or the index in `nodes` and 1; empty before the first redirection.
    private var slots: [UInt8] = []

    /// - Parameters:
    ///   - timeout: within which a reply must come, redirections included.
    ///   - makeNode: makes the way to a node.
    init(
        home: RedisLink, clock: any LoopClock, timeout: Duration, makeNode: @escaping @Loop (SocketAddress) -> RedisLink
    ) {
        self.home = home
        self.clock = clock
        self.timeout = timeout
        self.makeNode = makeNode
    }

    /// Sends a command.
    ///
    /// - Parameters:
    ///   - name: in Redis, which says the node.
    ///   - done: called once with its reply, or nil when none came in time; never before this returns.
    /// - Returns: false when it cannot be sent; `done` is then not called.
    func send(_ command: RedisCommand, about name: [UInt8], _ done: @escaping Completion) -> Bool {
        let number = slots.isEmpty ? 0 : Int(slots[RedisSlot.number(of: name)])
        let link = number == 0 ? home : nodes[number - 1].link
        guard
            send(command, by: link, until: clock.now + timeout, asking: false, left: Self.mostRedirections, done)
        else {
            // Another node may have its slots by now, which the configured server knows.
            if number > 0 { forgetSlots(of: number) }
            return false
        }
        return true
    }

    private func send(
        _ command: RedisCommand, by link: RedisLink, until deadline: Instant, asking: Bool, left: Int,
        _ done: @escaping Completion
    ) -> Bool {
        guard let connection = link.usable() else { return false }
        if asking { _ = connection.send(RedisCommand("ASKING"), until: deadline) { _ in } }
        return connection.send(command, until: deadline) { [self] reply in
            guard case .error(let text) = reply, let redirection = RedisRedirection(text) else { return done(reply) }
            let sent =
                left > 0 && clock.now < deadline
                && follow(redirection, from: link).map {
                    send(
                        command, by: $0, until: deadline, asking: redirection.isForOnce, left: left - 1, done)
                } == true
            if !sent { done(nil) }
        }
    }

    /// The node that a redirection names; nil for one that is not asked.
    private func follow(_ redirection: RedisRedirection, from link: RedisLink) -> RedisLink? {
        guard let place = link.place, let address = redirection.address(from: place) else { return nil }
        let number: Int
        if address == home.place {
            number = 0
        } else if let known = nodes.firstIndex(where: { $0.address == address }) {
            number = known + 1
        } else if let added = add(address) {
            number = added
        } else {
            return nil
        }
        if !redirection.isForOnce {
            if slots.isEmpty { slots = [UInt8](repeating: 0, count: RedisSlot.count) }
            slots[redirection.slot] = UInt8(truncatingIfNeeded: number)
        }
        return number == 0 ? home : nodes[number - 1].link
    }

    /// - Returns: the number of the new node; nil when there are too many that have slots.
    private func add(_ address: SocketAddress) -> Int? {
        let made = (address, makeNode(address))
        guard nodes.count == Self.mostNodes else {
            nodes.append(made)
            return nodes.count
        }
        let used = Set(slots)
        guard let free = nodes.indices.first(where: { !used.contains(UInt8(truncatingIfNeeded: $0 + 1)) }) else {
            return nil
        }
        nodes[free].link.shutDown()
        nodes[free] = made
        return free + 1
    }

    private func forgetSlots(of number: Int) {
        for index in slots.indices where slots[index] == UInt8(truncatingIfNeeded: number) { slots[index] = 0 }
    }

    /// Called when the network has changed.
    func networkChanged() {
        home.networkChanged()
        for node in nodes { node.link.networkChanged() }
    }

    /// Ends all connections; no others are made.
    func shutDown() {
        home.shutDown()
        for node in nodes { node.link.shutDown() }
    }
}
