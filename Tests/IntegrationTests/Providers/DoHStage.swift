import Foundation
import TestServers
import TestSupport

/// A daemon between DoH services that misbehave on command and a LocalDNS, with a control socket.
struct DoHStage {
    /// LocalDNS's answer for every name that it answers.
    static let forged = "198.51.100.66"
    /// The longest time that a client waits.
    static let limit: Duration = .milliseconds(2_500)

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

    /// Starts asking for new names, each below a domain of its own, from several clients, 20 a second in all.
    func crowd(_ prefix: String, by watch: Stopwatch) throws -> Crowd {
        Crowd(
            try (1...4).map { client in
                try Traffic(daemon, from: "127.0.8.\(client)", every: .milliseconds(200), by: watch) {
                    "www.\(prefix)\(client)x\($0).example"
                }
            })
    }

    /// Asks for names, each below a domain of its own, one after the other.
    ///
    /// - Returns: each reply, and its time.
    func ask(_ names: [String], by watch: Stopwatch) throws -> [Traffic.Lookup] {
        try names.map { name in
            try Traffic(daemon, from: "127.0.7.1", every: .zero, count: 1, by: watch) { _ in name }.finish()[0]
        }
    }

    /// Clients that ask for new names.
    struct Crowd {
        private let members: [Traffic]

        init(_ members: [Traffic]) { self.members = members }

        var lookups: [Traffic.Lookup] { members.flatMap(\.lookups) }

        func stop() throws -> [Traffic.Lookup] { try members.flatMap { try $0.stop() } }

        /// Waits until any look-up fulfils a condition.
        func wait(within limit: Duration, until holds: (Traffic.Lookup) -> Bool) -> Bool {
            let deadline = ContinuousClock.now + limit
            while ContinuousClock.now < deadline {
                for member in members
                where member.wait(within: .milliseconds(10), until: { $0.contains(where: holds) }) { return true }
            }
            return false
        }
    }
}

extension Traffic.Lookup {
    var isProviders: Bool { reply?.addresses == [FakeDoH.address] }

    /// A description for reports: the answer, and its time.
    var text: String {
        guard let reply, let time else { return "\(name): no reply" }
        return "\(name): \(reply.addresses) rcode \(reply.rcode) EDE \(reply.extendedErrors) after \(time)"
    }
}

extension [Traffic.Lookup] {
    /// The number of look-ups that did not get the provider's address in time, with the first of them; empty if there
    /// are none.
    var surprises: [String] {
        let wrong = filter { !$0.isProviders || $0.time ?? .seconds(60) > DoHStage.limit }
        return wrong.first.map { ["\(wrong.count) of \(count), as \($0.text)"] } ?? []
    }

    /// The median of the times that clients waited.
    var medianTime: Duration {
        let times = map { $0.time ?? .seconds(60) }.sorted()
        return times.isEmpty ? .seconds(60) : times[times.count / 2]
    }
}
