import CSystem.Linux
import DNSWire
import Glibc
import Platform
import Synchronization
import TestSupport
import Testing

@Suite(.onLoop, .serialized) struct SignalTests {
    @Test(arguments: Signal.allCases) @Loop func `a signal is delivered on the loop as a call`(signal: Signal)
        async throws
    {
        // Blocked on this thread, the loop's, and sent to it only: no other thread of the test process receives it.
        Signal.block()
        let inbox = Inbox<Signal>()
        let watch = try SignalWatch(on: LoopRunner.shared.loop) { inbox.add($0) }
        defer { watch.cancel() }
        raise(signal.rawValue)
        #expect(await inbox.wait(for: 1) == [signal])
    }
}

struct ProcessTests {
    @Test func `a thread has its name and can be joined`() throws {
        let name = Mutex("")
        let thread = try NamedThread("udp 127.0.0.1 and more") {
            let text = (try? readFile("/proc/thread-self/comm", limit: 64)) ?? []
            name.withLock { $0 = String(decoding: text, as: UTF8.self) }
        }
        thread.join()
        thread.join()
        #expect(name.withLock { $0 } == "udp 127.0.0.1 a\n")
    }

    @Test func `a thread can be interrupted, also one made where the signal for it is blocked`() async throws {
        let isBlocked = try await NamedThread.run("maker") {
            var interrupt = sigset_t()
            sigaddset(&interrupt, SIGURG)
            pthread_sigmask(SIG_BLOCK, &interrupt, nil)
            let isBlocked = Mutex(true)
            (try? NamedThread("made") {
                var mask = sigset_t()
                pthread_sigmask(SIG_BLOCK, nil, &mask)
                isBlocked.withLock { $0 = sigismember(&mask, SIGURG) == 1 }
            })?.join()
            return isBlocked.withLock { $0 }
        }
        #expect(!isBlocked)
    }

    @Test func `after dropping to a user there is no way back to root`() async {
        await #expect(processExitsWith: .success) {
            guard getuid() == 0 else { return }
            try Privileges.drop(to: "nobody")
            guard getuid() != 0, geteuid() != 0, getgid() != 0, getgroups(0, nil) <= 1, setuid(0) != 0,
                open("/etc/shadow", O_RDONLY) < 0
            else { exit(1) }
        }
    }

    @Test func `what a user cannot read is named with the place in the way, and this process stays root`() async {
        await #expect(processExitsWith: .success) {
            guard getuid() == 0 else { return }
            let directory = try TemporaryDirectory()
            chmod(directory.path, 0o755)
            let names = ["open", "closed", "folder/in", "missing"].map { directory.path + "/" + $0 }
            mkdir(directory.path + "/folder", 0o700)
            for (name, mode) in zip(names.dropLast(), [0o644, 0o600, 0o644] as [mode_t]) {
                try createFile(name, [1], mode: mode)
            }
            let found = try Privileges.unreadable(names, by: "nobody")
            guard found.map(\.path) == Array(names.dropFirst()), found[0].place == names[1],
                found[1].place.hasSuffix("/folder"), found[2].place == names[3],
                found.map(\.error.code) == [EACCES, EACCES, ENOENT]
            else { exit(1) }
            guard geteuid() == 0, try Privileges.unreadable(names, by: "root").isEmpty else { exit(2) }
        }
    }

    @Test func `root without further groups can try what a user can read`() async {
        await #expect(processExitsWith: .success) {
            guard getuid() == 0 else { return }
            guard setgroups(0, nil) == 0, try !Privileges.unreadable(["/missing"], by: "nobody").isEmpty,
                getgroups(0, nil) == 0
            else { exit(1) }
        }
    }

    @Test func `the environment can be read, also by a process that was root before`() async {
        await #expect(processExitsWith: .success) {
            if getuid() == 0 { try Privileges.drop(to: "nobody") }
            guard processEnvironment()["PATH"]?.isEmpty == false else { exit(1) }
        }
    }

    @Test func `once core dumps are forbidden the process cannot be dumped, and its limit stays at 0`() async {
        await #expect(processExitsWith: .success) {
            guard clinux_is_dumpable() != 0 else { exit(1) }
            forbidCoreDumps()
            var limit = rlimit()
            let resource = __rlimit_resource_t(RLIMIT_CORE.rawValue)
            guard clinux_is_dumpable() == 0, getrlimit(resource, &limit) == 0, limit.rlim_cur == 0, limit.rlim_max == 0
            else { exit(2) }
        }
    }

    @Test func `dropping to a user that does not exist says so`() {
        let error = #expect(throws: SystemError.self) { try Privileges.drop(to: "no-such-user") }
        #expect(error?.description.contains("look up user no-such-user") == true)
        #expect(error?.advice == "there is no such user on this machine")
    }

    @Test func `a descriptor is closed with its owner, and not once released`() {
        // Tests that run in parallel reuse numbers immediately, so the file behind a number is compared.
        func file(_ number: Int32) -> ino_t? {
            var status = stat()
            return fstat(number, &status) == 0 ? status.st_ino : nil
        }
        var ends: [Int32] = [-1, -1]
        pipe(&ends)
        let inode = file(ends[0])
        let released = Descriptor(owning: ends[1]).release()
        #expect(file(released) == inode)
        do { _ = Descriptor(owning: ends[0]) }
        #expect(file(ends[0]) != inode)
        close(released)
    }

    @Test func `a system error reads as what was tried, why it failed and what to do`() {
        #expect(SystemError(code: ENOENT, operation: "open x").description == "open x: No such file or directory")
        #expect(
            SystemError(code: ENOENT, operation: "open x", advice: "create it").description
                == "open x: No such file or directory; create it")
        #expect(SystemError(code: 9_999, operation: "open x").description == "open x: error 9999")
    }
}

/// What the process uses.
struct ProcessResourcesTests {
    @Test func `a running process has some descriptors open, and no more than it may`() {
        let resources = ProcessResources()
        #expect((3...resources.descriptorLimit).contains(resources.descriptors))
    }

    @Test func `descriptors that are opened count`() async {
        await #expect(processExitsWith: .success) {
            let before = ProcessResources().descriptors
            for _ in 0..<200 { guard open("/dev/null", O_RDONLY) >= 0 else { exit(9) } }
            // Other threads of the test's process have some of their own.
            guard (180...220).contains(ProcessResources().descriptors - before) else { exit(1) }
        }
    }

    @Test func `memory and processor time are those of a process that runs`() {
        let resources = ProcessResources()
        #expect(resources.residentBytes > 1 << 20 && resources.processorTime > .zero)
    }
}
