import CSystem.Linux
public import DNSWire
import Glibc
import Synchronization

/// An open descriptor that another process passed to this one, and the name that it was given.
public final class PassedDescriptor: Sendable {
    /// The most that are taken.
    public static let limit = 65_536

    /// The name; of a systemd socket unit `FileDescriptorName=`, by default the unit's own.
    public let name: String
    private let descriptor: Mutex<Descriptor?>

    public init(_ descriptor: consuming Descriptor, name: String) {
        self.name = name
        self.descriptor = Mutex(descriptor)
    }

    /// Transfers ownership; nil at the second call.
    public func take() -> Descriptor? { descriptor.withLock { $0.take() } }

    /// The number, for system calls, as long as ownership was not transferred and this object lives.
    public var number: Int32? { descriptor.withLock { $0?.number } }

    /// Whether it is a socket that receives datagrams.
    public var isDatagram: Bool {
        number.map { hasType($0, .udp) } ?? false
    }

    /// The number of the socket or file in the kernel, which its duplicates have, too; nil once ownership was transferred.
    public var inode: UInt64? {
        var status = stat()
        return number.flatMap { unsafe fstat($0, &status) == 0 ? UInt64(status.st_ino) : nil }
    }

    /// The other end of the connection; nil when it is none, or broken.
    public var peer: SocketAddress? { number.flatMap { peerAddress(of: $0) } }

    /// Both ends of the connection as text, which no other connection has; nil when it is none, or broken.
    public var ends: String? {
        guard let number, let peer, let local = boundAddress(of: number) else { return nil }
        return "\(peer) \(local)"
    }

    /// Lets this process bind further sockets to the port beside this one, while another process serves there.
    public func sharePort() { if let number { setOption(number, SOL_SOCKET, SO_REUSEPORT, 1) } }

    /// Those with which the service manager started this process (sd_listen_fds(3)), made closed on exec. Called once.
    ///
    /// - Parameter environment: with `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES`.
    public static func inherited(_ environment: [String: String]) -> [PassedDescriptor] {
        guard environment["LISTEN_PID"].flatMap({ Int32($0) }) == getpid(),
            let count = environment["LISTEN_FDS"].flatMap({ Int($0) }), count > 0
        else { return [] }
        let names = (environment["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
        return (0..<min(count, limit)).compactMap { index in
            let number = first + Int32(clamping: index)
            guard fcntl(number, F_SETFD, FD_CLOEXEC) == 0 else { return nil }
            return PassedDescriptor(
                Descriptor(owning: number), name: index < names.count ? String(names[index]) : "unknown")
        }
    }

    /// The first one, behind the standard streams.
    private static let first: Int32 = 3

    // MARK: Bytes

    /// A file in memory with these bytes, to be passed on.
    public convenience init(_ bytes: [UInt8], name: String) throws(SystemError) {
        let number = unsafe try checked(clinux_memory_file(bytes, bytes.count), "make a file in memory")
        self.init(Descriptor(owning: number), name: name)
    }

    /// Reads a file from its beginning, at most `limit` bytes; empty when it is longer or cannot be read.
    public func contents(limit: Int) -> [UInt8] {
        guard let number, limit > 0 else { return [] }
        var status = stat()
        guard unsafe fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            (1...limit).contains(Int(status.st_size))
        else { return [] }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        return unsafe pread(number, &bytes, bytes.count, 0) == bytes.count ? bytes : []
    }
}

/// The owner of one file descriptor; closes it when the owner is destroyed.
public struct Descriptor: ~Copyable, Sendable {
    /// The number, for system calls; valid as long as this owner lives.
    public let number: Int32

    /// Takes ownership of `number`, which no other code may close.
    public init(owning number: Int32) { self.number = number }

    deinit { _ = close(number) }

    /// Gives up ownership without closing.
    public consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }
}

/// Asks the kernel whose a client's socket is (sock_diag(7)): one system call of some 5 us. For one thread.
public final class SocketOwners {
    private let descriptor: Descriptor

    /// - Throws: where the process may not have such a socket.
    public init() throws(SystemError) {
        descriptor = Descriptor(owning: try checked(clinux_diag_socket(), "ask for the owners of sockets (netlink)"))
    }

    /// The user that opened the UDP socket at an address of this machine, and the control group in which that was; nil where
    /// there is no socket any more.
    ///
    /// - Parameter server: where it sends to, of the same family.
    public func owner(of client: SocketAddress, asking server: SocketAddress) -> ClientNetwork? {
        guard client.family == server.family else { return nil }
        let (from, to) = (client.ip.bytes, server.ip.bytes)
        var (user, group): (UInt32, UInt64) = (0, 0)
        let result = unsafe clinux_udp_owner(
            descriptor.number, client.family == .ipv4 ? AF_INET : AF_INET6, from, client.port, to, server.port, &user,
            &group)
        return result == 0 ? ClientNetwork(user: user, group: group) : nil
    }
}
