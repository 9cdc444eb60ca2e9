package import Scheduling

/// A client of the control API that is sent the answered queries as they come. It listens as long as it is referenced.
@Loop
package final class QueryListener {
    /// The most bytes of queries that wait to be sent; more are left out and counted.
    nonisolated static let limit = 256 << 10

    nonisolated let filter: QueryFilter
    private var lines = ""
    private var dropped = 0

    nonisolated init(_ filter: QueryFilter) { self.filter = filter }

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
    func missed(_ count: Int) { dropped += count }

    /// What has come since the last call: a report on each line; the last line says how many queries are missing, if any.
    func take() -> String {
        if dropped > 0 { lines += QueryReport(dropped: dropped).json + "\n" }
        defer { (lines, dropped) = ("", 0) }
        return lines
    }
}
