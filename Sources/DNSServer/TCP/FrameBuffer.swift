import DNSWire

/// What a TCP client has sent and we have not handled: messages, each behind its length in two bytes (RFC 7766 section 8).
struct FrameBuffer {
    /// What the buffer begins with.
    enum Next: Equatable {
        /// A whole message, at this place in `bytes` until the buffer is used again.
        case message(Range<Int>)
        /// Less than a message.
        case incomplete
        /// A length that no message has: the stream cannot be followed any further.
        case malformed
    }

    /// Storage up to this many bytes is kept for the next message.
    private static let kept = 1_024

    private(set) var bytes: [UInt8] = []
    /// Where the bytes that were not handed out begin.
    private var start = 0

    /// Bytes received and not handed out.
    var count: Int { bytes.count - start }

    /// Whether `next()` has more to say than that the buffer is incomplete.
    var hasMessage: Bool {
        guard count >= 2 else { return false }
        let length = nextLength
        return length < Header.length || count >= 2 + length
    }

    private var nextLength: Int { Int(bytes[start]) << 8 | Int(bytes[start + 1]) }

    mutating func append(_ received: ArraySlice<UInt8>) {
        if start > 0 {
            bytes.removeSubrange(..<start)
            start = 0
        }
        bytes.append(contentsOf: received)
    }

    /// Takes the next message out.
    mutating func next() -> Next {
        guard count >= 2 else { return .incomplete }
        let length = nextLength
        guard length >= Header.length else { return .malformed }
        guard count >= 2 + length else { return .incomplete }
        let range = (start + 2)..<(start + 2 + length)
        start = range.upperBound
        return .message(range)
    }

    /// Gives back storage that the next message will hardly need.
    mutating func trim() {
        guard count == 0 else { return }
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.kept)
        start = 0
    }
}
