import CLinux
import Platform

/// The return path of a late response over UDP: from the address and port to which the query was sent.
struct DatagramPath: Sendable {
    /// The sending socket of a listen address; this reference keeps it open until the response is sent.
    let socket: UDPSocket
    let origin: clinux_origin

    /// Where the query was sent to.
    ///
    /// - Parameter family: of the client.
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
