import Foundation
import Glibc
import TestServers
import TestSupport

/// A daemon with a control socket, between a fake vendor and a fake LocalDNS.
struct ControlStage {
    let vendor: FakeHTTPDNS
    let localDNS: FakeLocalDNS
    let directory: TemporaryDirectory
    let daemon: Daemon

    /// The path of the control socket.
    var socket: String { Self.socket(directory) }

    private static func socket(_ directory: TemporaryDirectory) -> String { directory.path + "/run/control.sock" }

    /// Starts all three.
    ///
    /// - Parameters:
    ///   - extra: more tables.
    ///   - socket: a path for the control socket other than its own.
    ///   - control: more lines of the `[control]` table.
    init(
        _ zone: FakeZone = Stage.zone, localDNS localZone: FakeZone = FakeZone(), extra: String = "",
        listen: String = "", socket: String? = nil, control: String = ""
    ) throws {
        let (vendor, localDNS, directory) = (
            try FakeHTTPDNS(zone), try FakeLocalDNS(localZone), try TemporaryDirectory()
        )
        (self.vendor, self.localDNS, self.directory) = (vendor, localDNS, directory)
        daemon = try Daemon(
            Self.text(vendor: vendor, localDNS, socket ?? Self.socket(directory), control) + extra, listen: listen)
    }

    private static func text(
        vendor: FakeHTTPDNS, _ localDNS: FakeLocalDNS, _ socket: String, _ control: String = ""
    ) -> String {
        DaemonConfiguration.aliyun(vendor.url)
            + DaemonConfiguration.rest(localDNS: localDNS.address, control: socket, controlLines: control)
    }

    /// Replaces the daemon's configuration in one step.
    ///
    /// - Parameters:
    ///   - vendor: a vendor other than the one at the start.
    ///   - listen: more lines of the `[listen]` table.
    func rewrite(vendor: FakeHTTPDNS? = nil, extra: String = "", listen: String = "") throws {
        try rewrite(
            Daemon.listenTable(daemon.addresses, listen)
                + Self.text(vendor: vendor ?? self.vendor, localDNS, socket) + extra)
    }

    /// Replaces the daemon's configuration by this text, in one step.
    func rewrite(_ text: String) throws {
        try text.write(toFile: daemon.configurationFile, atomically: true, encoding: .utf8)
    }

    /// Runs a command of the executable with the daemon's configuration.
    func run(_ arguments: String...) throws -> ChildProcess.Outcome {
        try Daemon.run(arguments + ["--config", daemon.configurationFile] + Self.patience(of: arguments))
    }

    /// On a busy machine a reply may take longer than commands wait by themselves.
    private static func patience(of arguments: [String]) -> [String] {
        ["check", "doctor"].contains(arguments[0]) ? [] : ["--timeout", "60s"]
    }

    /// The JSON object that a command prints; empty if it fails.
    func json(_ arguments: String...) throws -> [String: Any] {
        try Daemon.run(arguments + ["--config", daemon.configurationFile, "--json"] + Self.patience(of: arguments)).json
    }

    /// Asks the daemon over UDP.
    func ask(_ name: String, _ type: UInt16 = RecordType.a) throws -> TestMessage {
        try daemon.client().ask(name, type)
    }

    /// Runs a command while clients ask the daemon as fast as they are answered; every query must be answered.
    ///
    /// - Returns: the command's outcome, the number of queries that were answered, and the addresses in the answers.
    func askWhile(
        _ arguments: [String], names: [String], least: Int = 200
    ) throws -> (outcome: ChildProcess.Outcome, count: Int, addresses: Set<String>) {
        let clients = try (0..<4).map { _ in try daemon.client() }
        let command = try ChildProcess([Daemon.executable] + arguments + ["--config", daemon.configurationFile])
        var (count, addresses) = (0, Set<String>())
        while command.isRunning || count < least {
            for client in clients {
                for name in names { try client.send(.query(name)) }
            }
            for client in clients {
                for _ in names {
                    let reply = try client.receive().message
                    guard reply.rcode == ResponseCode.noError else { throw TestFailure("no answer: \(reply)") }
                    addresses.formUnion(reply.addresses)
                    count += 1
                }
            }
        }
        return (try command.finish(within: .patience), count, addresses)
    }
}
