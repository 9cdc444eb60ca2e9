import Platform
import Scheduling

/// A connection, or a stream of one, that sends the responses to pending queries.
@Loop
protocol ReplySink: AnyObject, Sendable {
    /// How its responses travel.
    nonisolated var transport: Transport { get }

    /// Sends the response to one of its queries, or drops it when the client is gone.
    func send(_ reply: [UInt8])
}

/// The destination of the response to a pending query.
enum ReplyPath: Sendable {
    case datagram(DatagramPath)
    case connection(any ReplySink)

    var transport: Transport {
        switch self {
        case .datagram: .udp
        case .connection(let connection): connection.transport
        }
    }
}
