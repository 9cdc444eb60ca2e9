import Platform

/// The destination of the response to a pending query.
enum ReplyPath: Sendable {
    case datagram(DatagramPath)
    case connection(TCPConnection)

    var transport: Transport {
        switch self {
        case .datagram: .udp
        case .connection: .tcp
        }
    }
}
