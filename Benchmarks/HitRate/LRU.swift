/// Evicts the least recently used name.
struct LRU: EvictionPolicy {
    let capacity: Int
    private var entries = LinkedEntries()

    init(capacity: Int) { self.capacity = capacity }

    mutating func request(_ name: Int) -> Bool {
        if let place = entries.place(of: name) {
            entries.makeNewest(place)
            return true
        }
        if entries.count >= capacity { entries.remove(entries.oldest) }
        entries.insert(name)
        return false
    }
}
