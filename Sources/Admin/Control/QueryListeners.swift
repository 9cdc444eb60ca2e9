public import DNSWire

/// The clients that are sent the answered queries. While there are none, nothing need be passed to it.
@Loop
public final class QueryListeners {
    /// The most at once.
    nonisolated static let limit = 4

    private let clock: any LoopClock
    /// References that keep nothing.
    private var listeners: [@Loop () -> QueryListener?] = []

    public nonisolated init(clock: any LoopClock) { self.clock = clock }

    public var isEmpty: Bool { listeners.allSatisfy { $0() == nil } }

    /// Adds a listener; nil when there are as many as may be.
    public func add(_ filter: QueryFilter) -> QueryListener? {
        removeStalled()
        guard listeners.count < Self.limit else { return nil }
        let listener = QueryListener(filter, clock: clock)
        listeners.append { [weak listener] in listener }
        return listener
    }

    /// Passes a query to all that want it.
    ///
    /// - Parameters:
    ///   - name: of the question, as received; nil when it could not be parsed.
    ///   - report: called once if any wants it and has room.
    public func add(
        _ name: Name?, from client: IPAddress, source: String, _ provider: String, took: Duration,
        _ report: () -> QueryReport
    ) {
        removeStalled()
        var made: QueryReport?
        for case let listener? in listeners.map({ $0() }) {
            guard listener.filter.matches(name, from: client, source, provider, took: took) else { continue }
            listener.add {
                let query = made ?? report()
                made = query
                return query
            }
        }
    }

    /// Counts queries that never came here, so that it is not known which listeners want them.
    public func missed(_ count: Int) {
        removeStalled()
        for listener in listeners { listener()?.missed(count) }
    }

    /// Removes those that have gone, and takes their places away from those that read nothing.
    private func removeStalled() {
        listeners.removeAll { listener in
            guard let listener = listener() else { return true }
            guard listener.hasStalled else { return false }
            listener.end()
            return true
        }
    }
}

/// A client of the control API that is sent the answered queries as they come. It listens as long as it is referenced, or
/// until it has read nothing for so long that its place is another's.
@Loop
public final class QueryListener {
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
    /// - Parameter report: not called while there is no room.
    func add(_ report: () -> QueryReport) {
        // Once one is left out, all are until the client has read on: so it learns where they are missing.
        guard dropped == 0, lines.utf8.count < Self.limit else { return missed(1) }
        lines += report().line(filter.form)
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
        if dropped > 0 { lines += QueryReport(dropped: dropped).line(filter.form) }
        if isEnded {
            let reason = "nothing was read for \(Self.patience.components.seconds) s"
            lines += QueryReport(ended: reason).line(filter.form)
        }
        isClosed = isEnded
        defer { (lines, dropped, stalledSince) = ("", 0, nil) }
        return lines
    }
}

/// Which answered queries a listener wants; empty, all.
public struct QueryFilter: Equatable, Sendable {
    /// In which form: `text` or `objects`.
    var form = ReportForm.objects
    /// Only queries for this name and those below it, in lower case.
    public var suffix: Name?
    /// Only queries of clients in this network.
    public var network: AddressPrefix?
    /// Only queries with this source, or this provider, as the log of queries has them.
    public var source: String?
    /// Only queries that took longer; nil: any.
    public var slower: Duration?

    /// The longest time to filter by.
    static let slowest: Duration = .seconds(60)

    public init() {}

    /// Whether a query is wanted.
    ///
    /// - Parameter name: of the question, as received; nil when it could not be parsed.
    func matches(_ name: Name?, from client: IPAddress, _ source: String, _ provider: String, took: Duration) -> Bool {
        if let slower, took <= slower { return false }
        if let network, !network.contains(client) { return false }
        if let wanted = self.source, ![source, provider].contains(wanted) { return false }
        guard let suffix else { return true }
        return name.map { $0.lowercased.isWithin(suffix) } ?? false
    }
}
