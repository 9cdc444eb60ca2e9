import Admin
import ArgumentParser
import Configuration
import DNSWire
import HTTPDNS
import Platform
import Upstreams

/// `httpdnsd resolver on|off|status`: whether the programs of the machine ask this server.
struct ResolverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolver",
        abstract: "Points the machine's programs at this server, and back.",
        discussion: """
            on: systemd-resolved gets a drop-in where programs ask it; else /etc/resolv.conf becomes a file with this \
            server alone, and NetworkManager, dhclient and cloud-init leave it alone. What was there is at \
            /etc/resolv.conf.before-httpdnsd. Docker's daemon.json names this server where that listens on an address that \
            containers reach. off: puts it back. status: 0 when it is on, 1 when it is off, another \
            program has written the file since, or the server no longer listens there.
            """)

    enum Action: String, ExpressibleByArgument, CaseIterable {
        case on, off, status
    }

    @OptionGroup var file: ConfigurationFile

    @Option(
        help: .init(
            "Change the files below this folder, as of an image; nothing is asked or reloaded.", valueName: "folder"),
        completion: .directory)
    var root = "/"

    @Flag(help: "Print the status as one JSON object.")
    var json = false

    @Argument(help: "on, off or status.")
    var action: Action

    func validate() throws {
        guard root.hasPrefix("/") else { throw ValidationError("--root \(root): not an absolute path") }
    }

    func run() throws {
        let resolver = MachineResolver(files: MachineFiles(root: folder))
        let target = action == .on ? try target() : nil
        let left = try change(resolver, target)
        let state = state(of: resolver)
        show(state, of: resolver)
        for line in left { printError("\(line)") }
        if let note = try docker(target) { printError("\(note)") }
        if !left.isEmpty || (action == .status && state != .on) { throw ExitCode.no }
    }

    /// Without a slash at its end; empty for `/`.
    private var folder: String { root.hasSuffix("/") ? String(root.dropLast()) : root }

    /// - Returns: what is left to do.
    private func change(_ resolver: MachineResolver, _ target: Target?) throws -> [String] {
        if let target { return try resolver.on(target.server, needsLists: target.needsLists) }
        return action == .off ? try resolver.off() : []
    }

    /// What the containers of Docker ask. Returns what the user is to know of it.
    private func docker(_ target: Target?) throws(SystemError) -> String? {
        let docker = DockerDaemon(files: MachineFiles(root: folder))
        if let target { return try docker.on(target.forContainers) }
        return action == .off ? try docker.off() : nil
    }

    /// Where programs are to ask, whether LocalDNS is looked for in the machine's lists, and an address that other network
    /// namespaces reach; nil when none is written.
    private typealias Target = (server: LocalDNSServer, needsLists: Bool, forContainers: String?)

    /// Why programs that ask there would find no name; nil: the server answers.
    private func reasonAgainst(_ server: AddressAndPort) -> String? {
        switch SocketAddress(server).flatMap({ try? LivenessProbe.outcome(of: $0) }) {
        case .serves?: nil
        case .refuses(let client)?:
            "the server on \(server) refuses what this machine asks, and programs would find no name: \(client) is not in listen.allow"
        case .foreign?:
            "another DNS server answers on \(server), and not httpdnsd: `httpdnsd doctor` says which"
        case .silent?, nil: "nothing answers on \(server), and programs would find no name: start the server first"
        }
    }

    /// Where the server of the configuration is to be asked, and whether it looks for LocalDNS in the machine's lists.
    ///
    /// Leaves with status 1 when it does not answer there: the machine would find no name.
    private func target() throws -> Target {
        let settings = try file.tables(["listen", "localdns"], below: folder)
        let served = settings.listen.addresses.map(\.reachable)
        let onPort53 = served.filter { $0.port == 53 }
        let chosen =
            onPort53.first { $0.address.isLoopback && $0.address.recordType == .a }
            ?? onPort53.first { $0.address.isLoopback } ?? onPort53.first ?? served[0]
        if folder.isEmpty, let reason = reasonAgainst(chosen) { throw CommandFailure(reason) }
        return (
            LocalDNSServer(chosen), settings.localDNS.groups == nil,
            onPort53.first { !$0.address.isLoopback }.map { "\($0.address)" }
        )
    }

    /// Without a configuration that can be read nothing is known of where the server listens.
    private func state(of resolver: MachineResolver) -> MachineResolver.State {
        let path = file.path(below: folder)
        guard let settings = try? Configuration.loadTables(["listen"], path: path, file.variables) else {
            return resolver.state
        }
        return resolver.state(where: settings.listen.receives)
    }

    private func show(_ state: MachineResolver.State, of resolver: MachineResolver) {
        let servers = resolver.servers
        if json {
            let object = JSONWriter.object { writer in
                writer.member("state", state.rawValue)
                writer.member("servers", servers)
                writer.member("programs", resolver.programs)
            }
            return httpdnsd.show(VisibleText(lines: object))
        }
        let names = servers.isEmpty ? "no server" : servers.joined(separator: ", ")
        let text = "\(resolver.file) names \(names)"
        switch state {
        case .on:
            let programs = resolver.programs
            httpdnsd.show("on: \(text)\(programs.isEmpty ? "" : "; configured: \(programs.joined(separator: ", "))")")
        case .off: httpdnsd.show("off: \(text)")
        case .elsewhere:
            let place = resolver.chosen.map { $0.port == 53 ? "\($0.address)" : "\($0)" }.joined(separator: ", ")
            let who = resolver.reachesStub ? "systemd-resolved asks" : "\(resolver.file) names"
            httpdnsd.show(
                "elsewhere: \(who) \(place), where this server does not listen: `httpdnsd resolver on` writes its address"
            )
        case .rewritten:
            let (what, mend) = resolver.undoing
            httpdnsd.show("rewritten: \(what) since `resolver on`; \(text): \(mend)")
        }
    }
}
