import CSeccomp
import CSystem.Linux
import Glibc

/// What the process gives up once it has started, for ever: capabilities, executing programs, writing files elsewhere,
/// and all but the system calls of a server.
///
/// Reading stays free, since a reload may name other files. What the kernel or a container does not let in force is
/// left out.
public final class Sandbox: Sendable {
    /// The folders below which files may be written, each of which exists, and none of which is the system's.
    public let folders: [String]
    private let unixSockets: Set<UnixSocketKind>
    /// The rules for files; of no use with a fault.
    private let ruleset: Descriptor
    private let rulesFault: SystemError?

    /// Makes the rules; nothing is in force yet.
    ///
    /// All below the folders of what is written may be written, or below the nearest folder that exists where theirs is
    /// still to be made. Nothing may in a folder of the system; a file that is to be there cannot be written or removed.
    ///
    /// - Parameters:
    ///   - files: the paths of files that are written, with others beside them.
    ///   - sockets: the paths of Unix sockets that are there already, and removed at the end.
    ///   - unixSockets: those that are still made; none: nothing but what is connected already is reached by one.
    ///   - abstractSockets: whether Unix sockets with abstract names must stay within reach.
    public init(
        files: [String] = [], sockets: [String] = [], unixSockets: Set<UnixSocketKind> = [],
        abstractSockets: Bool = false
    ) {
        let files = files.map(Self.folder(of:)).filter { SystemFolder($0).map(\.isForAll) ?? true }
        let sockets = sockets.map(Self.folder(of:)).filter { SystemFolder($0) == nil }
        folders = Set(files + sockets).sorted()
        self.unixSockets = unixSockets
        let number = clinux_ruleset_create(abstractSockets ? 0 : 1)
        ruleset = Descriptor(owning: number)
        guard number >= 0 else {
            rulesFault = SystemError(code: -number, operation: "limit files with Landlock")
            return
        }
        var fault: SystemError?
        for folder in folders {
            let result = unsafe clinux_ruleset_allow(number, folder)
            if result != 0 { fault = SystemError(code: -result, operation: "let files be written below \(folder)") }
        }
        rulesFault = fault
    }

    /// Restricts the calling thread, and those that it starts afterwards: capabilities and files.
    ///
    /// - Returns: what is not in force, and why.
    @discardableResult
    public func enterThread() -> [SystemError] {
        var faults: [SystemError] = []
        let dropped = clinux_drop_capabilities()
        if dropped != 0 { faults.append(SystemError(code: -dropped, operation: "give up capabilities")) }
        // Rules that leave out a folder would stop what is written there.
        if let rulesFault { return faults + [rulesFault] }
        let enforced = clinux_ruleset_enforce(ruleset.number)
        if enforced != 0 { faults.append(SystemError(code: -enforced, operation: "limit files with Landlock")) }
        return faults
    }

    /// Restricts the calling thread as `enterThread` does, and the system calls of the whole process.
    ///
    /// Called before other threads are started; those that run already call `enterThread`.
    /// - Returns: what is not in force, and why.
    public func enter() -> [SystemError] {
        var faults = enterThread()
        do throws(SystemError) {
            try SystemCallFilter().enforce(unixSockets: unixSockets)
        } catch {
            faults.append(error)
        }
        return faults
    }

    /// The folder of a file, or the nearest one above that exists.
    private static func folder(of file: String) -> String {
        var path = Substring(file)
        while let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            path = path[..<slash]
            if unsafe access(String(path), F_OK) == 0 { return String(path) }
        }
        return file.hasPrefix("/") ? "/" : "."
    }
}

/// A filter of the kernel (seccomp) that lets a process make the system calls on a list, and no others.
///
/// Any other fails with ENOSYS, as on a kernel that does not have it. C libraries work on such kernels, so one that takes
/// up a new call goes on with the old one.
@safe public struct SystemCallFilter: ~Copyable {
    private let context: scmp_filter_ctx

    /// Makes a filter that allows nothing yet, and is not in force.
    ///
    /// - Throws: `SystemError` when there is no memory.
    public init() throws(SystemError) {
        guard let context = unsafe seccomp_init(cseccomp_error(UInt16(ENOSYS))) else {
            throw SystemError(code: ENOMEM, operation: "filter system calls")
        }
        unsafe self.context = unsafe context
    }

    deinit { unsafe seccomp_release(context) }

