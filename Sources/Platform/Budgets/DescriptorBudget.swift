import Glibc

/// The division of the open descriptors, such that clients leave enough of them to the sources of answers.
///
/// A reserve is for uses that need few: listening sockets, the cache on disk, services, certificate checks, the control
/// socket. TCP clients and queries to LocalDNS share the rest, half each, up to their own limits. Where encrypted connections
/// are served, these have a third of the rest, and what the others leave.
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

    /// The most encrypted connections of clients, at least 1 where any are served.
    package let encrypted: Int

    /// - Parameters:
    ///   - limit: the limit of open descriptors, from `DescriptorLimit.raise`.
    ///   - isEncrypted: whether encrypted connections are served.
    package init(limit: Int, isEncrypted: Bool = false) {
        let shared = limit - min(Self.reserve, limit / 2)
        let parts = isEncrypted ? 3 : 2
        connections = max(1, min(Self.connections, shared / parts))
        queries = max(1, min(Self.queries, shared / parts + shared % parts))
        encrypted = isEncrypted ? max(1, min(Self.encryptedConnections, shared - connections - queries)) : 0
    }

    /// Whether either has less than its own limit.
    package var isReduced: Bool { connections < Self.connections || queries < Self.queries }
}

/// The limit of open descriptors of the process.
package enum DescriptorLimit {
    /// Enough for every connection and channel that our own limits allow, with a margin.
    package static let wanted = 8_192

    /// The soft limit in force; 0 when it cannot be read.
    package static var current: Int {
        var limit = rlimit()
        return unsafe getrlimit(resource, &limit) == 0 ? Int(clamping: limit.rlim_cur) : 0
    }

    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

    /// As many as are wanted where encrypted connections are served.
    package static let wantedWhenEncrypted = wanted + DescriptorBudget.encryptedConnections

    /// Raises the soft limit to `wanted`, or to the hard limit if that is lower.
    ///
    /// - Returns: the soft limit now in force.
    @discardableResult
    package static func raise(to wanted: Int = wanted) -> Int {
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return 0 }
        if limit.rlim_cur < rlim_t(wanted) {
            limit.rlim_cur = min(limit.rlim_max, rlim_t(wanted))
            _ = unsafe setrlimit(resource, &limit)
            _ = unsafe getrlimit(resource, &limit)
        }
        return Int(clamping: limit.rlim_cur)
    }
}
