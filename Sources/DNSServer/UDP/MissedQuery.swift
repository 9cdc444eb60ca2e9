import Platform
import Scheduling

/// A query over UDP that the cache could not answer, on its way to the loop.
struct MissedQuery: Sendable {
    let message: [UInt8]
    let client: SocketAddress
    let path: DatagramPath
    let arrived: Instant
}
