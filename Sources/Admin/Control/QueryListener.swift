package import Scheduling

/// A client of the control API that is sent the answered queries as they come. It listens as long as it is referenced, or
/// until it has read nothing for so long that its place is another's.
@Loop
package final class QueryListener {
    /// The most bytes of queries that wait to be sent; more are left out and counted.
    nonisolated static let limit = 256 << 10
    /// How long a client may read nothing while queries are left out.
    nonisolated static let patience: Duration = .seconds(10)

    nonisolated let filter: QueryFilter
    private let clock: any LoopClock
    private var lines = ""
    private var dropped = 0
    /// Since when queries are left out and nothing was read; nil while none are.
    private var stalledSince: Instant?
    /// Whether it has lost its place, and whether the client knows.
    private var isEnded = false
    private var isClosed = false

    nonisolated init(_ filter: QueryFilter, clock: any LoopClock) {
        self.filter = filter
        self.clock = clock
    }

    /// Appends a query.
    ///
    /// - Parameter line: its report; not called while there is no room.
    func add(_ line: () -> String) {
        // Once one is left out, all are until the client has read on: so it learns where they are missing.
        guard dropped == 0, lines.utf8.count < Self.limit else { return missed(1) }
        lines += line()
        lines += "\n"
    }

    /// Counts queries that are not sent.
    func missed(_ count: Int) {
        dropped += count
        stalledSince = stalledSince ?? clock.now
    }

    /// Notes that the client has read a part of what it was sent.
    func wasRead() { if stalledSince != nil { stalledSince = clock.now } }

    /// Whether it must leave its place to others.
    var hasStalled: Bool { stalledSince.map { clock.now - $0 >= Self.patience } ?? false }

    /// Takes its place away: the client learns it when it reads on.
    func end() { isEnded = true }

    /// What has come since the last call: a report on each line; after them a line that says how many queries are missing, if
    /// any, and one that says that it has lost its place. Then nil.
    func take() -> String? {
        guard !isClosed else { return nil }
        if dropped > 0 { lines += QueryReport(dropped: dropped).json + "\n" }
        if isEnded {
            lines += QueryReport(ended: "nothing was read for \(Self.patience.components.seconds) s").json + "\n"
        }
        isClosed = isEnded
        defer { (lines, dropped, stalledSince) = ("", 0, nil) }
        return lines
    }
}
