import Glibc
import Scheduling

/// One TCP connection of libcurl's, identified by its descriptor.
@Loop
final class HTTPConnection {
    let descriptor: Int32
    /// Distinguishes this socket from a later one with the same descriptor.
    private let inode: UInt
    private var knownPort: UInt16?
    /// Whether we shut it down, since it may be dead.
    private(set) var isEvicted = false

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        inode = Self.inode(of: descriptor)
    }

    /// Whether the descriptor still is this connection's.
    ///
    /// libcurl closes a socket that never was connected without its callback: so the kernel is asked.
    var isOpen: Bool { Self.inode(of: descriptor) == inode }

    private static func inode(of descriptor: Int32) -> UInt {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? status.st_ino : 0
    }

    /// Whether its local port is `port`; false while it is not connected.
    func hasLocalPort(_ port: UInt16) -> Bool {
        if knownPort == nil, isOpen { knownPort = readLocalPort() }
        return knownPort == port
    }

    /// Shuts the connection down, so that libcurl detects that and removes it from its pool once it is called.
    ///
    /// - Returns: whether it was open and not yet shut down.
    func evict() -> Bool {
        guard isOpen, !isEvicted else { return false }
        isEvicted = true
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
        return true
    }

    /// Whether the kernel has sent something again, in vain.
    var isUnacknowledged: Bool {
        var info = tcp_info()
        var length = socklen_t(MemoryLayout<tcp_info>.size)
        return unsafe isOpen && getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &length) == 0
            && info.tcpi_unacked > 0 && info.tcpi_retransmits > 0
    }

    private func readLocalPort() -> UInt16? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let port: UInt16 = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            let raw = UnsafeMutableRawPointer(pointer)
            guard unsafe getsockname(descriptor, raw.assumingMemoryBound(to: sockaddr.self), &length) == 0 else {
                return 0
            }
            // The port is at the same offset in an IPv4 and an IPv6 address.
            return unsafe UInt16(bigEndian: raw.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        }
        return port == 0 ? nil : port
    }
}
