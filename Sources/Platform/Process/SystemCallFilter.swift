import CSeccomp
import Glibc

/// A filter of the kernel (seccomp) that lets a process make the system calls on a list, and no others.
///
/// Any other fails with ENOSYS, as on a kernel that does not have it. C libraries work on such kernels, so one that takes
/// up a new call goes on with the old one.
@safe package struct SystemCallFilter: ~Copyable {
    private let context: scmp_filter_ctx

    /// Makes a filter that allows nothing yet, and is not in force.
    ///
    /// - Throws: `SystemError` when there is no memory.
    package init() throws(SystemError) {
        guard let context = unsafe seccomp_init(cseccomp_error(UInt16(ENOSYS))) else {
            throw SystemError(code: ENOMEM, operation: "filter system calls")
        }
        unsafe self.context = unsafe context
    }

    deinit { unsafe seccomp_release(context) }

    /// Puts the list in force for every thread of the process, for ever.
    ///
    /// - Throws: `SystemError`, with ENOSYS where the kernel has no filters.
    package func enforce() throws(SystemError) {
        // Calls under the numbers of another processor: the library would end the process.
        try set(SCMP_FLTATR_ACT_BADARCH, cseccomp_error(UInt16(ENOSYS)))
        try set(SCMP_FLTATR_CTL_TSYNC, 1)
        // Without this older kernels switch a slow protection on, meant for programs that run foreign code.
        try set(SCMP_FLTATR_CTL_SSB, 1)
        // A tree, and not one comparison after another.
        try set(SCMP_FLTATR_CTL_OPTIMIZE, 2)
        for name in Self.allowed { try allow(name) }
        for family in [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK] {
            for name in ["socket", "socketpair"] { try allow(name, argument: 0, equals: UInt64(family)) }
        }
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

    /// Allows a call, if the processor has it.
    private func allow(_ name: String) throws(SystemError) {
        let number = unsafe seccomp_syscall_resolve_name(name)
        if number >= 0 { unsafe try check(seccomp_rule_add_array(context, SCMP_ACT_ALLOW, number, 0, nil)) }
    }

    /// Allows a call with one argument whose bits under `mask` are `value`.
    private func allow(
        _ name: String, argument: UInt32, mask: UInt64 = .max, equals value: UInt64
    ) throws(SystemError) {
        let number = unsafe seccomp_syscall_resolve_name(name)
        guard number >= 0 else { return }
        var condition = scmp_arg_cmp(arg: argument, op: SCMP_CMP_MASKED_EQ, datum_a: mask, datum_b: value)
        unsafe try check(seccomp_rule_add_array(context, SCMP_ACT_ALLOW, number, 1, &condition))
    }

    private func check(_ result: Int32) throws(SystemError) {
        if result < 0 { throw SystemError(code: -result, operation: "filter system calls") }
    }

    /// CLONE_THREAD of clone(2), which no header of Glibc's module has.
    private static let cloneThread: UInt64 = 0x10000

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
        "getegid", "geteuid", "getgid", "getgroups", "getrandom", "getrlimit", "getrusage", "getuid", "prlimit64",
        "sysinfo", "umask", "uname",
        // Giving up more.
        "capget", "capset", "landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self", "prctl",
        "seccomp",
        // Descriptors.
        "close", "close_range", "dup", "dup2", "dup3", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2",
        "epoll_wait", "eventfd2", "fcntl", "ioctl", "lseek", "memfd_create", "pipe", "pipe2", "poll", "ppoll",
        "pread64", "preadv", "pselect6", "pwrite64", "pwritev", "read", "readv", "select", "write", "writev",
        // Files.
        "access", "chmod", "chown", "faccessat", "faccessat2", "fadvise64", "fallocate", "fchmod", "fchmodat",
        "fchmodat2", "fchown", "fchownat", "fdatasync", "flock", "fstat", "fstatfs", "fsync", "ftruncate", "getcwd",
        "getdents64", "inotify_add_watch", "inotify_init1", "inotify_rm_watch", "lstat", "mkdir", "mkdirat",
        "newfstatat", "open", "openat", "readlink", "readlinkat", "rename", "renameat", "renameat2", "rmdir", "stat",
        "statfs", "statx", "unlink", "unlinkat", "utimensat",
        // Sockets.
        "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "recvfrom",
        "recvmmsg", "recvmsg", "sendfile", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown",
    ]
}
