import CSystem.Linux
import Glibc
import Synchronization

/// A listening Unix socket that accepts connections from its owner, root, and those its mode lets in; and its file.
public final class UnixListener: Sendable {
    /// The most connections that wait to be accepted.
    private static let backlog: Int32 = 128

    /// The path of the socket's file.
    public let path: String
    private let descriptor: Mutex<Descriptor?>
    /// The file, where it is this process's: as long as it is open no other one has its number. Nil: it cannot be distinguished
    /// from others, is removed, or is another process's.
    private let file: Mutex<Descriptor?>

    /// Creates the socket. No user that `mode` leaves out can connect at any time: its file is created with mode 0600, and
    /// gets another one once it has its owner and group.
    ///
    /// A stale file of a process that has ended is replaced. The parent directory is created if only it is missing.
    /// - Parameters:
    ///   - path: at most 107 bytes.
    ///   - owner: the user that will own the file, and the directory if it is created here; empty: the current user.
    ///     Another one needs root.
    ///   - group: the group of the file; empty: the owner's. Without root the process must be a member of it.
    ///   - keepsMessages: whether connections carry messages, which stay apart, and no stream of bytes.
    ///   - passed: the socket of another process that listens there: it is taken with its file, which remains that process's
    ///     until `takeFile`. Where the file is gone another one is made.
    /// - Throws: `EADDRINUSE` when a running process listens there, `EEXIST` when the file is no socket, or the
    ///   system's error.
    public init(
        _ path: String, owner: String = "", group: String = "", mode: UInt32 = 0o600, keepsMessages: Bool = false,
        adopting passed: PassedDescriptor? = nil
    ) throws(SystemError) {
        let account: (user: uid_t, group: gid_t)? = owner.isEmpty ? nil : try Privileges.account(named: owner)
        let members = group.isEmpty ? nil : try Privileges.group(named: group)
        func letIn() throws(SystemError) {
            try Self.give(path, to: account, named: owner)
            if let members { try Self.give(path, toGroup: members, named: group) }
            // Not by chmod, which follows links: the owner of the directory may have put one there meanwhile.
            guard unsafe fchmodat(AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW) == 0 else {
                throw .last("open control socket \(path)")
            }
        }
        self.path = path
        if let passed, unsafe access(path, F_OK) == 0, let descriptor = passed.take() {
            try letIn()
            file = Mutex(nil)
            self.descriptor = Mutex(descriptor)
            return
        }
        try makeFolder(of: path, for: account, mode: 0o755)
        try Self.removeStale(path)
        let descriptor = try unixSocket(at: path, keepsMessages ? SOCK_SEQPACKET : SOCK_STREAM)
        do throws(SystemError) {
            try letIn()
            guard listen(descriptor.number, Self.backlog) == 0 else {
                throw .last("listen on control socket \(path)")
            }
        } catch {
            unsafe unlink(path)
            throw error
        }
        file = Mutex(nil)
        self.descriptor = Mutex(descriptor)
        takeFile()
    }

    /// The number of the listening socket, for system calls while this object has it; nil once it was taken.
    public var number: Int32? { descriptor.withLock { $0?.number } }

    /// Transfers ownership of the listening socket, non-blocking and closed on exec; nil at the second call.
    public func takeDescriptor() -> Descriptor? { descriptor.withLock { $0.take() } }

    /// The connection that has waited longest to be accepted, as one for messages; nil when none waits, or the descriptor was
    /// taken.
    ///
    /// - Throws: when no more descriptors may be open: it still waits.
    public func acceptNext() throws(SystemError) -> NoticeSocket? {
        guard let number else { return nil }
        let connection = accept(number, nil, nil)
        guard connection >= 0 else {
            if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) { throw .last("accept on \(path)") }
            return nil
        }
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        return NoticeSocket(Descriptor(owning: connection))
    }

    /// The file is this process's from now on.
    public func takeFile() {
        // O_PATH, which the Glibc module lacks.
        let opened = unsafe open(path, 0o10000000 | O_NOFOLLOW | O_CLOEXEC)
        file.withLock { $0 = opened < 0 ? nil : Descriptor(owning: opened) }
    }

    /// The file is another process's from now on, and not removed.
    public func leaveFile() { file.withLock { $0 = nil } }

    /// Removes the file, unless another process has created its own there meanwhile. A second call does nothing.
    public func removeFile() {
        guard let ours = file.withLock({ $0.take() }) else { return }
        var (made, present) = (stat(), stat())
        guard unsafe fstat(ours.number, &made) == 0, unsafe lstat(path, &present) == 0,
            made.st_dev == present.st_dev, made.st_ino == present.st_ino
        else { return }
        unsafe unlink(path)
    }

    private static func give(
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

    /// Removes the socket file of a process that has ended.
    private static func removeStale(_ path: String) throws(SystemError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, var address = sockaddr_un(path: path) else { return }
        let operation = "make control socket \(path)"
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw SystemError(code: EEXIST, operation: operation, advice: "this file is no socket, and is not changed")
        }
        let probe = try unixSocket(SOCK_STREAM, operation)
        let result = unsafe address.with { unsafe connect(probe.number, $0, $1) }
        let code = result == 0 ? EADDRINUSE : errno
        switch code {
        case ECONNREFUSED: break
        case ENOENT: return
        // Of another type than this one: messages instead of bytes.
        case EADDRINUSE, EAGAIN, EPROTOTYPE:
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
    let descriptor = try unixSocket(type, "make control socket")
    let number = descriptor.number
    // Linux gives the file the mode of the socket, so at no moment others can connect.
    guard fchmod(number, 0o600) == 0 else { throw .last("close control socket to others") }
    guard unsafe address.with({ unsafe bind(number, $0, $1) }) == 0 else { throw .last(operation) }
    return descriptor
}

/// An unbound one.
private func unixSocket(_ type: __socket_type, _ operation: String) throws(SystemError) -> Descriptor {
    let number = socket(AF_UNIX, Int32(type.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard number >= 0 else { throw .last(operation) }
    return Descriptor(owning: number)
}

extension Descriptor {
    /// A socket connected to the one at `path`, non-blocking and closed on exec.
    ///
    /// - Parameters:
    ///   - path: at most 107 bytes.
    ///   - keepsMessages: whether it carries messages, and no stream of bytes.
    public static func connected(
        toUnixSocket path: String, keepsMessages: Bool = false
    ) throws(SystemError) -> Descriptor {
        let operation = "connect to \(path)"
        guard var address = sockaddr_un(path: path) else { throw SystemError(code: ENAMETOOLONG, operation: operation) }
        let descriptor = try unixSocket(keepsMessages ? SOCK_SEQPACKET : SOCK_STREAM, operation)
        let number = descriptor.number
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
