import Foundation
import Glibc
import Synchronization
import TestSupport

/// A program that runs in parallel with the tests; killed when the last reference is released.
package final class ChildProcess: Sendable {
    /// The results of a finished program.
    package struct Outcome: Sendable {
        package let output: String
        package let errors: String
        /// The exit status, or 128 + the signal that ended it.
        package let status: Int32

        /// Its output, line by line.
        package var lines: [String] { output.split(separator: "\n").map(String.init) }

        /// The JSON object that is its output; empty if that is none.
        package var json: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any]) ?? [:]
        }
    }

    private struct State {
        var output: [UInt8] = []
        var errors: [UInt8] = []
        var openPipes = 2
        var status: Int32?
    }

    /// Its process ID.
    package let pid: Int32
    private let monitor = Monitor(State())

    /// Held while pipes are made and a child is started, so that no other child inherits them.
    private static let spawning = Mutex(())

    /// Runs `body` while no program is started: what it opens and closes, none has a copy of.
    package static func withoutStarts<Result>(_ body: () throws -> Result) rethrows -> Result {
        try spawning.withLock { _ in try body() }
    }

    /// Starts `arguments[0]`, looked up in PATH, with its input from `/dev/null`.
    ///
    /// - Parameters:
    ///   - environment: added to the environment of the tests.
    ///   - descriptors: what it has open as 3, 4 and so on.
    package init(
        _ arguments: [String], environment: [String: String] = [:], directory: String? = nil,
        descriptors: [Int32] = []
    ) throws {
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }.map { "\($0)=\($1)" }
        let (pid, pipes) = try Self.spawning.withLock { _ in
            try Self.spawn(arguments, variables, directory, descriptors)
        }
        self.pid = pid
        Self.collect(pipes[0], into: monitor) { $0.output += $1 }
        Self.collect(pipes[1], into: monitor) { $0.errors += $1 }
        let monitor = monitor
        Thread.detachNewThread {
            // Reaped under the lock, and only once it has ended: so no signal is sent to a process ID that was reused.
            var information = siginfo_t()
            while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
            monitor.withLock { state in
                var status: Int32 = 0
                waitpid(pid, &status, 0)
                state.status = status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
            }
        }
    }

    /// Starts a server, and waits until it says that it is ready.
    ///
    /// - Parameters:
    ///   - ready: the text by which it says so, in its output or its errors.
    ///   - environment: added to the environment of the tests.
    package convenience init(
        server arguments: [String], until ready: String, environment: [String: String] = [:]
    ) throws {
        try self.init(arguments, environment: environment)
        guard waitForOutput(.patience, { $0.contains(ready) || $1.contains(ready) }) else {
            throw TestFailure("\(arguments.joined(separator: " ")) did not start: \(output)\(errors)")
        }
    }

    deinit {
        signal(SIGKILL)
        // What comes next may have its port.
        _ = monitor.wait(.patience) { $0.status != nil }
    }

    /// Its standard output so far.
    package var output: String { monitor.read { String(decoding: $0.output, as: UTF8.self) } }

    /// Its standard error output so far.
    package var errors: String { monitor.read { String(decoding: $0.errors, as: UTF8.self) } }

    package var isRunning: Bool { monitor.read { $0.status == nil } }

    /// Sends a signal, unless it has ended.
    package func signal(_ number: Int32) {
        monitor.read { state in
            if state.status == nil { kill(pid, number) }
        }
    }

    /// Waits until its output (both streams) fulfils `condition`, or it has ended.
    ///
    /// - Returns: whether the condition is fulfilled.
    package func waitForOutput(_ limit: Duration, _ condition: (_ output: String, _ errors: String) -> Bool) -> Bool {
        func holds(_ state: State) -> Bool {
            condition(String(decoding: state.output, as: UTF8.self), String(decoding: state.errors, as: UTF8.self))
        }
        _ = monitor.wait(limit) { holds($0) || ($0.status != nil && $0.openPipes == 0) }
        return monitor.read(holds)
    }

    /// Waits for its end.
    ///
    /// - Throws: when it still runs after `limit`; it is then killed.
    package func finish(within limit: Duration) throws -> Outcome {
        guard monitor.wait(limit, until: { $0.status != nil }) else {
            signal(SIGKILL)
            throw TestFailure("process \(pid) still ran after \(limit); it wrote: \(output)\(errors)")
        }
        _ = monitor.wait(.patience) { $0.openPipes == 0 }
        return monitor.read { state in
            Outcome(
                output: String(decoding: state.output, as: UTF8.self),
                errors: String(decoding: state.errors, as: UTF8.self), status: state.status ?? -1)
        }
    }

    /// Runs a program to its end.
    @discardableResult
    package static func run(
        _ arguments: [String], environment: [String: String] = [:], directory: String? = nil,
        within limit: Duration = .patience
    ) throws -> Outcome {
        try ChildProcess(arguments, environment: environment, directory: directory).finish(within: limit)
    }

    /// Runs a program that must succeed, and returns its output.
    @discardableResult
    package static func succeed(
        _ arguments: [String], directory: String? = nil, within limit: Duration = .patience
    ) throws -> String {
        let outcome = try run(arguments, directory: directory, within: limit)
        guard outcome.status == 0 else {
            throw TestFailure("\(arguments.joined(separator: " ")): status \(outcome.status): \(outcome.errors)")
        }
        return outcome.output
    }

    private static func collect(
        _ descriptor: Int32, into monitor: Monitor<State>, _ append: @escaping @Sendable (inout State, [UInt8]) -> Void
    ) {
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                monitor.withLock { append(&$0, Array(buffer[..<count])) }
            }
            close(descriptor)
            monitor.withLock { $0.openPipes -= 1 }
        }
    }

    private typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32

    /// The Glibc module does not have it.
    private static let closeFrom = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np")
        .map { unsafeBitCast($0, to: CloseFrom.self) }

    /// Starts the program.
    ///
    /// - Returns: its process ID, and the reading ends of its output and error streams.
    private static func spawn(
        _ arguments: [String], _ variables: [String], _ directory: String?, _ descriptors: [Int32]
    ) throws -> (pid_t, [Int32]) {
        var ends: [(reading: Int32, writing: Int32)] = []
        for _ in 0..<2 {
            var pair: [Int32] = [0, 0]
            guard pipe(&pair) == 0 else { throw TestFailure("cannot make a pipe") }
            for descriptor in pair { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
            ends.append((pair[0], pair[1]))
        }
        defer { for end in ends { close(end.writing) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[0].writing, 1)
        posix_spawn_file_actions_adddup2(&actions, ends[1].writing, 2)
        // None is blocked, although a test may run on a thread of Dispatch, which blocks them all.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        // Out of the way first: a number may be among those that they are to have.
        let copies = descriptors.map { fcntl($0, F_DUPFD_CLOEXEC, 3 + Int32(descriptors.count)) }
        defer { for copy in copies { close(copy) } }
        for (index, copy) in copies.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, copy, 3 + Int32(index))
        }
        // Whatever else is open here, in other tests too: a copy would be open as long as the program runs.
        guard let closeFrom = Self.closeFrom, closeFrom(&actions, 3 + Int32(descriptors.count)) == 0 else {
            throw TestFailure("cannot close what a program is not to have")
        }
        var words = arguments
        if let directory { words = ["env", "-C", directory] + words }
        var argv: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = variables.map { strdup($0) } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var pid: pid_t = 0
        let result = posix_spawnp(&pid, words[0], &actions, &attributes, &argv, &envp)
        guard result == 0 else {
            for end in ends { close(end.reading) }
            throw TestFailure("cannot start \(words[0]): \(String(cString: strerror(result)))")
        }
        return (pid, ends.map(\.reading))
    }
}