    /// Puts the list in force for every thread of the process, for ever.
    ///
    /// - Parameter unixSockets: which Unix sockets can still be made; those that are there already stay.
    /// - Throws: `SystemError`, with ENOSYS where the kernel has no filters.
    public func enforce(unixSockets: Set<UnixSocketKind>) throws(SystemError) {
        // Calls under the numbers of another processor: the library would end the process.
        try set(SCMP_FLTATR_ACT_BADARCH, cseccomp_error(UInt16(ENOSYS)))
        try set(SCMP_FLTATR_CTL_TSYNC, 1)
        // Without this older kernels switch a slow protection on, meant for programs that run foreign code.
        try set(SCMP_FLTATR_CTL_SSB, 1)
        // A tree, and not one comparison after another.
        try set(SCMP_FLTATR_CTL_OPTIMIZE, 2)
        for name in Self.allowed { try allow(name) }
        for family in [AF_INET, AF_INET6, AF_NETLINK] { try allow("socket", argument: 0, equals: UInt64(family)) }
        // No filter sees where a Unix socket leads.
        for kind in unixSockets {
            try allow(
                "socket",
                [
                    scmp_arg_cmp(arg: 0, op: SCMP_CMP_MASKED_EQ, datum_a: .max, datum_b: UInt64(AF_UNIX)),
                    scmp_arg_cmp(arg: 1, op: SCMP_CMP_MASKED_EQ, datum_a: Self.typeMask, datum_b: UInt64(kind.type)),
                ])
        }
        // Neither TIOCSTI nor TIOCLINUX, which type into the terminal, nor attributes of files.
        for request in Self.allowedRequests { try allow("ioctl", argument: 1, equals: UInt64(request)) }
        // Neither F_SETOWN nor F_SETSIG, which have signals sent to others.
        for command in Self.allowedCommands { try allow("fcntl", argument: 1, equals: UInt64(command)) }
        // Its own limits alone.
        try allow("prlimit64", argument: 0, equals: 0)
        // Threads, and neither processes nor namespaces. clone3, whose flags no filter can see, is not on the list, and
        // glibc takes clone instead.
        try allow("clone", argument: 0, mask: Self.cloneThread, equals: Self.cloneThread)
        // Signals to itself alone.
        for name in ["kill", "tgkill"] { try allow(name, argument: 0, equals: UInt64(getpid())) }
        unsafe try check(seccomp_load(context))
    }

    private func set(_ attribute: scmp_filter_attr, _ value: UInt32) throws(SystemError) {
        unsafe try check(seccomp_attr_set(context, attribute, value))
    }

    /// Allows a call with one argument whose bits under `mask` are `value`.
    private func allow(
        _ name: String, argument: UInt32, mask: UInt64 = .max, equals value: UInt64
    ) throws(SystemError) {
        try allow(name, [scmp_arg_cmp(arg: argument, op: SCMP_CMP_MASKED_EQ, datum_a: mask, datum_b: value)])
    }

    /// Allows a call, if the processor has it.
    private func allow(_ name: String, _ conditions: [scmp_arg_cmp] = []) throws(SystemError) {
        let number = unsafe seccomp_syscall_resolve_name(name)
        guard number >= 0 else { return }
        unsafe try check(
            seccomp_rule_add_array(context, SCMP_ACT_ALLOW, number, UInt32(conditions.count), conditions))
    }

    private func check(_ result: Int32) throws(SystemError) {
        if result < 0 { throw SystemError(code: -result, operation: "filter system calls") }
    }

    /// CLONE_THREAD of clone(2), which no header of Glibc's module has.
    private static let cloneThread: UInt64 = 0x10000
    /// The bits of a socket's type that are no flags (SOCK_TYPE_MASK of the kernel).
    private static let typeMask: UInt64 = 0xf
    /// Whether something is a terminal; how much can be read; non-blocking; names and numbers of interfaces.
    private static let allowedRequests = [TCGETS, FIONREAD, FIONBIO, SIOCGIFNAME, SIOCGIFINDEX]
    /// Copies, flags, locks of files, and seals of files in memory.
    private static let allowedCommands = [
        F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW, 36, 37, 38, 1033,
        1034,
    ]

    /// What the server, its libraries and the C library call, under the names of any processor.
    private static let allowed: [String] = [
        // Memory.
        "brk", "madvise", "membarrier", "mmap", "mprotect", "mremap", "munmap",
        // Threads and processors.
        "arch_prctl", "exit", "exit_group", "futex", "getcpu", "getpid", "getppid", "gettid", "rseq",
        "sched_getaffinity", "sched_yield", "set_robust_list", "set_tid_address",
        // Signals.
        "restart_syscall", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn", "rt_sigtimedwait",
        "sigaltstack", "signalfd4",
        // Clocks and timers.
        "clock_getres", "clock_gettime", "clock_nanosleep", "gettimeofday", "nanosleep", "time", "timerfd_create",
        "timerfd_gettime", "timerfd_settime",
        // What the process is, and may use.
        "getegid", "geteuid", "getgid", "getgroups", "getrandom", "getrlimit", "getrusage", "getuid", "sysinfo",
        "umask", "uname",
        // Giving up more.
        "capget", "capset", "landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self", "prctl",
        "seccomp",
        // Descriptors.
        "close", "close_range", "dup", "dup2", "dup3", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2",
        "epoll_wait", "eventfd2", "lseek", "memfd_create", "pipe", "pipe2", "poll", "ppoll",
        "pread64", "preadv", "pselect6", "pwrite64", "pwritev", "read", "readv", "select", "write", "writev",
        // Files, without their modes, owners and times: they are made as they are to be.
        "access", "faccessat", "faccessat2", "fadvise64", "fallocate", "fdatasync", "flock", "fstat", "fstatfs",
        "fsync",
        "ftruncate", "getcwd",
        "getdents64", "inotify_add_watch", "inotify_init1", "inotify_rm_watch", "lstat", "mkdir", "mkdirat",
        "newfstatat", "open", "openat", "readlink", "readlinkat", "rename", "renameat", "renameat2", "rmdir", "stat",
        "statfs", "statx", "unlink", "unlinkat",
        // Sockets.
        "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "recvfrom",
        "recvmmsg", "recvmsg", "sendfile", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown",
    ]
}

/// The Unix sockets that a process makes.
public enum UnixSocketKind: Sendable {
    /// Connections, as to dnstap's collector.
    case stream
    /// Datagrams, as to the service manager.
    case datagram

    /// As socket(2) takes it.
    var type: UInt32 {
        switch self {
        case .stream: SOCK_STREAM.rawValue
        case .datagram: SOCK_DGRAM.rawValue
        }
    }
}
