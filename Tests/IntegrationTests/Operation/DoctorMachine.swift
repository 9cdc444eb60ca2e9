import Foundation
import TestServers
import TestSupport
import Testing

/// A machine whose programs ask its server, between a fake vendor and a fake LocalDNS.
struct DoctorMachine {
    let host: ClientHost
    let vendor: FakeHTTPDNS
    let localDNS: FakeLocalDNS
    let directory: TemporaryDirectory
    let file: String
    private(set) var daemon: Daemon?

    /// - Parameters:
    ///   - extra: more tables of the configuration.
    ///   - names: the names of the provider, a line of its table.
    ///   - wrapper: a command that executes the server.
    ///   - runs: whether the server is started.
    init(
        _ extra: String = "", names: String = "names = [\"example.com\"]", wrapper: [String] = [], runs: Bool = true
    ) throws {
        (host, directory) = (try ClientHost(), try TemporaryDirectory())
        (vendor, localDNS) = try host.namespace.inside {
            (try FakeHTTPDNS(Stage.zone), try FakeLocalDNS(FakeZone()))
        }
        let tables =
            DaemonConfiguration.aliyun(vendor.url, names)
            + DaemonConfiguration.rest(localDNS: localDNS.address, control: directory.path + "/control.sock")
            + extra
        file = try directory.write(
            Daemon.listenTable([TestAddress("127.0.0.1", port: 53)]) + tables, to: "httpdnsd.toml")
        guard runs else { return }
        daemon = try Daemon(tables, port: 53, wrapper: wrapper, namespace: host.namespace)
    }

    /// Asks the server for a name.
    func ask(_ name: String = "www.example.com") throws {
        _ = try host.namespace.inside { try daemon?.client().ask(name) }
    }

    func doctor(_ options: String..., within wrapper: [String] = []) throws -> ChildProcess.Outcome {
        let command = wrapper + [Daemon.executable, "doctor", "--config", file] + options
        return try host.run(command)
    }

    /// A wrapper that first runs a script, which may change the machine for the command alone.
    static func after(_ script: String) -> [String] { ["sh", "-c", script + " && exec \"$@\"", "sh"] }

    /// Changes the file that `doctor` reads.
    func rewrite(_ text: String, _ other: String) throws {
        try directory.write(directory.read("httpdnsd.toml").replacing(text, with: other), to: "httpdnsd.toml")
    }

    /// Expects that just this is found, in any order: at some time, since on a busy machine a check may be late, which is found too.
    func finds(
        _ keys: [String], within wrapper: [String] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        var found: [String] = []
        _ = try eventually {
            found = try self.keys(within: wrapper).sorted()
            return found == keys
        }
        #expect(found == keys, sourceLocation: sourceLocation)
    }

    /// The keys of what is found.
    func keys(within wrapper: [String] = []) throws -> [String] {
        let report = try doctor("--json", "--offline", within: wrapper).json
        let checks = report["checks"] as? [[String: Any]] ?? []
        return checks.flatMap { check in
            (check["findings"] as? [[String: Any]] ?? []).compactMap { $0["key"] as? String }
        }
    }
}
