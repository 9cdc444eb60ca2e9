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

    /// The element with this number; nil when it no longer waits.
    package subscript(ticket: FairShare.Ticket) -> Element? { elements[ticket] }

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
        first(held) { _ in 0 }.flatMap { take($0) }
    }

    /// The next element that may be taken: of the network that holds least of what is waited for, and in turns where
    /// several hold equally much; of its elements the first of those with the lowest rank.
    ///
    /// - Parameters:
    ///   - held: how much a network holds.
    ///   - rank: from 0 on; nil for an element that may not be taken.
    package func first(_ held: (ClientNetwork) -> Int, rank: (Element) -> Int?) -> FairShare.Ticket? {
        if turn >= turns.count { turn = 0 }
        var best: (ticket: FairShare.Ticket, held: Int, rank: Int)?
        for network in turns[turn...] + turns[..<turn] {
            let held = turns.count == 1 ? 0 : held(network)
            if let best, best.held < held { continue }
            guard let (ticket, rank) = first(of: network, rank) else { continue }
            if best.map({ (held, rank) < ($0.held, $0.rank) }) ?? true { best = (ticket, held, rank) }
        }
        return best?.ticket
    }

    private func first(of network: ClientNetwork, _ rank: (Element) -> Int?) -> (FairShare.Ticket, rank: Int)? {
        var best: (FairShare.Ticket, rank: Int)?
        var next = holdings.first(of: network)
        while let ticket = next, best?.rank != 0 {
            if let rank = elements[ticket].flatMap(rank), best.map({ rank < $0.rank }) ?? true { best = (ticket, rank) }
            next = holdings.next(after: ticket)
        }
        return best
    }

    /// Removes an element whose turn has come: the next one is of another network where several hold equally much.
    @discardableResult
    package func take(_ ticket: FairShare.Ticket) -> Element? {
        guard let network = holdings.holder(of: ticket), let index = turns.firstIndex(of: network) else { return nil }
        turn = index
        let element = remove(ticket)
        if holdings.held(by: network) > 0 { turn += 1 }
        return element
    }
}
