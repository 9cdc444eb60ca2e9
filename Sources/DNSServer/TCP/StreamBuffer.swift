import DNSWire

/// Bytes of one direction of a connection that wait: what the client has sent and was not handled, or what it has not received
/// yet. DNS over TCP and TLS has messages with a two-byte length before each (RFC 7766 section 8).
struct StreamBuffer {
    /// What the bytes begin with.
    enum Next: Equatable {
        case message([UInt8])
        /// Less than a whole message.
        case incomplete
        /// A length below that of a DNS header: the stream cannot be parsed any further.
        case malformed
    }

    /// Bytes after which no more are taken at once from what makes them: a record of TLS.
    static let chunk = 16 << 10
    /// Capacity in bytes up to which storage is retained for what comes next.
    private static let retained = 4_096

    private var bytes: [UInt8]
    /// Index of the first byte that waits.
    private var start = 0

    /// - Parameter bytes: what waited in another process.
    init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    var count: Int { bytes.count - start }
    var isEmpty: Bool { count == 0 }

    var waiting: ArraySlice<UInt8> { bytes[start...] }

    mutating func append(_ received: ArraySlice<UInt8>) { bytes.append(contentsOf: received) }

    /// Appends a message with its length before it. A message over 65,535 bytes cannot be framed, and is left out.
    mutating func append(message: [UInt8]) {
        guard let length = UInt16(exactly: message.count) else { return }
        bytes.append(UInt8(length >> 8))
        bytes.append(UInt8(truncatingIfNeeded: length))
        bytes.append(contentsOf: message)
    }

    /// Has more bytes appended as they are.
    mutating func fill(_ body: (inout [UInt8]) -> Void) { body(&bytes) }

    /// Removes the first `count` bytes, which were written or handled. Frees storage beyond what the next ones are likely to
    /// need.
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

    // MARK: Messages

    /// Whether `next()` returns anything but `incomplete`.
    var hasMessage: Bool {
        guard count >= 2 else { return false }
        let length = nextLength
        return length < Header.length || count >= 2 + length
    }

    private var nextLength: Int { Int(bytes[start]) << 8 | Int(bytes[start + 1]) }

    /// Removes and returns the next message.
    mutating func next() -> Next {
        guard hasMessage else { return .incomplete }
        let length = nextLength
        guard length >= Header.length else { return .malformed }
        let message = Array(bytes[(start + 2)..<(start + 2 + length)])
        removeFirst(2 + length)
        return .message(message)
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
