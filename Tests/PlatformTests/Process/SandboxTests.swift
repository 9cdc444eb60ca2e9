import Glibc
import Platform
import TestSupport
import Testing

/// What a process can do in the sandbox, and what not: each in a process of its own.
struct SandboxTests {
    /// Enters a sandbox with one folder; ends the process where the kernel does not let all of it in force.
    private static func enter(
        unixSockets: Set<UnixSocketKind> = [], abstractSockets: Bool = false
    ) throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        let sandbox = Sandbox(
            files: [directory.path + "/a.db"], unixSockets: unixSockets, abstractSockets: abstractSockets)
        guard sandbox.enter().isEmpty else { exit(98) }
        return directory
    }

    private static func canOpen(_ family: Int32, _ type: __socket_type) -> Bool {
        let number = socket(family, Int32(type.rawValue), 0)
        return number >= 0 && close(number) == 0
    }

    /// Whether a call has failed as on a kernel without it.
    private static func isMissing(_ result: Int32) -> Bool { result == -1 && errno == ENOSYS }

    /// Ends the process unless all of it holds; the status is the number of the first that does not, from 1.
    private static func require(_ holds: Bool...) {
        if let place = holds.firstIndex(of: false) { exit(Int32(place) + 1) }
    }

    @Test func `what the server never calls fails as on a kernel without it, and what it calls works`() async {
        await #expect(processExitsWith: .success) {
            let priority = __priority_which_t(PRIO_PROCESS.rawValue)
            typealias Limit = @convention(c) (pid_t, Int32, UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Int32
            var ends: [Int32] = [-1, -1]
            guard setpriority(priority, 0, 1) == 0, pipe(&ends) == 0, let call = dlsym(nil, "prlimit") else { exit(99) }
            _ = try Self.enter()
            var pid = pid_t()
            var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
            var limit = rlimit()
            Self.require(
                posix_spawn(&pid, "/bin/true", nil, nil, &arguments, nil) == ENOSYS,
                Self.isMissing(execv("/bin/true", &arguments)), Self.isMissing(daemon(1, 1)),
                Self.isMissing(setpriority(priority, 0, 2)), Self.isMissing(kill(getppid(), 0)),
                kill(getpid(), 0) == 0, getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0,
                // The limits of another process; F_SETOWN and F_SETSIG.
                Self.isMissing(unsafeBitCast(call, to: Limit.self)(getppid(), 7, nil, &limit)),
                Self.isMissing(fcntl(ends[0], 8, getppid())), Self.isMissing(fcntl(ends[0], 10, SIGKILL)),
                fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0, fcntl(ends[0], F_DUPFD_CLOEXEC, 0) >= 0,
                if_nametoindex("lo") == 1, !hostInterfaces().isEmpty)
            try NamedThread("one") {}.join()
        }
    }

    @Test func `files are written in the folder alone, and read everywhere`() async {
        await #expect(processExitsWith: .success) {
            let directory = try Self.enter()
            let file = directory.path + "/b"
            guard open(file, O_CREAT | O_RDWR | O_TRUNC, 0o600) >= 0, rename(file, file + "c") == 0,
                unlink(file + "c") == 0
            else { exit(1) }
            guard open("/etc/passwd", O_RDONLY) >= 0 else { exit(2) }
            guard open("/etc/passwd", O_WRONLY) < 0, open(directory.path + "-elsewhere", O_CREAT | O_RDWR, 0o600) < 0,
                unlink("/etc/passwd") != 0, mkdir(directory.path + "-elsewhere", 0o700) != 0
            else { exit(3) }
        }
    }

    @Test func `there are no capabilities, and none can be gained`() async {
        await #expect(processExitsWith: .success) {
            _ = try Self.enter()
            let status = String(decoding: try readFile("/proc/thread-self/status", limit: 8_192), as: UTF8.self)
            for line in [
                "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "CapAmb:\t0000000000000000",
                "NoNewPrivs:\t1", "Seccomp:\t2",
            ] where !status.contains(line) { exit(1) }
        }
    }

    @Test func `sockets are those of IP and netlink`() async {
        await #expect(processExitsWith: .success) {
            _ = try Self.enter()
            Self.require(
                Self.canOpen(AF_INET, SOCK_DGRAM), Self.canOpen(AF_INET6, SOCK_STREAM),
                Self.canOpen(AF_NETLINK, SOCK_RAW))
            for family in [AF_PACKET, AF_VSOCK, AF_ALG] {
                guard !Self.canOpen(family, SOCK_DGRAM), errno == ENOSYS else { exit(4) }
            }
            var pair: [Int32] = [-1, -1]
            for type in [SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET] {
                guard !Self.canOpen(AF_UNIX, type), errno == ENOSYS,
                    Self.isMissing(socketpair(AF_UNIX, Int32(type.rawValue), 0, &pair))
                else { exit(5) }
            }
        }
    }

    /// Connects to a Unix socket with an abstract name that was there before the sandbox. Returns the error number.
    private static func connectToAbstract(needed: Bool) throws -> Int32 {
        let type = Int32(SOCK_DGRAM.rawValue)
        var (address, length) = (sockaddr_un(), socklen_t(MemoryLayout<sockaddr_un>.size))
        address.sun_family = sa_family_t(AF_UNIX)
        let (server, client) = (socket(AF_UNIX, type, 0), socket(AF_UNIX, type, 0))
        return try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                // The family alone: the kernel chooses the name.
                guard bind(server, address, socklen_t(MemoryLayout<sa_family_t>.size)) == 0,
                    getsockname(server, address, &length) == 0
                else { throw TestFailure("no abstract socket") }
                _ = try Self.enter(abstractSockets: needed)
                return connect(client, address, length) == 0 ? 0 : errno
            }
        }
    }

    @Test(arguments: [false, true])
    func `Unix sockets with abstract names are within reach only where systemd needs one`(needed: Bool) async {
        await #expect(processExitsWith: .success) { [needed] in
            guard try Self.connectToAbstract(needed: needed) == (needed ? 0 : EPERM) else { exit(1) }
        }
    }

    @Test func `a folder that is still missing can be made`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let sandbox = Sandbox(files: [directory.path + "/later/a.db"])
            guard sandbox.folders == [directory.path], sandbox.enter().isEmpty else { exit(1) }
            guard mkdir(directory.path + "/later", 0o700) == 0,
                open(directory.path + "/later/a.db", O_CREAT | O_RDWR, 0o600) >= 0
            else { exit(2) }
        }
    }

    @Test func `nothing is typed into the terminal that the server was started from`() async {
        await #expect(processExitsWith: .success) {
            let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
            var (locked, number): (Int32, Int32) = (0, 0)
            // TIOCSPTLCK and TIOCGPTN.
            guard setsid() > 0, terminal >= 0, ioctl(terminal, 0x4004_5431, &locked) == 0,
                ioctl(terminal, 0x8004_5430, &number) == 0
            else { exit(8) }
            // The first terminal that a session opens is its own.
            let ours = open("/dev/pts/\(number)", O_RDWR)
            guard ours >= 0 else { exit(7) }
            _ = try Self.enter()
            var letter = CChar(UInt8(ascii: "x"))
            // TIOCSTI, also with bits that the kernel does not look at, and TIOCLINUX.
            for request: UInt in [0x5412, 0x1_0000_5412, 0x541c] {
                guard ioctl(ours, request, &letter) == -1, errno == ENOSYS else { exit(1) }
            }
            guard isatty(ours) == 1 else { exit(2) }
        }
    }

    @Test func `no file gets another mode, owner or time`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let path = try directory.write("secret", to: "file")
            guard chmod(path, 0o600) == 0, Sandbox(files: [path]).enter().isEmpty
            else { exit(9) }
            let file = open(path, O_RDONLY)
            let results = [
                chmod(path, 0o4755), fchmod(file, 0o666), fchmodat(AT_FDCWD, path, 0o666, 0),
                chown(path, 65_534, 65_534),
                lchown(path, 65_534, 65_534), fchown(file, 65_534, 65_534), fchownat(AT_FDCWD, path, 65_534, 65_534, 0),
                utimensat(AT_FDCWD, path, nil, 0), futimens(file, nil),
            ]
            guard results.allSatisfy({ $0 == -1 }) else { exit(1) }
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & 0o7777 == 0o600 else { exit(2) }
        }
    }

    @Test(arguments: [true, false])
    func `Unix sockets of the kind that is needed, and of no other, can be made`(isStream: Bool) async {
        await #expect(processExitsWith: .success) { [isStream] in
            _ = try Self.enter(unixSockets: [isStream ? .stream : .datagram])
            Self.require(
                Self.canOpen(AF_UNIX, SOCK_STREAM) == isStream, Self.canOpen(AF_UNIX, SOCK_DGRAM) != isStream,
                !Self.canOpen(AF_UNIX, SOCK_SEQPACKET))
        }
    }

    @Test(arguments: ["/run/httpdnsd.sock", "/tmp/a.sock", "/var/run/a.sock", "/etc/httpdnsd/a.sock", "/a.sock"])
    func `nothing is written in a folder of the system for the sake of a socket`(path: String) {
        #expect(Sandbox(sockets: [path]).folders == [])
    }

    @Test func `nothing is written in a folder of the system, but for those that are everybody's`() throws {
        let directory = try TemporaryDirectory()
        let own = directory.path + "/cache.db"
        let files = [
            "/etc/a.db", "/var/lib/a.db", "/var/lib/of-nobody/a.db", "/usr/lib/systemd/system/a.db", own, "/tmp/a.db",
        ]
        #expect(Sandbox(files: files).folders == ["/tmp", directory.path].sorted())
    }
}

/// The names that getifaddrs finds.
private func hostInterfaces() -> [String] {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { return [] }
    defer { freeifaddrs(first) }
    return sequence(first: first, next: { $0?.pointee.ifa_next }).compactMap {
        $0.map { String(cString: $0.pointee.ifa_name) }
    }
}
