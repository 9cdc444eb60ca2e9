import Platform

/// Where the reply to a pending query goes.
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
