public import DNSWire

/// Counts the holdings of a bounded resource by client network, and selects what is evicted when all of it is held.
///
/// The rule, everywhere: there is no limit for one client network. Alone it may hold everything. When nothing is left
/// and one more is wanted, the newcomer is counted in, and the network that then holds most loses a unit: the one that
/// it has had longest, or, if that network is the newcomer's own, the newcomer. So a network that holds less than the
/// largest always gets its unit, whatever the others do.
///
/// Where the newcomer would be the equal of the largest, the same is asked of the IPv6 /56s, and then of the /48s, which is
/// what sites are given (RFC 6177): the largest one loses a unit of a network that holds as much as the newcomer will, unless its
/// /48 holds less than the newcomer's would. Networks that are equal at every size cannot evict each other's units.
///
/// This only counts. Units are numbers; what they stand for is in a table of the caller's. Every call takes the same
/// short time however much is held (`held(by:)` and `add` look the network up in a table), and memory is proportional
/// to the most that was held at once since nothing was held.
public struct FairShare: Sendable {
    /// One unit, until it is removed.
    public typealias Ticket = ShareLevel.Ticket

    /// Storage for this many units stays allocated when nothing is held.
    private static let retained = 64
    /// The most units that are looked at for a suitable one.
    private static let longestSearch = 32
    /// The lengths of the larger networks, in the order in which they are asked.
    private static let sizes = [56, 48]

    /// How many units there are.
    public let capacity: Int
    /// How many are held.
    public private(set) var count = 0

    private var networksHolding = ShareLevel()
    /// For each of `sizes`; of IPv6 alone.
    private var sites = [ShareLevel](repeating: ShareLevel(), count: sizes.count)
    private var freeTickets: [Ticket] = []
    /// The numbers below were given out before.
    private var nextTicket = 0

    /// - Parameter capacity: how many units there are, at least 1.
    public init(capacity: Int) { self.capacity = max(1, capacity) }

    /// Whether nothing is left.
    public var isFull: Bool { count >= capacity }

    /// How many units a network holds.
    public func held(by network: ClientNetwork) -> Int { networksHolding.held(by: network) }

    /// The network that holds a unit; nil for one that is free.
    public func holder(of ticket: Ticket) -> ClientNetwork? { networksHolding.holder(of: ticket) }

    /// The network that holds most, and how much.
    public var largest: (network: ClientNetwork, count: Int)? { networksHolding.largest.map { ($0.key, $0.count) } }

    /// The unit that is evicted so that `network` gets one more when nothing is left, by the rule above; nil when there is
    /// none: then the newcomer is refused, or its own network makes room for it.
    ///
    /// - Parameter isPreferred: which unit is taken of those among which the rule leaves the choice, as far as it is found
    ///   soon; else the one held for longest.
    public func yielding(to network: ClientNetwork, preferring isPreferred: (Ticket) -> Bool = { _ in true })
        -> Ticket?
    {
        let count = held(by: network) + 1
        guard let largest = networksHolding.largest, largest.count >= count else { return nil }
        if largest.count > count {
            return choose(from: largest.first, next: networksHolding.next(after:), isPreferred) { _ in true }
        }
        let own = zip(Self.sizes, sites).map { size, level in network.site(size).map(level.held(by:)) ?? count - 1 }
        for index in sites.indices {
            guard let site = sites[index].largest, site.count > own[index] + 1 else { continue }
            let ticket = choose(from: site.first, next: sites[index].next(after:), isPreferred) { ticket in
                holder(of: ticket).map(held(by:)) == count
                    && (index + 1..<sites.count).allSatisfy { larger in
                        let site = sites[larger].holder(of: ticket)
                        return site == network.site(Self.sizes[larger])
                            || site.map(sites[larger].held(by:)) ?? 0 > own[larger]
                    }
            }
            if let ticket { return ticket }
        }
        return nil
    }

    /// The first unit of a list that is eligible and preferred, else the first that is eligible.
    private func choose(
        from first: Ticket, next: (Ticket) -> Ticket?, _ isPreferred: (Ticket) -> Bool, isEligible: (Ticket) -> Bool
    ) -> Ticket? {
        var ticket: Ticket? = first
        var usual: Ticket?
        for _ in 0..<Self.longestSearch {
            guard let each = ticket else { break }
            if isEligible(each) {
                if isPreferred(each) { return each }
                usual = usual ?? each
            }
            ticket = next(each)
        }
        return usual
    }

    /// The unit of `network` itself that is evicted first; nil when it holds none.
    public func first(of network: ClientNetwork) -> Ticket? { networksHolding.first(of: network) }

    /// The unit of the same network that is evicted after this one; nil for its last.
    public func next(after ticket: Ticket) -> Ticket? { networksHolding.next(after: ticket) }

