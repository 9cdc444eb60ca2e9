public import DNSWire

/// The names that are asked for most, in the last 10 to 20 minutes. Only where the operator lets names be seen.
public struct HottestNames: Sendable {
    /// How long queries are counted together; those of the span before count too.
    public static let span: Duration = .seconds(600)
    /// How many names are shown.
    public static let shown = 20

    private var (now, before) = (NameCounts(), NameCounts())
    private var end: Instant

    public init(at instant: Instant) { end = instant + Self.span }

    /// Counts a query, in any letter case.
    public mutating func add(_ name: Name, at instant: Instant) {
        turn(instant)
        now.add(name.lowercased)
    }

    /// The names with their counts, the most frequent first.
    public mutating func top(at instant: Instant) -> [NameCount] {
        turn(instant)
        let all = now.counts.merging(before.counts) { $0 &+ $1 }.map { (label: $0.key.description, count: $0.value) }
        // Equal ones by name, so that they do not change places.
        return Array(all.sorted { ($1.count, $0.label) < ($0.count, $1.label) }.prefix(Self.shown))
    }

    private mutating func turn(_ instant: Instant) {
        guard instant >= end else { return }
        let isNext = instant < end + Self.span
        before = isNext ? now : NameCounts()
        now = NameCounts()
        end = (isNext ? end : instant) + Self.span
    }
}

/// A name, and how often it was asked for.
public typealias NameCount = (label: String, count: Int)

/// How often each name was asked for, as far as a fixed number of counters can know: a new name takes over the counter of
/// the least frequent one, with its count (the space-saving algorithm). So no name that has more than one part in `limit`
/// of all queries is missing, and no count is too low, nor too high by more than that part.
public struct NameCounts: Sendable {
    /// The most names that are counted: some 16 KiB, at most 40.
    static let limit = 128

    private(set) var counts: [Name: Int] = [:]

    public init() {}

    /// Counts a query for a name in lower case.
    public mutating func add(_ name: Name) {
        if counts[name] == nil, counts.count >= Self.limit, let least = counts.min(by: { $0.value < $1.value }) {
            counts[least.key] = nil
            counts[name] = least.value
        }
        counts[name, default: 0] &+= 1
    }
}
