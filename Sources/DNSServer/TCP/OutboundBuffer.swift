import DNSWire
import Scheduling

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

/// The bytes of unfinished queries and unsent responses that the connections of a server hold together, plain and encrypted
/// ones, shared by client network.
///
/// A network alone may hold all of them. When they exceed the limit, the network that holds most loses the connection that
/// holds most of it; so none loses one because of others that hold more.
@Loop
final class BufferedBytes {
    private(set) var count = 0
    private let limit: Int
    private var tables: [Table] = []

    /// A table, as long as it exists.
    private struct Table {
        weak var connections: Connections?
    }

    /// - Parameter limit: how many bytes all connections may hold.
    init(limit: Int) { self.limit = limit }

    /// Has the connections of a table share them.
    func add(_ connections: Connections) { tables.append(Table(connections: connections)) }

    /// Adds a change in what a connection holds. If that is too much for all, others are closed.
    ///
    /// - Returns: false when the connection itself is the one to be closed.
    func book(_ change: Int, of connection: any ServedConnection) -> Bool {
        count += change
        while change > 0, count > limit {
            let largest = largest(after: connection)
            if largest === connection { return false }
            largest.close()
        }
        return true
    }

    /// Counts bytes no more that a connection held, which has closed.
    func release(_ held: Int) { count -= held }

    /// Of the network that holds most the connection that holds most; among equals the one that has booked last.
    ///
    /// Looks at all connections: each that is closed then held at least its part of the limit.
    private func largest(after last: any ServedConnection) -> any ServedConnection {
        var shares: [ClientNetwork: (sum: Int, largest: any ServedConnection)] = [:]
        var own: ClientNetwork?
        for case let table? in tables.map(\.connections) {
            for (network, connection) in table.holders where connection.held > 0 {
                let share = shares[network] ?? (0, connection)
                let isLarger = (connection.held, connection === last ? 1 : 0) > (share.largest.held, 0)
                shares[network] = (share.sum + connection.held, isLarger ? connection : share.largest)
                if connection === last { own = network }
            }
        }
        let most = shares.max { ($0.value.sum, $0.key == own ? 1 : 0) < ($1.value.sum, $1.key == own ? 1 : 0) }
        return most?.value.largest ?? last
    }
}
