/// SIEVE (Zhang et al., NSDI 2024): a hand moves from old to new, spares entries that were used since it last passed,
/// and evicts the first that was not.
struct Sieve: EvictionPolicy {
    let capacity: Int
    /// The largest number of entries that the hand passed for one insertion.
    private(set) var longestWalk = 0
    private var entries = LinkedEntries()
    private var hand = -1

    init(capacity: Int) { self.capacity = capacity }

    mutating func request(_ name: Int) -> Bool {
        if let place = entries.place(of: name) {
            entries.setVisited(place, true)
            return true
        }
        if entries.count >= capacity { evict() }
        entries.insert(name)
        return false
    }

    private mutating func evict() {
        var place = hand >= 0 ? hand : entries.oldest
        var steps = 1
        while entries.nodes[place].isVisited {
            entries.setVisited(place, false)
            let newer = entries.nodes[place].newer
            place = newer >= 0 ? newer : entries.oldest
            steps += 1
        }
        longestWalk = max(longestWalk, steps)
        hand = entries.nodes[place].newer
        entries.remove(place)
    }
}
