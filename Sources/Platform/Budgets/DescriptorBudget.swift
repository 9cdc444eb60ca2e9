/// The division of the open descriptors, such that clients leave enough of them to the sources of answers.
///
/// A reserve is for uses that need few: listening sockets, the cache on disk, services, certificate checks, the control
/// socket. TCP clients and queries to LocalDNS share the rest, half each, up to their own limits.
package struct DescriptorBudget: Equatable, Sendable {
    /// Descriptors available neither to TCP clients nor to queries to LocalDNS; half of all where there are few.
    package static let reserve = 256
    /// The most TCP connections of clients.
    package static let connections = 1_000
    /// The most queries to LocalDNS under way, each on its own socket.
    package static let queries = 1_024

    /// The most encrypted connections of clients.
    package static let encryptedConnections = 16_384

    /// The most TCP connections of clients, at least 1.
    package let connections: Int
    /// The most queries to LocalDNS under way, at least 1.
    package let queries: Int

    /// - Parameter limit: the limit of open descriptors, from `DescriptorLimit.raise`.
    package init(limit: Int) {
        let shared = limit - min(Self.reserve, limit / 2)
        connections = max(1, min(Self.connections, shared / 2))
        queries = max(1, min(Self.queries, shared - shared / 2))
    }

    /// Whether either has less than its own limit.
    package var isReduced: Bool { connections < Self.connections || queries < Self.queries }
}
