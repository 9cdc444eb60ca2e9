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
                intruder(among: holders.sockets(on: address, isTCPOnly: true), on: address).map { [$0] } ?? []
            }
            + absent.map { address in
                Finding(
                    "listen.absent", .warning, "no interface of this machine has \(address): nothing is served there",
                    mend: "`ip address` shows what there is; correct listen.addresses, or add the address")
            }
    }

    /// The program that keeps the server from an address.
    private static func intruder(among sockets: [PortHolders.Socket], on address: AddressAndPort) -> Finding? {
        let programs = sockets.compactMap(\.program)
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
        let (sockets, isSilent) = (holders.sockets(on: address), examined.unanswered.contains(address))
        if let intruder = intruder(among: sockets, on: address) { return [intruder] }
        let programs = sockets.compactMap(\.program)
        let ours = programs.first(where: \.isServer)
        if let ours, let pid = examined.report?.pid, ours.pid != pid, holders.isServer(pid) {
            return .error(
                "port.second",
                "\(address) is held by another httpdnsd (process \(ours.pid)) than the one of this configuration (process \(pid))",
                mend: "stop it: `kill \(ours.pid)`, or its unit; then `systemctl restart httpdnsd`")
        }
        if let client = examined.refusing[address] {
            return .error(
                "server.refuses",
                "the server on \(address) refuses what this machine asks: \(client) is not in listen.allow",
                mend:
                    "listen.allow with \(client), or with the network that has it; then `systemctl reload httpdnsd`"
            )
        }
        guard isSilent, !examined.isElsewhere(than: address) else { return [] }
        if examined.foreign.contains(address) {
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
        guard let report = examined.report, let reader = examined.reader else { return nil }
        if let refusal = reader.refusal {
            return refusal.lines.filter { $0 != RunningReader.advice }.map { line in
                Finding("start.refused", .error, "the next start fails: \(line)", mend: RunningReader.advice)
            }
        }
        let restart = "`systemctl restart httpdnsd`, which loses no query"
        if !reader.outdated.isEmpty {
            return reader.outdated.map { line in
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
        let programs = examined.served.flatMap { holders.sockets(on: $0).compactMap(\.program) }
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

/// The sockets of this network namespace that receive on a port, and the programs that hold them, from `/proc`.
struct PortHolders {
    /// A program that holds a socket.
    struct Program: Equatable {
        let pid: Int
        /// The first 15 bytes of it.
        let name: String

        /// Whether it is one of us.
        var isServer: Bool { name == PortHolders.serverName }
        /// Whether it stores the sockets of services.
        var isServiceManager: Bool { pid == 1 || name == "systemd" }
    }

    /// A socket, with a program that holds it where that can be seen; ourselves first, the service manager last.
    struct Socket: Equatable {
        let address: AddressAndPort
        let program: Program?
    }

    private static let serverName = "httpdnsd"
    /// The most bytes of a list of sockets that are read: some 30,000 sockets.
    private static let maximumSize = 4 << 20

    private let files: MachineFiles
    private let open: [(address: AddressAndPort, isTCP: Bool, inode: Substring)]

    init(_ files: MachineFiles) {
        self.files = files
        open = ["udp", "udp6", "tcp", "tcp6"].flatMap {
            list -> [(address: AddressAndPort, isTCP: Bool, inode: Substring)] in
            let bytes = (try? readFile("\(files.root)/proc/net/\(list)", limit: Self.maximumSize)) ?? []
            return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap(Self.receiver)
        }
    }

    /// The sockets that receive what is sent to `address`, or keep a server from being bound to it.
    ///
    /// - Parameter isTCPOnly: whether sockets for UDP are of no interest. Default: no.
    func sockets(on address: AddressAndPort, isTCPOnly: Bool = false) -> [Socket] {
        let open = isTCPOnly ? open.filter(\.isTCP) : open
        var found = open.filter { $0.address.excludes(address) }
        // It may hold IPv4 too, unless another socket has that.
        if found.isEmpty { found = open.filter { $0.address == AddressAndPort(.v6(0), port: address.port) } }
        guard !found.isEmpty else { return [] }
        let programs = programs(of: Set(found.map(\.inode)))
        return found.map { Socket(address: $0.address, program: programs[$0.inode]) }
    }

    /// Whether a process is one of us.
    func isServer(_ pid: Int) -> Bool { name(of: "\(pid)") == Self.serverName }

    private func name(of pid: String) -> String? {
        files.text(of: "/proc/\(pid)/comm")?.split(separator: "\n").first.map(String.init)
    }

    /// The programs that hold sockets, as far as this user may see them.
    private func programs(of inodes: Set<Substring>) -> [Substring: Program] {
        var found: [Substring: Program] = [:]
        for pid in files.names(in: "/proc", ending: "") {
            guard let number = Int(pid), let name = name(of: pid) else { continue }
            let program = Program(pid: number, name: name)
            let folder = "/proc/\(pid)/fd"
            for descriptor in files.names(in: folder, ending: "") {
                guard let target = files.target(of: "\(folder)/\(descriptor)"), let socket = Self.inode(target),
                    inodes.contains(socket), program.rank > found[socket]?.rank ?? -1
                else { continue }
                found[socket] = program
            }
        }
        return found
    }

    /// The number in `/proc/1/fd/socket:[4711]`.
    private static func inode(_ target: String) -> Substring? {
        guard let start = target.firstRange(of: "/socket:["), target.hasSuffix("]") else { return nil }
        return target[start.upperBound...].dropLast()
    }

    /// Parses a line of such a list; nil for its head, and for sockets that talk to one peer alone.
    private static func receiver(_ line: Substring) -> (address: AddressAndPort, isTCP: Bool, inode: Substring)? {
        let fields = line.split(separator: " ")
        guard fields.count > 9, let address = address(fields[1]), fields[2].hasSuffix(":0000") else { return nil }
        // TCP_LISTEN, and what an unconnected UDP socket has.
        guard fields[3] == "0A" || fields[3] == "07" else { return nil }
        return (address, fields[3] == "0A", fields[9])
    }

    /// Reads `0100007F:0035`: words of 32 bits in the order of this machine's bytes.
    private static func address(_ text: Substring) -> AddressAndPort? {
        let parts = text.split(separator: ":")
        guard parts.count == 2, let port = UInt16(parts[1], radix: 16) else { return nil }
        var (digits, words) = (parts[0], [UInt32]())
        while !digits.isEmpty {
            guard let word = UInt32(digits.prefix(8), radix: 16), words.count < 4 else { return nil }
            words.append(UInt32(bigEndian: word))
            digits = digits.dropFirst(8)
        }
        switch words.count {
        case 1: return AddressAndPort(.v4(words[0]), port: port)
        case 4: return AddressAndPort(.v6(words.reduce(UInt128(0)) { $0 << 32 | UInt128($1) }), port: port)
        default: return nil
        }
    }
}

extension PortHolders.Program {
    /// Of several that hold one socket, the highest counts.
    fileprivate var rank: Int { isServer ? 2 : isServiceManager ? 0 : 1 }
}

extension AddressAndPort {
    /// Whether a socket bound to this keeps another of its family from being bound to `other`.
    fileprivate func excludes(_ other: AddressAndPort) -> Bool {
        guard port == other.port else { return false }
        if address == other.address { return true }
        return address.recordType == other.address.recordType && (address.isWildcard || other.address.isWildcard)
    }
}
