import DNSWire
import Platform

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
        if isPadded { pad(&bytes) }
        // A copy, which the next response does not overwrite.
        var reply: [UInt8] = []
        reply.append(contentsOf: bytes)
        return reply
    }
}

/// The destination of the response to a pending query.
enum ReplyPath: Sendable {
    case datagram(DatagramPath)
    /// How it travels; which connection the query came by, where another process may go on with that; and what takes the
    /// response, or drops it when the client is gone.
    case connection(Transport, ObjectIdentifier?, @Loop ([UInt8]) -> Void)

    var transport: Transport {
        switch self {
        case .datagram: .udp
        case .connection(let transport, _, _): transport
        }
    }
}

/// The padding of responses over encrypted transports, so that their length does not tell the name (RFC 7830).
extension ReplyBuffer {
    /// The length of a response is a multiple of this (RFC 8467 section 4.1).
    private nonisolated static let block = 468
    /// Bytes of the option's code and length.
    private nonisolated static let head = 4

    /// Appends the padding option to the OPT record of a response of ours, which is its last. Nothing changes for one without,
    /// and for one that would be too long.
    nonisolated static func pad(_ reply: inout [UInt8]) {
        guard let length = lengthOfOptions(reply) else { return }
        let padding = (block - (reply.count + head) % block) % block
        guard reply.count + head + padding <= MessageBuilder.maximumLength,
            let all = UInt16(exactly: length.value + head + padding)
        else { return }
        reply[length.place] = UInt8(all >> 8)
        reply[length.place + 1] = UInt8(truncatingIfNeeded: all)
        let code = EDNSOption.Code.padding.rawValue
        reply += [UInt8(code >> 8), UInt8(truncatingIfNeeded: code)]
        reply += [UInt8(padding >> 8), UInt8(truncatingIfNeeded: padding)]
        reply.append(contentsOf: repeatElement(0, count: padding))
    }

    /// Where the length of the options stands in the last record, and what it is; nil when that is no OPT record.
    private nonisolated static func lengthOfOptions(_ reply: [UInt8]) -> (place: Int, value: Int)? {
        guard reply.count >= Header.length else { return nil }
        func number(at place: Int) -> Int { Int(reply[place]) << 8 | Int(reply[place + 1]) }
        var at = Header.length
        for _ in 0..<number(at: 4) {
            guard Query.skipName(reply.span, at: &at) else { return nil }
            at += 4
        }
        var last: (type: RecordType, place: Int, dataLength: Int)?
        for _ in 0..<(number(at: 6) + number(at: 8) + number(at: 10)) {
            last = Query.takeRecord(reply.span, at: &at)
            if last == nil { return nil }
        }
        guard let last, last.type == .opt, at == reply.count else { return nil }
        return (last.place + 8, last.dataLength)
    }
}