    /// Takes a unit, which is evicted last of the network's. The caller has made room before; a unit beyond `capacity`
    /// is counted all the same.
    public mutating func add(for network: ClientNetwork) -> Ticket {
        let ticket: Ticket
        if let free = freeTickets.popLast() {
            ticket = free
        } else {
            ticket = nextTicket
            nextTicket += 1
        }
        networksHolding.add(ticket, for: network)
        for (index, size) in Self.sizes.enumerated() {
            if let site = network.site(size) { sites[index].add(ticket, for: site) }
        }
        count += 1
        return ticket
    }

    /// Returns a unit. A unit that is not held is ignored.
    public mutating func remove(_ ticket: Ticket) {
        guard networksHolding.isHeld(ticket) else { return }
        networksHolding.remove(ticket)
        for index in sites.indices { sites[index].remove(ticket) }
        freeTickets.append(ticket)
        count -= 1
        if count == 0, nextTicket > Self.retained { self = FairShare(capacity: capacity) }
    }

    /// Makes a unit the last of its network's to be evicted, since it was used just now.
    public mutating func renew(_ ticket: Ticket) {
        networksHolding.renew(ticket)
        for index in sites.indices { sites[index].renew(ticket) }
    }
}

/// Elements that wait for their turn, shared fairly by client networks: those of one network are first in, first out,
/// and when there are too many one of the network that has most is displaced (`FairShare`).
///
/// An object: reading one of its counts, as each request does, would copy the whole value.
public final class FairQueue<Element> {
    private var holdings: FairShare
    private var elements: [FairShare.Ticket: Element] = [:]
    /// The networks that have elements, in round-robin order.
    private var turns: [ClientNetwork] = []
    /// The index in `turns` of the next network.
    private var turn = 0

    /// - Parameter capacity: the most elements, at least 1.
    public init(capacity: Int) { holdings = FairShare(capacity: capacity) }

    /// How many elements wait.
    public var count: Int { holdings.count }

    /// How many elements of a network wait.
    public func held(by network: ClientNetwork) -> Int { holdings.held(by: network) }

    /// Whether a further element needs `displace` first.
    public var isFull: Bool { holdings.isFull }

    /// All elements, in no order.
    public var all: some Collection<Element> { elements.values }

    /// Appends an element to those of its network, whether there is room or not. Returns its number while it waits.
    public func append(_ element: Element, for network: ClientNetwork) -> FairShare.Ticket {
        if holdings.held(by: network) == 0 { turns.append(network) }
        let ticket = holdings.add(for: network)
        elements[ticket] = element
        return ticket
    }

    /// Removes the element that is displaced by one of `network`; nil when there is none, and the newcomer is refused.
    public func displace(for network: ClientNetwork) -> Element? {
        holdings.yielding(to: network).flatMap { remove($0) }
    }

    /// Removes an element.
    @discardableResult
    public func remove(_ ticket: FairShare.Ticket) -> Element? {
        guard let network = holdings.holder(of: ticket) else { return nil }
        holdings.remove(ticket)
        if holdings.held(by: network) == 0, let index = turns.firstIndex(of: network) {
            turns.remove(at: index)
            if index < turn { turn -= 1 }
        }
        return elements.removeValue(forKey: ticket)
    }

    /// An element by its number.
    public subscript(ticket: FairShare.Ticket) -> Element? { elements[ticket] }

    /// The next element that may be taken: the first of the network that holds least of what is waited for (`held`), and in
    /// turns where several hold equally much.
    public func first(
        _ held: (ClientNetwork) -> Int, where mayBeTaken: (Element) -> Bool = { _ in true }
    ) -> FairShare.Ticket? {
        if turn >= turns.count { turn = 0 }
        var best: (ticket: FairShare.Ticket, held: Int)?
        for network in turns[turn...] + turns[..<turn] {
            let held = turns.count == 1 ? 0 : held(network)
            if let best, best.held <= held { continue }
            guard let ticket = first(of: network, where: mayBeTaken) else { continue }
            best = (ticket, held)
        }
        return best?.ticket
    }

    private func first(of network: ClientNetwork, where mayBeTaken: (Element) -> Bool) -> FairShare.Ticket? {
        var next = holdings.first(of: network)
        while let ticket = next, elements[ticket].map(mayBeTaken) != true { next = holdings.next(after: ticket) }
        return next
    }

    /// Removes an element whose turn has come: the next one is of another network where several hold equally much.
    @discardableResult
    public func take(_ ticket: FairShare.Ticket) -> Element? {
        guard let network = holdings.holder(of: ticket), let index = turns.firstIndex(of: network) else { return nil }
        turn = index
        let element = remove(ticket)
        if holdings.held(by: network) > 0 { turn += 1 }
        return element
    }
}
