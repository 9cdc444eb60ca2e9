package import DNSWire

/// Which answered queries a listener wants; empty, all.
package struct QueryFilter: Equatable, Sendable {
    /// Only queries for this name and those below it, in lower case.
    package var suffix: Name?
    /// Only queries of clients in this network.
    package var network: AddressPrefix?
    /// Only queries with this source, or this provider, as the log of queries has them.
    package var source: String?
    /// Only queries that took longer; nil: any.
    package var slower: Duration?

    /// The longest time to filter by.
    static let slowest: Duration = .seconds(60)

    package init() {}

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
