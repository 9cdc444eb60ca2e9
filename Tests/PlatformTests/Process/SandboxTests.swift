import Glibc
import Platform
import TestSupport
import Testing

/// What a process can do in the sandbox, and what not: each in a process of its own.
@Suite struct SandboxTests {
    /// Enters a sandbox with one folder; ends the process where the kernel does not let all of it in force.
    private static func enter(needsAbstractSockets: Bool = false) throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        let faults = Sandbox(writing: [directory.path + "/a.db"], needsAbstractSockets: needsAbstractSockets).enter()
        guard faults.isEmpty else { exit(9) }
        return directory
    }

    private static func canOpen(_ family: Int32, _ type: __socket_type) -> Bool {
        let number = socket(family, Int32(type.rawValue), 0)
        return number >= 0 && close(number) == 0
    }

    @Test func `no program can be executed`() async {
        await #expect(processExitsWith: .success) {
            let directory = try Self.enter()
            var pid = pid_t()
            var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
            guard posix_spawn(&pid, "/bin/true", nil, nil, &arguments, nil) == ENOSYS else { exit(1) }
            guard execv("/bin/true", &arguments) == -1, errno == ENOSYS else { exit(2) }
            withExtendedLifetime(directory) {}
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
            let directory = try Self.enter()
            let status = String(decoding: try readFile("/proc/thread-self/status", limit: 8_192), as: UTF8.self)
            for line in [
                "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "CapAmb:\t0000000000000000",
                "NoNewPrivs:\t1", "Seccomp:\t2",
            ] where !status.contains(line) { exit(1) }
            withExtendedLifetime(directory) {}
        }
    }

    @Test func `sockets are those of IP, Unix and netlink`() async {
        await #expect(processExitsWith: .success) {
            let directory = try Self.enter()
            for (family, type) in [(AF_INET, SOCK_DGRAM), (AF_INET6, SOCK_STREAM), (AF_UNIX, SOCK_STREAM)] {
                guard Self.canOpen(family, type) else { exit(1) }
            }
            guard Self.canOpen(AF_NETLINK, SOCK_RAW) else { exit(2) }
            for family in [AF_PACKET, AF_VSOCK, AF_ALG] {
                guard !Self.canOpen(family, SOCK_DGRAM), errno == ENOSYS else { exit(3) }
            }
            withExtendedLifetime(directory) {}
        }
    }

    @Test func `no process is started`() async {
        await #expect(processExitsWith: .success) {
            let directory = try Self.enter()
            guard daemon(1, 1) == -1, errno == ENOSYS else { exit(1) }
            withExtendedLifetime(directory) {}
        }
    }

    @Test func `a system call that is not on the list fails as on a kernel without it`() async {
        await #expect(processExitsWith: .success) {
            guard setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 1) == 0 else { exit(1) }
            let directory = try Self.enter()
            guard setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 2) == -1, errno == ENOSYS else { exit(2) }
            withExtendedLifetime(directory) {}
        }
    }

    @Test func `threads start, and other processes get no signal`() async {
        await #expect(processExitsWith: .success) {
            let directory = try Self.enter()
            try NamedThread("one") {}.join()
            guard kill(getppid(), 0) != 0, errno == ENOSYS, kill(getpid(), 0) == 0 else { exit(1) }
            withExtendedLifetime(directory) {}
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
                let directory = try Self.enter(needsAbstractSockets: needed)
                let result = connect(client, address, length) == 0 ? 0 : errno
                withExtendedLifetime(directory) {}
                return result
            }
        }
    }

    @Test func `Unix sockets with abstract names are out of reach`() async {
        await #expect(processExitsWith: .success) {
            guard try Self.connectToAbstract(needed: false) == EPERM else { exit(1) }
        }
    }

    @Test func `they are within reach where systemd needs one`() async {
        await #expect(processExitsWith: .success) {
            guard try Self.connectToAbstract(needed: true) == 0 else { exit(1) }
        }
    }

    @Test func `a folder that is still missing can be made`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let sandbox = Sandbox(writing: [directory.path + "/later/a.db"], needsAbstractSockets: false)
            guard sandbox.folders == [directory.path], sandbox.enter().isEmpty else { exit(1) }
            guard mkdir(directory.path + "/later", 0o700) == 0,
                open(directory.path + "/later/a.db", O_CREAT | O_RDWR, 0o600) >= 0
            else { exit(2) }
        }
    }
}
