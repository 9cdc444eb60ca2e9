public import DNSWire

/// The holders of units, at one size of network: the units of each holder in the order of their last use, and the holder of
/// most.
///
/// Every call takes the same short time however much is held. A unit that is not held is ignored.
public struct ShareLevel: Sendable {
    /// A unit, until it is removed; its number is reused afterwards. Small and dense, so that it can index an array.
    public typealias Ticket = Int

    /// A unit, in the list of its holder: from the one that is evicted first to the one that is evicted last.
    private struct Unit {
        /// Index in `holders`; -1: free.
        var holder = -1
        var previous = -1
        var next = -1
    }

    private struct Holder {
        var key: ClientNetwork
        var count = 0
        /// Index in `ranking`.
        var rank: Int
        var first = -1
        var last = -1
    }

    private static var none: Int { -1 }

    private var units: [Unit] = []
    private var holders: [Holder] = []
    private var freeHolders: [Int] = []
    private var places: [ClientNetwork: Int] = [:]
    /// Indices in `holders`, the largest first.
    private var ranking: [Int] = []
    /// For each number: how many holders have more than that; where the first one that has exactly that many is ranked.
    private var holdingMore: [Int] = []

    public init() {}

    /// The one that holds most: how much, and its unit that is evicted first.
    public var largest: (key: ClientNetwork, count: Int, first: Ticket)? {
        ranking.first.map { (holders[$0].key, holders[$0].count, holders[$0].first) }
    }

    /// How many units one holds.
    public func held(by key: ClientNetwork) -> Int { places[key].map { holders[$0].count } ?? 0 }

    /// The holder of a unit; nil for one that is free.
    public func holder(of ticket: Ticket) -> ClientNetwork? {
        isHeld(ticket) ? holders[units[ticket].holder].key : nil
    }

    /// The unit of a holder that is evicted first; nil when it holds none.
    public func first(of key: ClientNetwork) -> Ticket? { places[key].map { holders[$0].first } }

    /// The unit of the same holder that is evicted after this one; nil for its last.
    public func next(after ticket: Ticket) -> Ticket? {
        guard isHeld(ticket), units[ticket].next != Self.none else { return nil }
        return units[ticket].next
    }

    /// Adds a unit, which is evicted last of the holder's.
    public mutating func add(_ ticket: Ticket, for key: ClientNetwork) {
        let holder = place(of: key)
        while units.count <= ticket { units.append(Unit()) }
        units[ticket].holder = holder
        link(ticket)
        grow(holder)
    }

    public mutating func remove(_ ticket: Ticket) {
        guard isHeld(ticket) else { return }
        let holder = units[ticket].holder
        unlink(ticket)
        units[ticket] = Unit()
        shrink(holder)
    }

    /// Makes a unit the last of its holder's to be evicted, since it was used just now.
    public mutating func renew(_ ticket: Ticket) {
        guard isHeld(ticket), holders[units[ticket].holder].last != ticket else { return }
        unlink(ticket)
        link(ticket)
    }

    public func isHeld(_ ticket: Ticket) -> Bool {
        units.indices.contains(ticket) && units[ticket].holder != Self.none
    }

    // MARK: The units of a holder

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

    // MARK: The ranking of holders

    private mutating func place(of key: ClientNetwork) -> Int {
        if let place = places[key] { return place }
        let holder = Holder(key: key, rank: ranking.count)
        let place: Int
        if let free = freeHolders.popLast() {
            place = free
            holders[place] = holder
        } else {
            place = holders.count
            holders.append(holder)
        }
        places[key] = place
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
        // Every other one holds something, so this one is last in the ranking.
        ranking.removeLast()
        places[holders[holder].key] = nil
        freeHolders.append(holder)
    }

    private mutating func exchange(_ one: Int, _ other: Int) {
        guard one != other else { return }
        ranking.swapAt(one, other)
        holders[ranking[one]].rank = one
        holders[ranking[other]].rank = other
    }
}
