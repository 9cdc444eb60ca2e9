import DNSWire
import Scheduling

/// The bytes of unfinished queries and unsent responses that the connections of a server hold together, plain and encrypted
/// ones, shared by client network.
///
/// A network alone may hold all of them. When they exceed the limit, the network that holds most loses the connection that
/// holds most of it; so none loses one because of others that hold more.
@Loop
final class BufferedBytes {
    private(set) var count = 0
    private let limit: Int
    /// What each table of connections has, with the client network in whose share it is.
    private var tables: [@Loop () -> [(network: ClientNetwork, connection: ServedConnection)]] = []

    /// - Parameter limit: how many bytes all connections may hold.
    init(limit: Int) { self.limit = limit }

    /// Has the connections of a table share them.
    func add(_ table: @escaping @Loop () -> [(network: ClientNetwork, connection: ServedConnection)]) {
        tables.append(table)
    }

    /// Adds a change in what a connection holds. If that is too much for all, others are closed, or it is itself.
    func book(_ change: Int, of connection: ServedConnection) {
        count += change
        while change > 0, count > limit, !connection.isClosed { largest(after: connection).close() }
    }

    /// Of the network that holds most the connection that holds most; among equals the one that has booked last.
    ///
    /// Looks at all connections: each that is closed then held at least its part of the limit.
    private func largest(after last: ServedConnection) -> ServedConnection {
        var shares: [ClientNetwork: (sum: Int, largest: ServedConnection)] = [:]
        var own: ClientNetwork?
        for (network, connection) in tables.flatMap({ $0() }) where connection.held > 0 {
            let share = shares[network] ?? (0, connection)
            let isLarger = (connection.held, connection === last ? 1 : 0) > (share.largest.held, 0)
            shares[network] = (share.sum + connection.held, isLarger ? connection : share.largest)
            if connection === last { own = network }
        }
        let most = shares.max { ($0.value.sum, $0.key == own ? 1 : 0) < ($1.value.sum, $1.key == own ? 1 : 0) }
        return most?.value.largest ?? last
    }
}
