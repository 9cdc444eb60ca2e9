import Glibc
import Synchronization

/// A listening Unix socket that accepts connections from its owner, root, and those its mode lets in; and its file.
package final class UnixListener: Sendable {
    /// The most connections that wait to be accepted.
    private static let backlog: Int32 = 128

    /// The path of the socket's file.
    package let path: String
    private let descriptor: Mutex<Descriptor?>
    /// Whether what is at the path now belongs to another process.
    private let isLeft = Atomic(false)

    /// Creates the socket. No user that `mode` leaves out can connect at any time: its file is created with mode 0600, and gets another one
    /// once it has its owner and group.
    ///
    /// A stale file of a process that has ended is replaced. The parent directory is created if only it is missing.
    /// - Parameters:
    ///   - path: at most 107 bytes.
    ///   - owner: the user that will own the file, and the directory if it is created here; empty: the current user.
    ///     Another one needs root.
    ///   - group: the group of the file; empty: the owner's. Without root the process must be a member of it.
    ///   - mode: the permission bits of the file.
    /// - Throws: `EADDRINUSE` when a running process listens there, `EEXIST` when the file is no socket, or the
    ///   system's error.
    package init(
        _ path: String, owner: String = "", group: String = "", mode: UInt32 = 0o600
    ) throws(SystemError) {
        let account: (user: uid_t, group: gid_t)? = owner.isEmpty ? nil : try Privileges.account(named: owner)
        let members = group.isEmpty ? nil : try Privileges.group(named: group)
        try Self.makeDirectory(of: path, account)
        try Self.removeStale(path)
        let descriptor = try unixSocket(at: path, SOCK_STREAM)
        do throws(SystemError) {
            try Self.give(path, to: account, named: owner)
            if let members { try Self.give(path, toGroup: members, named: group) }
            // Not by chmod, which follows links: the owner of the directory may have put one there meanwhile.
            guard unsafe fchmodat(AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW) == 0 else {
                throw .last("open control socket \(path)")
            }
        } catch {
            unsafe unlink(path)
            throw error
        }
        guard listen(descriptor.number, Self.backlog) == 0 else {
            let error = SystemError.last("listen on control socket \(path)")
            unsafe unlink(path)
            throw error
        }
        self.path = path
        self.descriptor = Mutex(descriptor)
    }

    /// Transfers ownership of the listening socket, non-blocking and closed on exec; nil at the second call.
    package func takeDescriptor() -> Descriptor? { descriptor.withLock { $0.take() } }

    /// Removes the file while the socket is in use, so that another process can make its own there.
    package func leaveFile() {
        isLeft.store(true, ordering: .relaxed)
        unsafe unlink(path)
    }

    /// Removes the file. Called once the socket is closed: the owner of the descriptor has closed it. A socket that
    /// another process has created there meanwhile is not removed. A second call does nothing.
    package func removeFile() {
        descriptor.withLock { $0 = nil }
        // Another process may have made its own there, and not listen yet.
        guard !isLeft.load(ordering: .relaxed) else { return }
        try? Self.removeStale(path)
    }

    fileprivate static func give(
        _ path: String, to account: (user: uid_t, group: gid_t)?, named owner: String
    ) throws(SystemError) {
        guard let account, unsafe lchown(path, account.user, account.group) != 0 else { return }
        throw .last("give control socket \(path) to user \(owner)")
    }

    private static func give(_ path: String, toGroup group: gid_t, named name: String) throws(SystemError) {
        guard unsafe lchown(path, uid_t.max, group) != 0 else { return }
        throw SystemError(
            code: errno, operation: "give control socket \(path) to group \(name)",
            advice: errno == EPERM
                ? "the server is no member of the group: SupplementaryGroups=\(name) and SystemCallFilter=@chown in its "
                    + "systemd unit" : nil)
    }

    private static func makeDirectory(of path: String, _ account: (user: uid_t, group: gid_t)?) throws(SystemError) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.startIndex else { return }
        let directory = String(path[..<slash])
        guard unsafe access(directory, F_OK) != 0, errno == ENOENT else { return }
        guard unsafe mkdir(directory, 0o755) == 0 || errno == EEXIST else {
            throw .last("make directory \(directory)")
        }
        // Else the file could not be removed once root is dropped.
        if let account, unsafe lchown(directory, account.user, account.group) != 0 {
            throw .last("give directory \(directory) away")
        }
    }

    /// Removes the socket file of a process that has ended.
    private static func removeStale(_ path: String) throws(SystemError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, var address = sockaddr_un(path: path) else { return }
        let operation = "make control socket \(path)"
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw SystemError(code: EEXIST, operation: operation, advice: "this file is no socket, and is not changed")
        }
        let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard number >= 0 else { throw .last(operation) }
        let probe = Descriptor(owning: number)
        let result = unsafe address.with { unsafe connect(probe.number, $0, $1) }
        let code = result == 0 ? EADDRINUSE : errno
        switch code {
        case ECONNREFUSED: break
        case ENOENT: return
        case EADDRINUSE, EAGAIN:
            throw SystemError(
                code: EADDRINUSE, operation: operation, advice: "another httpdnsd that is running listens there")
        default: throw SystemError(code: code, operation: operation)
        }
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw .last("replace stale control socket \(path)") }
    }
}

