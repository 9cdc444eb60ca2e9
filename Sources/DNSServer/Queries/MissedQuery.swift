import DNSWire
import Platform
import Scheduling

/// A query that the cache could not answer, on its way to the resolver.
struct MissedQuery: Sendable {
    let message: [UInt8]
    let client: SocketAddress
    let path: ReplyPath
    let arrived: Instant

    /// By which the places of waiting queries are shared, and how long it waits.
    var origin: SharedQueue<MissedQuery>.Origin { (ClientNetwork(client.ip), arrived) }
}
