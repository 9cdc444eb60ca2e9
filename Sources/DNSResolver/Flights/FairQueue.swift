package import DNSWire

/// Elements that wait for their turn, shared fairly by client networks: those of one network are first in, first out,
/// and when there are too many one of the network that has most is displaced (`FairShare`).
///
/// An object: reading one of its counts, as each request does, would copy the whole value.
package final class FairQueue<Element> {
    private var holdings: FairShare
    private var elements: [FairShare.Ticket: Element] = [:]
    /// The networks that have elements, in round-robin order.
    private var turns: [ClientNetwork] = []
    /// The index in `turns` of the next network.
    private var turn = 0

    /// - Parameter capacity: the most elements, at least 1.
    package init(capacity: Int) { holdings = FairShare(capacity: capacity) }

    /// How many elements wait.
    package var count: Int { holdings.count }

    /// Whether a further element needs `displace` first.
    package var isFull: Bool { holdings.isFull }

    /// How many networks have elements.
    package var networks: Int { turns.count }

    /// All elements, in no order.
    package var all: some Collection<Element> { elements.values }

    /// Appends an element to those of its network, whether there is room or not.
    ///
    /// - Returns: its number while it waits.
    package func append(_ element: Element, for network: ClientNetwork) -> FairShare.Ticket {
        if holdings.held(by: network) == 0 { turns.append(network) }
        let ticket = holdings.add(for: network)
        elements[ticket] = element
        return ticket
    }

    /// Removes the element that is displaced by one of `network`; nil when there is none, and the newcomer is refused.
    package func displace(for network: ClientNetwork) -> Element? {
        holdings.yielding(to: network).flatMap { remove($0) }
    }

    /// Removes an element.
    @discardableResult
    package func remove(_ ticket: FairShare.Ticket) -> Element? {
        guard let network = holdings.holder(of: ticket) else { return nil }
        holdings.remove(ticket)
        if holdings.held(by: network) == 0, let index = turns.firstIndex(of: network) {
            turns.remove(at: index)
            if index < turn { turn -= 1 }
        }
        return elements.removeValue(forKey: ticket)
    }

    /// Removes and returns the first element of a network; nil when it has none.
    package func popFirst(of network: ClientNetwork) -> Element? {
        holdings.first(of: network).flatMap { remove($0) }
    }

    /// Removes and returns the next element: of the network that holds least of what is waited for, and in turns where
    /// several hold equally much.
    ///
    /// - Parameter held: how much a network holds.
    package func popFirst(_ held: (ClientNetwork) -> Int) -> Element? {
        if turn >= turns.count { turn = 0 }
        var best: (index: Int, held: Int)?
        for index in Array(turn..<turns.count) + Array(0..<turn) {
            let held = turns.count == 1 ? 0 : held(turns[index])
            if best.map({ held < $0.held }) ?? true { best = (index, held) }
        }
        guard let best else { return nil }
        let network = turns[best.index]
        turn = best.index
        let element = popFirst(of: network)
        if holdings.held(by: network) > 0 { turn += 1 }
        return element
    }
}
