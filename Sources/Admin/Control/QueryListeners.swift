package import DNSWire
package import Scheduling

/// The clients that are sent the answered queries. While there are none, nothing need be passed to it.
@Loop
package final class QueryListeners {
    /// The most at once.
    nonisolated static let limit = 4

    private let clock: any LoopClock
    private var listeners: [Weak<QueryListener>] = []

    package nonisolated init(clock: any LoopClock) { self.clock = clock }

    package var isEmpty: Bool { listeners.allSatisfy { $0.object == nil } }

    /// Adds a listener; nil when there are as many as may be.
    package func add(_ filter: QueryFilter) -> QueryListener? {
        removeStalled()
        guard listeners.count < Self.limit else { return nil }
        let listener = QueryListener(filter, clock: clock)
        listeners.append(Weak(object: listener))
        return listener
    }

    /// Passes a query to all that want it.
    ///
    /// - Parameters:
    ///   - name: of the question, as received; nil when it could not be parsed.
    ///   - report: called once if any wants it and has room.
    package func add(
        _ name: Name?, from client: IPAddress, source: String, _ provider: String, took: Duration,
        _ report: () -> QueryReport
    ) {
        removeStalled()
        var line: String?
        for case let listener? in listeners.map(\.object) {
            guard listener.filter.matches(name, from: client, source, provider, took: took) else { continue }
            listener.add {
                let text = line ?? report().json
                line = text
                return text
            }
        }
    }

    /// Counts queries that never came here, so that it is not known which listeners want them.
    package func missed(_ count: Int) {
        removeStalled()
        for listener in listeners { listener.object?.missed(count) }
    }

    /// Removes those that have gone, and takes their places away from those that read nothing.
    private func removeStalled() {
        listeners.removeAll { listener in
            guard let listener = listener.object else { return true }
            guard listener.hasStalled else { return false }
            listener.end()
            return true
        }
    }
}
