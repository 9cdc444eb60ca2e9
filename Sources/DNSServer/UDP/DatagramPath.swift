import CLinux
import Platform

/// How a late reply over UDP finds its way: from the very address and port that were asked.
struct DatagramPath: Sendable {
    /// Sends for all sockets of what is listened on; kept open by this reference until the reply is sent.
    let socket: UDPSocket
    let origin: clinux_origin

    /// The address that was asked, as two words; 0 where the socket does not report it.
    var local: (UInt64, UInt64) {
        guard origin.has_local != 0 else { return (0, 0) }
        return withUnsafeBytes(of: origin.local) {
            ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
    }
}
