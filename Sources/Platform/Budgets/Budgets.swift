import Glibc

/// The division of the process's memory limit, such that no load exceeds it.
///
/// Nothing is counted while the server runs: each part has a fixed bound from the start, in items of a known size (each
/// measured, `Benchmarks/flood`), and the sum of the bounds is at most the limit. The program itself has `base`, and a
/// sixteenth of the limit is for the kernel's share of sockets and for the allocator's fragmentation; the cache has its
/// configured size, up to a half; the rest is for what clients make the server hold. Without a limit, every part has
/// its maximum.
public struct MemoryBudget: Equatable, Sendable {
    /// Bytes of the program with an empty cache and no load, with all tables that have their own bound.
    static let base = 24 << 20
    /// Bytes of a question under way, with its requests, timers and queries to LocalDNS.
    static let flight = 12 << 10
    /// Bytes of a client's query that waits for an answer.
    static let query = 2 << 10
    /// Bytes of an encrypted connection at the most, each with 16 KiB that OpenSSL takes while a record is incomplete: one that
    /// stays in its handshake (40 KiB: Documentation/Encrypted.md), or over HTTPS an idle one (`Benchmarks/encrypted`) with
    /// 20 KiB for the table of header compression, which a client can fill with the shortest fields.
    static func connection(over transport: Transport, asksClients: Bool = false) -> Int {
        let inHandshake = (40 + 16) << 10
        // The chain of a client's certificate in the place of the first 16 KiB.
        if asksClients { return inHandshake + (88 - 16) << 10 }
        return transport == .https ? max((26 + 20 + 16) << 10, inHandshake) : inHandshake
    }
    /// The least number of bytes for the load, however low the limit: with less the server would be of no use.
    static let leastLoad = 4 << 20

    /// The most questions under way.
    public static let flights = 10_000
    /// The most queries that wait for an answer.
    public static let queries = 65_536
    /// The most bytes of queries and responses that TCP connections hold.
    public static let buffered = 64 << 20

    /// The limit in bytes; nil: not limited.
    public let limit: Int?
    /// The most bytes of the cache.
    public let cache: Int
    /// The most questions under way, at least 1.
    public let flights: Int
    /// The most queries that wait for an answer, at least 1.
    public let queries: Int
    /// The most bytes of queries and responses that all TCP connections hold.
    public let buffered: Int

    /// The most encrypted connections of clients, at least 1 where any are served.
    public let encrypted: Int
    private let transport: Transport?
    private let asksClients: Bool

    /// - Parameters:
    ///   - cache: the configured size in bytes.
    ///   - transport: that of encrypted connections, which have a quarter of what clients have; where both are served, DNS over
    ///     HTTPS. Nil: there are none.
    ///   - asksClients: whether clients are asked for a certificate there.
    public init(limit: Int?, cache: Int, encrypted transport: Transport? = nil, asksClients: Bool = false) {
        self.limit = limit
        self.asksClients = asksClients
        self.transport = transport
        let all = limit.map { max(Self.leastLoad, $0 - $0 / 16 - Self.base - min(cache, $0 / 2)) } ?? .max
        let forEncrypted = transport == nil ? 0 : all / 4
        let connection = transport.map { Self.connection(over: $0, asksClients: asksClients) } ?? 0
        let free = all - forEncrypted
        encrypted =
            connection > 0 ? max(1, min(DescriptorBudget.encryptedConnections, forEncrypted / connection)) : 0
        flights = max(1, min(Self.flights, free / 8 * 5 / Self.flight))
        queries = max(1, min(Self.queries, free / 4 / Self.query))
        buffered = min(Self.buffered, free / 8)
        let load = flights * Self.flight + queries * Self.query + buffered + encrypted * connection
        self.cache = limit.map { max(min(cache, $0 / 2), $0 - $0 / 16 - Self.base - load) } ?? .max
    }

    /// The size in bytes of the cache, for a configured size.
    public func cache(_ configured: Int) -> Int { min(configured, cache) }

    /// Whether the cache would have more of a configured size if the memory were divided again, as at a start.
    public func wouldGrow(cache configured: Int) -> Bool {
        MemoryBudget(limit: limit, cache: configured, encrypted: transport, asksClients: asksClients).cache(configured)
            > cache(configured)
    }
}

/// The division of the open descriptors, such that clients leave enough of them to the sources of answers.
///
/// A reserve is for uses that need few: listening sockets, the cache on disk, services, certificate checks, the control
/// socket. TCP clients and queries to LocalDNS share the rest, half each, up to their own limits. Where encrypted connections
/// are served, these have a third of the rest, and what the others leave.
public struct DescriptorBudget: Equatable, Sendable {
    /// Descriptors available neither to TCP clients nor to queries to LocalDNS; half of all where there are few.
    public static let reserve = 256
    /// The most TCP connections of clients.
    public static let connections = 1_000
    /// The most queries to LocalDNS under way, each on its own socket.
    public static let queries = 1_024

    /// The most encrypted connections of clients.
    public static let encryptedConnections = 16_384

    /// The most TCP connections of clients, at least 1.
    public let connections: Int
    /// The most queries to LocalDNS under way, at least 1.
    public let queries: Int

    /// The most encrypted connections of clients, at least 1 where any are served.
    public let encrypted: Int

    /// - Parameters:
    ///   - limit: the limit of open descriptors, from `DescriptorLimit.raise`.
    ///   - isEncrypted: whether encrypted connections are served.
    public init(limit: Int, isEncrypted: Bool = false) {
        let shared = limit - min(Self.reserve, limit / 2)
        let parts = isEncrypted ? 3 : 2
        connections = max(1, min(Self.connections, shared / parts))
        queries = max(1, min(Self.queries, shared / parts + shared % parts))
        encrypted = isEncrypted ? max(1, min(Self.encryptedConnections, shared - connections - queries)) : 0
    }

    /// Whether either has less than its own limit.
    public var isReduced: Bool { connections < Self.connections || queries < Self.queries }
}

/// The limit of open descriptors of the process.
public enum DescriptorLimit {
    /// Enough for every connection and channel that our own limits allow, with a margin.
    public static let wanted = 8_192

    /// The soft limit in force; 0 when it cannot be read.
    public static var current: Int {
        var limit = rlimit()
        return unsafe getrlimit(resource, &limit) == 0 ? Int(clamping: limit.rlim_cur) : 0
    }

    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

    /// As many as are wanted where encrypted connections are served.
    public static let wantedWhenEncrypted = wanted + DescriptorBudget.encryptedConnections

    /// Raises the soft limit to `wanted`, or to the hard limit if that is lower.
    ///
    /// - Returns: the soft limit now in force.
    @discardableResult
    public static func raise(to wanted: Int = wanted) -> Int {
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
