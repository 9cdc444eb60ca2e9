/// Replies that a TCP client has not taken yet.
struct OutboundBuffer {
    /// Storage up to this many bytes is kept for the next reply.
    private static let kept = 4_096

    private var bytes: [UInt8] = []
    /// Where what was not written yet begins.
    private var start = 0

    var count: Int { bytes.count - start }
    var isEmpty: Bool { count == 0 }

    /// What to write next.
    var unwritten: ArraySlice<UInt8> { bytes[start...] }

    /// Appends a message behind its length. It has at most 65,535 bytes; a longer one could not be framed, and is left out.
    mutating func append(_ message: [UInt8]) {
        guard let length = UInt16(exactly: message.count) else { return }
        bytes.append(UInt8(length >> 8))
        bytes.append(UInt8(truncatingIfNeeded: length))
        bytes.append(contentsOf: message)
    }

    /// Forgets the first `count` bytes, which were written.
    mutating func removeFirst(_ count: Int) {
        start += count
        if isEmpty {
            bytes.removeAll(keepingCapacity: bytes.capacity <= Self.kept)
            start = 0
        } else if start > bytes.count / 2 {
            bytes.removeSubrange(..<start)
            start = 0
        }
    }
}
