import Admin
import Configuration
import DNSWire
import Platform

// Whether the server runs, and can be asked.

extension Check {
    static let configuration = Check(subject: "config", well: "the configuration has neither mistakes nor warnings") {
        examined in
        (examined.warnings + [examined.settings.missingGroup].compactMap(\.self)).map { warning in
            Finding(
                "config.warning", .warning, warning,
                mend: "correct \(examined.file); \(examined.command("check")) shows what it means")
        }
    }

    static let port = Check(subject: "port", well: "the server answers on every listen address of this machine") {
        examined in
        let holders = PortHolders(examined.files)
        let absent = examined.listenAddresses.filter { address in
            !address.address.isLoopback && SocketAddress(address)?.isOnThisMachine != true
        }
        let listen = examined.settings.listen
        return examined.served.flatMap { findings(on: $0, holders, examined) }
            + (listen.tls + listen.https + listen.httpdns).flatMap { address in
                intruder(among: holders.holders(of: address, isTCPOnly: true), on: address).map { [$0] } ?? []
            }
            + absent.map { address in
                Finding(
                    "listen.absent", .warning, "no interface of this machine has \(address): nothing is served there",
                    mend: "`ip address` shows what there is; correct listen.addresses, or add the address")
            }
    }

    /// The program that keeps the server from an address.
    private static func intruder(among sockets: [PortHolders.Program?], on address: AddressAndPort) -> Finding? {
        let programs = sockets.compactMap(\.self)
        guard let other = programs.first(where: { !$0.isServer && !$0.isServiceManager }),
            !programs.contains(where: \.isServer)
        else { return nil }
        return Finding(
            "port.held", .error,
            "\(address) is held by \(other.name) (process \(other.pid)): the server cannot listen there",
            mend: other.remedy(on: address))
    }

    private static func findings(
        on address: AddressAndPort, _ holders: PortHolders, _ examined: Examination
    ) -> [Finding] {
        let (sockets, answer) = (holders.holders(of: address), examined.answers[address])
        if let intruder = intruder(among: sockets, on: address) { return [intruder] }
        let programs = sockets.compactMap(\.self)
        let ours = programs.first(where: \.isServer)
        if let ours, let pid = examined.report?.pid, ours.pid != pid, holders.isServer(pid) {
            return .error(
                "port.second",
                "\(address) is held by another httpdnsd (process \(ours.pid)) than the one of this configuration (process \(pid))",
                mend: "stop it: `kill \(ours.pid)`, or its unit; then `systemctl restart httpdnsd`")
        }
        if case .refuses(let client)? = answer {
            return .error(
                "server.refuses",
                "the server on \(address) refuses what this machine asks: \(client) is not in listen.allow",
                mend: "listen.allow with \(client), or with the network that has it; then `systemctl reload httpdnsd`")
        }
        guard [.silent, .foreign].contains(answer), !examined.isElsewhere(than: address) else { return [] }
        if answer == .foreign {
            return .error(
                "port.foreign", "another DNS server than httpdnsd answers on \(address)",
                mend:
                    "`sudo httpdnsd doctor` names the program: stop it, or write another address into listen.addresses"
            )
        }
        if let ours {
            return .error(
                "server.silent", "\(address) does not answer, though httpdnsd (process \(ours.pid)) holds it",
                mend: "`systemctl restart httpdnsd`; `journalctl -u httpdnsd -p warning` says what happened")
        }
        if programs.contains(where: \.isServiceManager) {
            return .error(
                "server.stopped", "\(address) is held by systemd for the server, which does not run",
                mend: startRemedy)
        }
        guard sockets.isEmpty else {
            return .error(
                "port.unknown", "\(address) does not answer, and only root may see what program holds it",
                mend: "`sudo httpdnsd doctor` names the program")
        }
        return .error("server.stopped", "nothing listens on \(address)", mend: startRemedy)
    }

    private static let startRemedy =
        "`systemctl enable --now httpdnsd`; `journalctl -u httpdnsd -p warning` says why it ended"

    static let reload = Check(subject: "reload", well: "the server that runs takes the configuration as it is now") {
        examined in
        guard let report = examined.report, let reload = examined.reload else { return nil }
        if let refusal = reload.refusal {
            return refusal.lines.filter { $0 != Testimony.advice }.map { line in
                Finding("start.refused", .error, "the next start fails: \(line)", mend: Testimony.advice)
            }
        }
        let restart = "`systemctl restart httpdnsd`, which loses no query"
        if !reload.outdated.isEmpty {
            return reload.outdated.map { line in
                Finding("reload.refused", .warning, "a reload does not take it: \(line)", mend: restart)
            }
        }
        guard let error = report.reloadErrors.first else { return [] }
        return .warning(
            "reload.refused", "the last reload was refused, and the file is good now: \(error)",
            mend: examined.command("reload"))
    }

    static let control = Check(subject: "control", well: "the server says on its control socket what it does") {
        examined in
        guard let status = examined.status, examined.served.isEmpty || examined.unanswered != examined.served else {
            return nil
        }
        guard case .failure(let error) = status else { return [] }
        let socket = examined.settings.control.socket
        let holders = PortHolders(examined.files)
        let programs = examined.served.flatMap { holders.holders(of: $0).compactMap(\.self) }
        if !examined.files.exists(socket), let other = programs.first(where: \.isServer), !examined.isUnit(other.pid) {
            return .error(
                "port.second",
                "the port is held by httpdnsd (process \(other.pid)), which is not the service: it was started at a terminal, or by another unit",
                mend: "`kill \(other.pid)`; then `systemctl restart httpdnsd`")
        }
        let remedy =
            examined.files.exists(socket)
            ? "run this as root or in the group of control.group; `ls -l \(socket)` shows who may"
            : "`systemctl restart httpdnsd` makes it again; or control.socket with the path that the server has"
        return .warning("control.silent", error.text, mend: remedy)
    }
}

extension Examination {
    /// Whether a process is of the service `httpdnsd`, or it cannot be known: as where systemd is not what runs services.
    fileprivate func isUnit(_ pid: Int) -> Bool {
        guard files.exists("/run/systemd/system"), let groups = files.text(of: "/proc/\(pid)/cgroup") else {
            return true
        }
        return groups.contains("/httpdnsd.service")
    }
}

extension PortHolders.Program {
    /// How it comes to leave the port to this server.
    fileprivate func remedy(on address: AddressAndPort) -> String {
        switch name {
        case "systemd-resolve":
            address.address.isWildcard
                ? "systemd-resolved holds 127.0.0.53 and .54 alone: listen.addresses = [\"127.0.0.1:\(address.port)\"]"
                : "listen.addresses with another address, such as 127.0.0.1:\(address.port)"
        case "dnsmasq", "unbound", "named", "pdns_recursor", "coredns":
            "`systemctl disable --now \(name)`, or another address in listen.addresses"
        default: "stop process \(pid), or write another address into listen.addresses"
        }
    }
}
