/// How the descriptors that may be open are divided, so that clients leave enough of them to the sources of answers.
///
/// A reserve is for what few hold: listening sockets, the cache on disk, services, certificate checks, the control socket.
/// TCP clients and queries to LocalDNS share what is left, half each, up to what their own limits allow.
package struct DescriptorBudget: Equatable, Sendable {
    /// Descriptors that neither TCP clients nor queries to LocalDNS get; half of all where there are few.
    package static let reserve = 256
    /// The most TCP connections of clients.
    package static let connections = 1_000
    /// The most queries to LocalDNS under way, each on a socket of its own.
    package static let queries = 1_024

    /// How many TCP connections clients may have, at least 1.
    package let connections: Int
    /// How many queries to LocalDNS may be under way, at least 1.
    package let queries: Int

    /// - Parameter limit: how many descriptors may be open, from `DescriptorLimit.raise`.
    package init(limit: Int) {
        let shared = limit - min(Self.reserve, limit / 2)
        connections = max(1, min(Self.connections, shared / 2))
        queries = max(1, min(Self.queries, shared - shared / 2))
    }

    /// Whether there is less for them than their own limits allow.
    package var isReduced: Bool { connections < Self.connections || queries < Self.queries }
}
