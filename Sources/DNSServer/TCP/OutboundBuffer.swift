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
