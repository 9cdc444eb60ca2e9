package import DNSWire

/// Counts the holdings of a bounded resource by client network, and selects what is evicted when all of it is held.
///
/// The rule, everywhere: there is no limit for one client network. Alone it may hold everything. When nothing is left
/// and one more is wanted, the newcomer is counted in, and the network that then holds most loses a unit: the one that
/// it has had longest, or, if that network is the newcomer's own, the newcomer. So a network that holds less than the
/// largest always gets its unit, whatever the others do, and networks that hold equally much cannot evict each other's
/// units.
///
/// This only counts. Units are numbers; what they stand for is in a table of the caller's. Every call takes the same
/// short time however much is held (`held(by:)` and `add` look the network up in a table), and memory is proportional
/// to the most that was held at once since nothing was held.
package struct FairShare: Sendable {
    /// One unit, until it is removed; its number is reused afterwards. Small and dense, so that it can index an array.
    package typealias Ticket = Int

    /// A unit, in the list of its holder: from the one that is evicted first to the one that is evicted last.
    private struct Unit {
        /// Index in `holders`; -1: free.
        var holder: Int
        var previous: Int
        /// For a free unit: the next free one.
        var next: Int
    }

    private struct Holder {
        var network: ClientNetwork
        var count: Int
        /// Index in `ranking`.
        var rank: Int
        var first: Int
        var last: Int
    }

    private static let none = -1
    /// Storage for this many units stays allocated when nothing is held.
    private static let retained = 64

    /// How many units there are.
    package let capacity: Int
    /// How many are held.
    package private(set) var count = 0

    private var units: [Unit] = []
    private var freeUnit = none
    private var holders: [Holder] = []
    private var freeHolders: [Int] = []
    private var places: [ClientNetwork: Int] = [:]
    /// Indices in `holders`, the largest first.
    private var ranking: [Int] = []
    /// For each number: how many networks hold more than that; where the first one that holds exactly that many is
    /// ranked.
    private var holdingMore: [Int] = []

    /// - Parameter capacity: how many units there are, at least 1.
    package init(capacity: Int) { self.capacity = max(1, capacity) }

    /// Whether nothing is left.
    package var isFull: Bool { count >= capacity }

    /// How many networks hold something.
    package var networks: Int { ranking.count }

    /// How many units a network holds.
    package func held(by network: ClientNetwork) -> Int { places[network].map { holders[$0].count } ?? 0 }

    /// The network that holds a unit; nil for one that is free.
    package func holder(of ticket: Ticket) -> ClientNetwork? {
        isHeld(ticket) ? holders[units[ticket].holder].network : nil
    }

    /// The network that holds most, and how much.
    package var largest: (network: ClientNetwork, count: Int)? {
        ranking.first.map { (holders[$0].network, holders[$0].count) }
    }

    /// The unit that is evicted so that `network` gets one more when nothing is left: the first of another network, one
    /// that holds more than `network` will; nil when there is none: then the newcomer is refused, or its own network
    /// makes room for it.
    package func yielding(to network: ClientNetwork) -> Ticket? {
        guard let first = ranking.first, holders[first].count > held(by: network) + 1 else { return nil }
        return holders[first].first
    }

    /// The unit of `network` itself that is evicted first; nil when it holds none.
    package func first(of network: ClientNetwork) -> Ticket? { places[network].map { holders[$0].first } }

    /// The unit of the same network that is evicted after this one; nil for its last.
    package func next(after ticket: Ticket) -> Ticket? {
        guard isHeld(ticket), units[ticket].next != Self.none else { return nil }
        return units[ticket].next
    }

    /// Takes a unit, which is evicted last of the network's. The caller has made room before; a unit beyond `capacity`
    /// is counted all the same.
    package mutating func add(for network: ClientNetwork) -> Ticket {
        let holder = place(of: network)
        let ticket: Ticket
        if freeUnit == Self.none {
            ticket = units.count
            units.append(Unit(holder: holder, previous: Self.none, next: Self.none))
        } else {
            ticket = freeUnit
            freeUnit = units[ticket].next
            units[ticket].holder = holder
        }
        link(ticket)
        grow(holder)
        count += 1
        return ticket
    }

    /// Returns a unit. A unit that is not held is ignored.
    package mutating func remove(_ ticket: Ticket) {
        guard isHeld(ticket) else { return }
        let holder = units[ticket].holder
        unlink(ticket)
        units[ticket] = Unit(holder: Self.none, previous: Self.none, next: freeUnit)
        freeUnit = ticket
        shrink(holder)
        count -= 1
        if count == 0, units.count > Self.retained { self = FairShare(capacity: capacity) }
    }

    /// Makes a unit the last of its network's to be evicted, since it was used just now.
    package mutating func renew(_ ticket: Ticket) {
        guard isHeld(ticket), holders[units[ticket].holder].last != ticket else { return }
        unlink(ticket)
        link(ticket)
    }

    private func isHeld(_ ticket: Ticket) -> Bool {
        units.indices.contains(ticket) && units[ticket].holder != Self.none
    }

    // MARK: The units of a network

    private mutating func link(_ ticket: Ticket) {
        let holder = units[ticket].holder
        let last = holders[holder].last
        units[ticket].previous = last
        units[ticket].next = Self.none
        if last == Self.none { holders[holder].first = ticket } else { units[last].next = ticket }
        holders[holder].last = ticket
    }

    private mutating func unlink(_ ticket: Ticket) {
        let unit = units[ticket]
        if unit.previous == Self.none {
            holders[unit.holder].first = unit.next
        } else {
            units[unit.previous].next = unit.next
        }
        if unit.next == Self.none {
            holders[unit.holder].last = unit.previous
        } else {
            units[unit.next].previous = unit.previous
        }
    }

    // MARK: The ranking of networks

    private mutating func place(of network: ClientNetwork) -> Int {
        if let place = places[network] { return place }
        let holder = Holder(network: network, count: 0, rank: ranking.count, first: Self.none, last: Self.none)
        let place: Int
        if let free = freeHolders.popLast() {
            place = free
            holders[place] = holder
        } else {
            place = holders.count
            holders.append(holder)
        }
        places[network] = place
        ranking.append(place)
        return place
    }

    /// One more: moves before all that hold as many as it did.
    private mutating func grow(_ holder: Int) {
        let count = holders[holder].count
        if holdingMore.count == count { holdingMore.append(0) }
        exchange(holders[holder].rank, holdingMore[count])
        holdingMore[count] += 1
        holders[holder].count = count + 1
    }

    /// One less: moves behind all that hold as many as it did.
    private mutating func shrink(_ holder: Int) {
        let left = holders[holder].count - 1
        holdingMore[left] -= 1
        exchange(holders[holder].rank, holdingMore[left])
        holders[holder].count = left
        if holdingMore[left] == 0, left == holdingMore.count - 1 { holdingMore.removeLast() }
        guard left == 0 else { return }
        // Every other network holds something, so this one is last in the ranking.
        ranking.removeLast()
        places[holders[holder].network] = nil
        freeHolders.append(holder)
    }

    private mutating func exchange(_ one: Int, _ other: Int) {
        guard one != other else { return }
        ranking.swapAt(one, other)
        holders[ranking[one]].rank = one
        holders[ranking[other]].rank = other
    }
}
