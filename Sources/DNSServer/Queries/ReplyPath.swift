import Platform
import Scheduling

/// A connection that sends the responses to pending queries.
@Loop
protocol ReplySink: AnyObject, Sendable {
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
        case .connection: .tcp
        }
    }
}