/// Creates a Unix socket and its file, at most 107 bytes long, non-blocking and closed on exec. No other user can connect
/// or send at any time: the file is created with mode 0600.
private func unixSocket(at path: String, _ type: __socket_type) throws(SystemError) -> Descriptor {
    let operation = "make control socket \(path)"
    guard var address = sockaddr_un(path: path) else { throw SystemError(code: ENAMETOOLONG, operation: operation) }
    let number = socket(AF_UNIX, Int32(type.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard number >= 0 else { throw .last("make control socket") }
    let descriptor = Descriptor(owning: number)
    // Linux gives the file the mode of the socket, so at no moment others can connect.
    guard fchmod(number, 0o600) == 0 else { throw .last("close control socket to others") }
    guard unsafe address.with({ unsafe bind(number, $0, $1) }) == 0 else { throw .last(operation) }
    return descriptor
}

/// Creates a Unix socket for datagrams in the same way.
///
/// - Parameter owner: the user that will own the file; empty: the current user. Another one needs root.
func unixDatagramSocket(at path: String, owner: String) throws(SystemError) -> Descriptor {
    let account: (user: uid_t, group: gid_t)? = owner.isEmpty ? nil : try Privileges.account(named: owner)
    let descriptor = try unixSocket(at: path, SOCK_DGRAM)
    do throws(SystemError) {
        try UnixListener.give(path, to: account, named: owner)
    } catch {
        unsafe unlink(path)
        throw error
    }
    return descriptor
}

extension Descriptor {
    /// A stream socket connected to the one at `path`, non-blocking and closed on exec.
    ///
    /// - Parameter path: at most 107 bytes.
    package static func connected(toUnixSocket path: String) throws(SystemError) -> Descriptor {
        let operation = "connect to \(path)"
        guard var address = sockaddr_un(path: path) else { throw SystemError(code: ENAMETOOLONG, operation: operation) }
        let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard number >= 0 else { throw .last(operation) }
        let descriptor = Descriptor(owning: number)
        // A Unix socket is connected at once, or not at all.
        guard unsafe address.with({ unsafe connect(number, $0, $1) }) == 0 else { throw .last(operation) }
        return descriptor
    }
}

extension sockaddr_un {
    /// Nil for a path that is empty or too long.
    fileprivate init?(path: String) {
        self.init()
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, !bytes.contains(0), bytes.count < MemoryLayout.size(ofValue: sun_path) else { return nil }
        sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &sun_path) { unsafe $0.copyBytes(from: bytes) }
    }

    /// Calls `body` with the address as a C `sockaddr`.
    fileprivate mutating func with(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        unsafe withUnsafePointer(to: &self) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
