import Foundation
import Glibc
import TestSupport

/// The executable under test, running `serve` with the test's configuration; killed when the last reference is
/// released.
package final class Daemon: Sendable {
    /// The addresses on which it listens, UDP and TCP, in the order of the configuration.
    package let addresses: [TestAddress]
    /// The path of its configuration file.
    package let configurationFile: String
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    /// Writes the configuration, starts `serve`, and waits for the line that says it is ready.
    ///
    /// - Parameters:
    ///   - configuration: TOML after the `[listen]` table, which is written here; see `DaemonConfiguration`.
    ///   - hosts: the addresses to listen on.
    ///   - port: nil: one that is free on all of them.
    ///   - listen: more lines of the `[listen]` table.
    ///   - options: more arguments of `serve`.
    ///   - wrapper: a command that executes it, such as `prlimit --nofile=48`.
    ///   - namespace: the network namespace to run it in.
    ///   - store: starts it as a service manager does, with the descriptors that it stores.
    package init(
        _ configuration: String, on hosts: [String] = ["127.0.0.1"], port: UInt16? = nil, listen: String = "",
        environment: [String: String] = [:], options: [String] = [], wrapper: [String] = [],
        namespace: NetworkNamespace? = nil, store: DescriptorStore? = nil
    ) throws {
        // The defaults are the machine's own files: a test would read other programs' data, and leave its own.
        for table in ["[cache.disk]", "[control]"] where !configuration.contains(table) {
            throw TestFailure("the configuration has no \(table): the daemon would use the machine's own files")
        }
        Self.raiseDescriptorLimit()
        let port = try port ?? FreePort.next(on: hosts)
        let addresses = hosts.map { TestAddress($0, port: port) }
        self.addresses = addresses
        directory = try TemporaryDirectory()
        let socket = directory.path + "/control.sock"
        let text =
            Self.listenTable(addresses, listen) + configuration.replacing(DaemonConfiguration.ownSocket, with: socket)
        configurationFile = try directory.write(text, to: "httpdnsd.toml")
        let words = [Self.executable, "serve", "--config", configurationFile] + options
        let prefix = (namespace?.prefix ?? []) + wrapper
        process =
            try store.map { try $0.start(prefix, words, environment) }
            ?? ChildProcess(prefix + words, environment: environment)
        // The line names the addresses; it may write a wildcard address in another form, but not the port.
        let ready = process.waitForOutput(.patience) { output, errors in
            // With log.format = "json" it is an event like any other.
            (output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                + errors.split(separator: "\n").filter { $0.contains("start.serving") })
                .contains { $0.contains(":\(port)") }
        }
        guard ready else {
            throw TestFailure("httpdnsd did not become ready; it wrote: \(process.output)\(process.errors)")
        }
    }

    /// The `[listen]` table for these addresses.
    package static func listenTable(_ addresses: [TestAddress], _ extra: String = "") -> String {
        "[listen]\naddresses = [\(addresses.map { "\"\($0)\"" }.joined(separator: ", "))]\n\(extra)\n"
    }

    /// The first address that it listens on.
    package var address: TestAddress { addresses[0] }

    package var pid: Int32 { process.pid }
    package var output: String { process.output }
    /// Its log.
    package var errors: String { process.errors }
    package var isRunning: Bool { process.isRunning }

    /// A UDP client of the daemon.
    package func client(from source: String? = nil) throws -> TestDNSClient {
        try TestDNSClient(address, from: source, keeping: self)
    }

    /// A TCP client of the daemon.
    package func tcpClient(from source: String? = nil) throws -> TestTCPClient {
        try TestTCPClient(address, from: source, keeping: self)
    }

    /// Runs `dig` against it.
    package func dig(_ name: String, _ type: String = "A", _ options: String...) throws -> Dig {
        try Dig(address, name, type, options)
    }

    package func signal(_ number: Int32) { process.signal(number) }

    /// The words of a line of its status in `/proc`, such as `VmRSS`; none where it is not there.
    package func kernelStatus(_ key: String) throws -> [Substring] {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix(key + ":") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().map(\.self) ?? []
    }

    /// So many KiB of memory, or the number of what else the key stands for.
    package func kernelNumber(_ key: String) throws -> Int { try kernelStatus(key).first.flatMap { Int($0) } ?? 0 }

    /// A command that runs another one where this file (PEM) has the machine's only authorities.
    package static func trusting(_ authority: String) -> [String] {
        let script = #"mount --bind "$1" /etc/ssl/certs/ca-certificates.crt && shift && exec "$@""#
        return ["unshare", "--mount", "sh", "-c", script, "sh", authority]
    }

    /// Waits until its log fulfils `condition`.
    package func waitForLog(_ limit: Duration = .patience, _ condition: (String) -> Bool) -> Bool {
        process.waitForOutput(limit) { _, errors in condition(errors) }
    }

    /// Waits until each of its threads waits for an event without a time limit, and no timer is due within `time`.
    ///
    /// - Returns: false when it does not come to that.
    package func comesToRest(for time: Duration) throws -> Bool {
        // In this order: a thread that runs may set a timer before it waits.
        try eventually {
            try ProcessRest.waitsForEvents(pid) && ProcessRest.nextTimer(of: pid).map { $0 > time } ?? true
        }
    }

    /// Waits for its end.
    package func finish(within limit: Duration = .patience) throws -> ChildProcess.Outcome {
        try process.finish(within: limit)
    }

    /// Sends SIGTERM and waits for its end.
    ///
    /// - Returns: the exit status.
    @discardableResult
    package func stop(within limit: Duration = .patience) throws -> Int32 {
        signal(SIGTERM)
        return try finish(within: limit).status
    }

    /// Runs a command of the executable with its configuration, such as `cache list`, to its end.
    package func run(_ arguments: String...) throws -> ChildProcess.Outcome {
        try Self.run(arguments + ["--config", configurationFile])
    }

    /// What `status` prints of it.
    package func status() throws -> String { try run("status").output }

    /// Runs a command of the executable, such as `check --config FILE`, to its end.
    package static func run(
        _ arguments: [String], environment: [String: String] = [:], within limit: Duration = .patience
    ) throws -> ChildProcess.Outcome {
        try ChildProcess.run([executable] + arguments, environment: environment, within: limit)
    }

    /// Runs `check` with this text.
    package static func check(_ text: String, environment: [String: String] = [:]) throws -> ChildProcess.Outcome {
        let directory = try TemporaryDirectory()
        let file = try directory.write(text, to: "checked.toml")
        return try run(["check", "--config", file], environment: environment)
    }

    /// The path of the executable: `HTTPDNSD_EXECUTABLE`, or the one built beside the tests.
    package static let executable: String = {
        if let path = ProcessInfo.processInfo.environment["HTTPDNSD_EXECUTABLE"], !path.isEmpty { return path }
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let candidates = [tests] + CommandLine.arguments
        for candidate in candidates {
            var folder = URL(fileURLWithPath: candidate).deletingLastPathComponent()
            while folder.path != "/" {
                let path = folder.appendingPathComponent("httpdnsd").path
                var isDirectory: ObjCBool = false
                if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), !isDirectory.boolValue {
                    return path
                }
                folder.deleteLastPathComponent()
            }
        }
        return "httpdnsd"
    }()

    /// Raises the limit of descriptors, which the daemon inherits: a thousand clients need more than a shell allows.
    package static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
