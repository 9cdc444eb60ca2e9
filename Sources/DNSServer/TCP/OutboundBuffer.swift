import DNSWire

/// Responses that a client has not received yet.
struct OutboundBuffer {
    /// Bytes after which no more are taken at once from what makes them: a record of TLS.
    static let chunk = 16 << 10
    /// Capacity in bytes up to which storage is retained for the next response.
    private static let retained = 4_096

    private var bytes: [UInt8] = []
    /// Index of the first unwritten byte.
    private var start = 0

    /// - Parameter bytes: what the client has not received yet, from another process.
    init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    var count: Int { bytes.count - start }
    var isEmpty: Bool { count == 0 }

    /// The bytes to write next.
    var unwritten: ArraySlice<UInt8> { bytes[start...] }

    /// Appends a message with its length before it. A message over 65,535 bytes cannot be framed, and is left out.
    mutating func append(_ message: [UInt8]) {
        guard let length = UInt16(exactly: message.count) else { return }
        bytes.append(UInt8(length >> 8))
        bytes.append(UInt8(truncatingIfNeeded: length))
        bytes.append(contentsOf: message)
    }

    /// Has more bytes appended as they are.
    mutating func fill(_ body: (inout [UInt8]) -> Void) { body(&bytes) }

    /// Removes the first `count` bytes, which were written.
    mutating func removeFirst(_ count: Int) {
        start += count
        if isEmpty {
            bytes.removeAll(keepingCapacity: bytes.capacity <= Self.retained)
            start = 0
        } else if start > bytes.count / 2 {
            bytes.removeSubrange(..<start)
            start = 0
            if bytes.capacity > Self.retained, bytes.count < bytes.capacity / 4 { bytes.giveBackUnused() }
        }
    }
}

extension [UInt8] {
    /// Frees storage that the elements do not need: of what a client sends or is sent, the bytes that wait are counted, and
    /// hardly more may be held.
    mutating func giveBackUnused() {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        bytes.append(contentsOf: self)
        self = bytes
    }
}

/// Bytes received from a TCP client and not yet handled: messages with a two-byte length before each (RFC 7766 section
/// 8).
struct FrameBuffer {
    /// The state of the buffer's beginning.
    enum Next: Equatable {
        /// A whole message, at this range of `bytes` until the buffer is used again.
        case message(Range<Int>)
        /// Less than a whole message.
        case incomplete
        /// A length below that of a DNS header: the stream cannot be parsed any further.
        case malformed
    }

    /// Capacity in bytes up to which storage is retained for the next message.
    private static let retained = 1_024

    private(set) var bytes: [UInt8] = []
    /// Index of the first byte that `next()` has not returned.
    private var start = 0

    /// Bytes received that `next()` has not returned.
    var count: Int { bytes.count - start }

    /// These bytes.
    var rest: ArraySlice<UInt8> { bytes[start...] }

    /// Whether `next()` returns anything but `incomplete`.
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

    /// Removes and returns the next message.
    mutating func next() -> Next {
        guard count >= 2 else { return .incomplete }
        let length = nextLength
        guard length >= Header.length else { return .malformed }
        guard count >= 2 + length else { return .incomplete }
        let range = (start + 2)..<(start + 2 + length)
        start = range.upperBound
        return .message(range)
    }

    /// Frees storage beyond what the next message is likely to need.
    mutating func trim() {
        if count == 0 {
            bytes.removeAll(keepingCapacity: bytes.capacity <= Self.retained)
            start = 0
        } else if bytes.capacity > Self.retained, count < bytes.capacity / 4 {
            bytes.removeSubrange(..<start)
            start = 0
            bytes.giveBackUnused()
        }
    }
}
