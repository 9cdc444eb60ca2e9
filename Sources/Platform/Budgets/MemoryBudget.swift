/// The division of the process's memory limit, such that no load exceeds it.
///
/// Nothing is counted while the server runs: each part has a fixed bound from the start, in items of a known size (each
/// measured, `Benchmarks/flood`), and the sum of the bounds is at most the limit. The program itself has `base`, and a
/// sixteenth of the limit is for the kernel's share of sockets and for the allocator's fragmentation; the cache has its
/// configured size, up to a half; the rest is for what clients make the server hold. Without a limit, every part has
/// its maximum.
package struct MemoryBudget: Equatable, Sendable {
    /// Bytes of the program with an empty cache and no load, with all tables that have their own bound.
    static let base = 24 << 20
    /// Bytes of a query to LocalDNS under way, most of them in c-ares.
    static let localDNSQuery = 76 << 10
    /// Bytes of a question under way, with its requests and timers.
    static let flight = 4 << 10
    /// Bytes of a client's query that waits for an answer.
    static let query = 2 << 10
    /// Bytes of an encrypted connection, when it is idle (`Benchmarks/encrypted`) and 16 KiB more, which OpenSSL takes while a
    /// record is incomplete.
    static func connection(over transport: Transport) -> Int {
        // Over HTTPS with 20 KiB for the table of header compression, which a client can fill with the shortest fields.
        transport == .https ? (26 + 20 + 16) << 10 : (15 + 16) << 10
    }
    /// The least number of bytes for the load, however low the limit: with less the server would be of no use.
    static let leastLoad = 4 << 20

    /// The most queries to LocalDNS under way.
    package static let localDNSQueries = DescriptorBudget.queries
    /// The most questions under way.
    package static let flights = 10_000
    /// The most queries that wait for an answer.
    package static let queries = 65_536
    /// The most bytes of queries and responses that TCP connections hold.
    package static let buffered = 64 << 20

    /// The limit in bytes; nil: not limited.
    package let limit: Int?
    /// The most bytes of the cache.
    package let cache: Int
    /// The most queries to LocalDNS under way, at least 1.
    package let localDNSQueries: Int
    /// The most questions under way, at least 1.
    package let flights: Int
    /// The most queries that wait for an answer, at least 1.
    package let queries: Int
    /// The most bytes of queries and responses that all TCP connections hold.
    package let buffered: Int

    /// The most encrypted connections of clients, at least 1 where any are served.
    package let encrypted: Int
    private let transport: Transport?

    /// - Parameters:
    ///   - limit: the limit in bytes; nil: not limited.
    ///   - cache: the configured size of the cache in bytes.
    ///   - transport: that of encrypted connections, which have a quarter of what clients have; where both are served, DNS over
    ///     HTTPS. Nil: there are none.
    package init(limit: Int?, cache: Int, encrypted transport: Transport? = nil) {
        self.limit = limit
        self.transport = transport
        let all = limit.map { max(Self.leastLoad, $0 - $0 / 16 - Self.base - min(cache, $0 / 2)) } ?? .max
        let forEncrypted = transport == nil ? 0 : all / 4
        let connection = transport.map(Self.connection) ?? 0
        let free = all - forEncrypted
        encrypted =
            connection > 0 ? max(1, min(DescriptorBudget.encryptedConnections, forEncrypted / connection)) : 0
        localDNSQueries = max(1, min(Self.localDNSQueries, free / 8 * 3 / Self.localDNSQuery))
        flights = max(1, min(Self.flights, free / 4 / Self.flight))
        queries = max(1, min(Self.queries, free / 4 / Self.query))
        buffered = min(Self.buffered, free / 8)
        let load =
            localDNSQueries * Self.localDNSQuery + flights * Self.flight + queries * Self.query + buffered
            + encrypted * connection
        self.cache = limit.map { max(min(cache, $0 / 2), $0 - $0 / 16 - Self.base - load) } ?? .max
    }

    /// The size in bytes of the cache, for a configured size.
    package func cache(_ configured: Int) -> Int { min(configured, cache) }

    /// Whether the cache would have more of a configured size if the memory were divided again, as at a start.
    package func wouldGrow(cache configured: Int) -> Bool {
        MemoryBudget(limit: limit, cache: configured, encrypted: transport).cache(configured) > cache(configured)
    }
}
