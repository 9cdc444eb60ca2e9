import CCurl
import Glibc
import Scheduling

/// One TCP connection of libcurl's, by its descriptor: whether anything still arrives on it.
@Loop
final class HTTPConnection {
    private let descriptor: Int32
    /// Tells this socket from a later one of the same descriptor.
    private let inode: UInt
    private var knownPort: UInt16?
    /// Whether we broke it because nothing came any more.
    private(set) var isEvicted = false
    /// The first request since anything came: when it was sent, and what had been received by then.
    private var unanswered: (since: Instant, received: Int64)?

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        inode = Self.inode(of: descriptor)
    }

    /// Whether the descriptor still is this connection's.
    ///
    /// libcurl closes what never was connected by itself, without its callback: so the kernel is asked.
    var isOpen: Bool { Self.inode(of: descriptor) == inode }

    private static func inode(of descriptor: Int32) -> UInt {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status.st_ino : 0
    }

    /// How many bytes have arrived, counted by the kernel, so also those that nobody has read; nil if it cannot tell.
    var bytesReceived: Int64? {
        let count = ccurl_bytes_received(descriptor)
        return count < 0 ? nil : count
    }

    /// Whether anything has arrived since `bytesReceived` was `before`; nil if the kernel cannot tell.
    func hasReceived(since before: Int64?) -> Bool? {
        guard isOpen, let before, let now = bytesReceived else { return nil }
        return now != before
    }

    /// To be called as a request is about to be sent on it.
    func willSend(at now: Instant) {
        guard let received = bytesReceived, received != unanswered?.received else { return }
        unanswered = (now, received)
    }

    /// Whether nothing at all has come since a request that was sent `limit` ago or earlier.
    ///
    /// Requests that were given up early, because another address answered, find a dead connection out this way too.
    func isSilent(for limit: Duration, at now: Instant) -> Bool {
        guard let unanswered, now - unanswered.since >= limit, isOpen else { return false }
        return bytesReceived == unanswered.received
    }

    /// The port of our end; nil while not connected.
    var localPort: UInt16? {
        if knownPort == nil, isOpen { knownPort = readLocalPort() }
        return knownPort
    }

    /// Breaks the connection, so that libcurl finds it dead and takes it out of its pool.
    ///
    /// - Returns: the descriptor, for libcurl to be told; nil when there was nothing to break.
    func evict() -> Int32? {
        guard isOpen, !isEvicted else { return nil }
        isEvicted = true
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
        return descriptor
    }

    private func readLocalPort() -> UInt16? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let port: UInt16 = withUnsafeMutablePointer(to: &storage) { pointer in
            let raw = UnsafeMutableRawPointer(pointer)
            guard getsockname(descriptor, raw.assumingMemoryBound(to: sockaddr.self), &length) == 0 else { return 0 }
            // The port stands at the same place in an IPv4 and an IPv6 address.
            return UInt16(bigEndian: raw.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        }
        return port == 0 ? nil : port
    }
}
