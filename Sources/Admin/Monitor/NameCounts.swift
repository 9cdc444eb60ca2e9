package import DNSWire

/// How often each name was asked for, as far as a fixed number of counters can know: a new name takes over the counter of
/// the least frequent one, with its count (the space-saving algorithm). So no name that has more than one part in `limit`
/// of all queries is missing, and no count is too low, nor too high by more than that part.
package struct NameCounts: Sendable {
    /// The most names that are counted: some 16 KiB, at most 40.
    static let limit = 128

    private(set) var counts: [Name: Int] = [:]

    package init() {}

    /// Counts a query for a name in lower case.
    package mutating func add(_ name: Name) {
        if counts[name] == nil, counts.count >= Self.limit, let least = counts.min(by: { $0.value < $1.value }) {
            counts[least.key] = nil
            counts[name] = least.value
        }
        counts[name, default: 0] &+= 1
    }
}
