/// How the memory that the process may have is divided, so that no load makes it more.
///
/// Nothing is counted while the server runs: each part has a bound from the start, in pieces of a known size (each measured,
/// `Benchmarks/flood`), and the bounds together are no more than there is. The program itself has `base`, and a sixteenth of all is
/// for the kernel's share of sockets and for what the allocator cannot fill; the cache has what it is configured to, up to a half;
/// the rest is for what clients make the server hold. Without a limit, all have the most that they can use.
package struct MemoryBudget: Equatable, Sendable {
    /// Bytes that the program has with an empty cache and no load, with all tables that have a bound of their own.
    static let base = 24 << 20
    /// Bytes of a query to LocalDNS under way, by far most of them c-ares's.
    static let localDNSQuery = 76 << 10
    /// Bytes of a question under way, with its requests and timers.
    static let flight = 4 << 10
    /// Bytes of a client's query that waits for an answer.
    static let query = 2 << 10
    /// What there is for a load at least, however little the limit leaves: less serves nobody.
    static let leastLoad = 4 << 20

    /// The most queries to LocalDNS under way.
    package static let localDNSQueries = DescriptorBudget.queries
    /// The most questions under way.
    package static let flights = 10_000
    /// The most queries that wait for an answer.
    package static let queries = 65_536
    /// The most bytes of queries and replies that TCP connections hold.
    package static let buffered = 64 << 20

    /// Bytes in all; nil: not limited.
    package let limit: Int?
    /// Bytes that the cache may have.
    package let cache: Int
    /// How many queries to LocalDNS may be under way, at least 1.
    package let localDNSQueries: Int
    /// How many questions may be under way, at least 1.
    package let flights: Int
    /// How many queries may wait for an answer, at least 1.
    package let queries: Int
    /// How many bytes of queries and replies all TCP connections may hold.
    package let buffered: Int

    /// - Parameters:
    ///   - limit: bytes in all; nil: not limited.
    ///   - cache: bytes that the cache is configured to have.
    package init(limit: Int?, cache: Int) {
        self.limit = limit
        let free = limit.map { max(Self.leastLoad, $0 - $0 / 16 - Self.base - min(cache, $0 / 2)) } ?? .max
        localDNSQueries = max(1, min(Self.localDNSQueries, free / 8 * 3 / Self.localDNSQuery))
        flights = max(1, min(Self.flights, free / 4 / Self.flight))
        queries = max(1, min(Self.queries, free / 4 / Self.query))
        buffered = min(Self.buffered, free / 8)
        let load =
            localDNSQueries * Self.localDNSQuery + flights * Self.flight + queries * Self.query + buffered
        self.cache = limit.map { max(min(cache, $0 / 2), $0 - $0 / 16 - Self.base - load) } ?? .max
    }

    /// What the cache has when it is configured to have so many bytes.
    package func cache(_ configured: Int) -> Int { min(configured, cache) }
}
