import Foundation
import TestServers
import TestSupport

/// A daemon between DoH services that misbehave on command and a LocalDNS, with a control socket.
struct DoHStage {
    /// LocalDNS's answer for every name that it answers.
    static let forged = "198.51.100.66"

    let localDNS: FakeLocalDNS
    let daemon: Daemon
    private let directory: TemporaryDirectory
    private let services: [FakeDoH]

    /// Starts LocalDNS and the daemon, and lets the first connection to each service be established.
    ///
    /// - Parameters:
    ///   - services: the providers, in their order.
    ///   - dead: a provider's table before theirs.
    ///   - behaviour: LocalDNS's.
    ///   - check: `certificate_check`; no address that LocalDNS returns has a TLS server.
    init(
        _ services: [FakeDoH], after dead: String = "", localDNS behaviour: FakeLocalDNS.Behaviour = .lie([forged]),
        check: String = "off", route: String = ""
    ) throws {
        self.services = services
        localDNS = try FakeLocalDNS()
        localDNS.behave(behaviour)
        directory = try TemporaryDirectory()
        let tables = services.enumerated().map { $1.table("doh\($0)") }
        daemon = try Daemon(
            dead + tables.joined() + route
                + DaemonConfiguration.rest(
                    localDNS: localDNS.address, check: check, ports: [try FreePort.next()],
                    control: directory.path + "/control.sock"))
    }

    /// Whether no address of a provider has the state "used" in `status`.
    func backsOff(from provider: Int = 0) throws -> Bool {
        let addresses = try addresses(of: provider)
        return !addresses.isEmpty && !addresses.contains { $0["state"] as? String == "used" }
    }

    /// The `status` of each address of a provider.
    private func addresses(of provider: Int) throws -> [[String: Any]] {
        let outcome = try Daemon.run(["status", "--config", daemon.configurationFile, "--json"])
        let status = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
        let providers = status?["providers"] as? [[String: Any]] ?? []
        guard providers.indices.contains(provider) else { throw TestFailure("status: \(outcome)") }
        return providers[provider]["addresses"] as? [[String: Any]] ?? []
    }
}
