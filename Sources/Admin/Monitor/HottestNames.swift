package import DNSWire
package import Scheduling

/// The names that are asked for most, in the last 10 to 20 minutes. Only where the operator lets names be seen.
package struct HottestNames: Sendable {
    /// How long queries are counted together; those of the span before count too.
    package static let span: Duration = .seconds(600)
    /// How many names are shown.
    package static let shown = 20

    private var (now, before) = (NameCounts(), NameCounts())
    private var end: Instant

    package init(at instant: Instant) { end = instant + Self.span }

    /// Counts a query, in any letter case.
    package mutating func add(_ name: Name, at instant: Instant) {
        turn(instant)
        now.add(name.lowercased)
    }

    /// The names with their counts, the most frequent first.
    package mutating func top(at instant: Instant) -> [TrafficReport.Count] {
        turn(instant)
        let all = now.counts.merging(before.counts) { $0 &+ $1 }.map {
            TrafficReport.Count($0.key.description, $0.value)
        }
        // Equal ones by name, so that they do not change places.
        return Array(
            all.sorted { ($1.count, $0.label) < ($0.count, $1.label) }.prefix(Self.shown))
    }

    private mutating func turn(_ instant: Instant) {
        guard instant >= end else { return }
        let isNext = instant < end + Self.span
        before = isNext ? now : NameCounts()
        now = NameCounts()
        end = (isNext ? end : instant) + Self.span
    }
}
