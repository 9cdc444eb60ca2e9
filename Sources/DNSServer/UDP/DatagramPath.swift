import CSystem.Linux
import DNSWire
import Glibc
import Platform

/// The return path of a late response over UDP: from the address and port to which the query was sent.
struct DatagramPath: Sendable {
    /// The sending socket of a listen address; this reference keeps it open until the response is sent.
    let socket: UDPSocket
    let origin: clinux_origin

    /// Where the query of a client of this family was sent to.
    func destination(of family: SocketAddress.Family) -> SocketAddress {
        guard origin.has_local != 0 else { return socket.address }
        let (high, low) = (UInt64(bigEndian: local.0), UInt64(bigEndian: local.1))
        return family == .ipv4
            ? SocketAddress(ipv4: UInt32(high >> 32), port: socket.address.port)
            : SocketAddress(ipv6: high, low, port: socket.address.port)
    }

    /// The destination address of the query as two words; 0 where the socket does not report it.
    var local: (UInt64, UInt64) {
        guard origin.has_local != 0 else { return (0, 0) }
        return unsafe withUnsafeBytes(of: origin.local) {
            unsafe ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
    }
}

/// What identifies a retransmitted datagram: client address and port, server address, and all of its bytes, though of a long
/// one a hash stands for what is not retained. With the same ID and question a client may ask for another response: without
/// EDNS, say, or with CD.
struct DatagramIdentity: Hashable {
    private let client: SocketAddress
    private let server: SocketAddress
    private let local: UInt64
    private let localEnd: UInt64
    private let id: UInt16
    private let message: [UInt8]
    /// Of the bytes that are not retained, with a key of this process; 0: all are.
    private let rest: Int
    private let questionLength: Int

    /// The question's bytes, with the client's letter case.
    private var question: ArraySlice<UInt8> { message[Header.length..<(Header.length + questionLength)] }

    /// Hashes the question's bytes eight at a time: a call of the hasher costs more than combining them.
    func hash(into hasher: inout Hasher) {
        hasher.combine(client.low)
        var word = UInt64(client.port) << 16 | UInt64(id)
        var left = 4
        for byte in question {
            if left == 0 {
                hasher.combine(word)
                (word, left) = (0, 8)
            }
            word = word << 8 | UInt64(byte)
            left -= 1
        }
        hasher.combine(word)
    }

    /// - Parameter retained: the beginning of the message, with its question at least, or all of it.
    init(
        _ query: Query, _ message: [UInt8], retained: [UInt8], from client: SocketAddress, to path: DatagramPath
    ) {
        self.client = client
        server = path.socket.address
        (local, localEnd) = path.local
        id = query.id
        self.message = retained
        rest = message.count > retained.count ? message[retained.count...].hashValue : 0
        questionLength = query.questionLength
    }
}

/// Late responses over UDP that wait to be sent; those that become ready together are sent by one system call.
///
/// The A and AAAA responses for a name, which one client queried together and one HTTP request resolved, become ready
/// together.
@Loop
final class ReplyOutbox: Sendable {
    /// The socket by which the waiting responses are sent.
    private var socket: UDPSocket?
    private var bytes: [UInt8] = []
    private var replies: [clinux_late_reply] = []
    /// System calls that have sent responses, since the start.
    private(set) var sends = 0
    private let loop: EventLoop

    nonisolated init(on loop: EventLoop) { self.loop = loop }

    /// Queues and returns a response of at most `limit` bytes, sent once the loop has done everything due at this moment.
    ///
    /// It is dropped when its client is unreachable or no send buffer has room.
    func add(
        by path: DatagramPath, limit: Int, _ write: (inout OutputSpan<UInt8>) -> Void
    ) -> ArraySlice<UInt8> {
        if socket !== path.socket || replies.count == Int(CLINUX_LATE_MAX) { flush() }
        if replies.isEmpty { loop.atTurnEnd { [self] in flush() } }
        socket = path.socket
        let start = bytes.count
        bytes.append(addingCapacity: limit, initializingWith: write)
        replies.append(
            clinux_late_reply(
                offset: UInt32(truncatingIfNeeded: start), length: UInt32(truncatingIfNeeded: bytes.count - start),
                origin: path.origin))
        return bytes[start...]
    }

    /// Sends the waiting responses now.
    func flush() {
        guard let socket = socket.take(), !replies.isEmpty else { return }
        _ = unsafe clinux_send_late(
            socket.numbers, Int32(truncatingIfNeeded: socket.numbers.count), bytes, replies,
            Int32(truncatingIfNeeded: replies.count))
        sends += 1
        replies.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }
}

extension SocketAddress {
    /// The sender of the datagram in a slot of a batch; `nil` for a slot without one.
    init?(_ slot: UnsafePointer<clinux_slot>) {
        unsafe self.init(UnsafePointer(clinux_slot_peer(slot)), length: slot.pointee.peer_length)
    }
}

extension IPAddress {
    /// The sender of the datagram in a slot of a batch; `nil` for a slot without one.
    @inline(__always)
    init?(_ slot: UnsafeMutablePointer<clinux_slot>) {
        switch unsafe Int32(slot.pointee.peer.sin6_family) {
        case AF_INET where unsafe slot.pointee.peer_length >= MemoryLayout<sockaddr_in>.size:
            self = unsafe .v4(clinux_slot_ipv4(slot))
        case AF_INET6 where unsafe slot.pointee.peer_length >= MemoryLayout<sockaddr_in6>.size:
            self = unsafe withUnsafeBytes(of: slot.pointee.peer.sin6_addr) {
                unsafe .v6(UInt128(bigEndian: $0.loadUnaligned(as: UInt128.self)))
            }
        default: return nil
        }
    }
}
