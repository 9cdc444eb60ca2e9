import DNSWire
import Platform
import Scheduling

/// Composes the responses that travel over connections, in memory that has room for the longest one.
///
/// What is returned has only the room that it needs: over HTTPS responses are held until the client's windows let them
/// through, and thousands with room for the longest would take more than what they are counted as.
@Loop
enum ReplyBuffer {
    private static var bytes: [UInt8] = []

    /// Returns the response that `write` appends, at most `MessageBuilder.maximumLength` bytes.
    ///
    /// - Parameter isPadded: whether the query wants padding, and the transport is encrypted.
    static func compose(isPadded: Bool, _ write: (inout OutputSpan<UInt8>) -> Void) -> [UInt8] {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(addingCapacity: MessageBuilder.maximumLength, initializingWith: write)
        if isPadded { Padding.pad(&bytes) }
        // A copy, which the next response does not overwrite.
        var reply: [UInt8] = []
        reply.append(contentsOf: bytes)
        return reply
    }
}

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
