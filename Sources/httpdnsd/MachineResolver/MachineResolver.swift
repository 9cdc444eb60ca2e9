import Configuration
import DNSWire
import Glibc
import Platform
import Upstreams

/// Where the programs of a machine look for names: /etc/resolv.conf, and what writes it.
///
/// Two ways lead to this server. systemd-resolved, where programs ask its stub, gets a drop-in. Everywhere else
/// /etc/resolv.conf becomes a file with this server alone, and what else would write it gets a drop-in. What was there
/// before, be it a link, is then at `before`: it goes back by one rename, and LocalDNS is looked for in it meanwhile.
struct MachineResolver {
    let files: MachineFiles
    /// The file that programs read; another one only in tests.
    var file = LocalDNSServers.resolvConf
    /// Where it is while ours is in its place.
    var before: String { LocalDNSServers.replaced(file) }
    /// How our own resolv.conf begins.
    private static let mark = "# Written by `httpdnsd resolver on`"
    /// Lines that `on` takes over.
    private static let optionWords: Set<Substring> = ["search", "domain", "options", "sortlist"]
    private static let resolvedFolder = "/run/systemd/resolve"
    /// Files with the address of systemd-resolved's stub.
    private static let stubFiles: Set = [
        resolvedFolder + "/stub-resolv.conf", "/usr/lib/systemd/resolv.conf", "/lib/systemd/resolv.conf",
    ]

    enum State: String {
        case on, off
        /// It was on, and another program has written the file, or lines into it.
        case rewritten
        /// It is on, at an address on which the server of the configuration does not listen.
        case elsewhere
    }

    var state: State {
        if reachesStub { return resolvedIsOurs && overruling == nil ? .on : hasTraces ? .rewritten : .off }
        if isOurs, ResolvConf(text.utf8).servers.count == 1 { return .on }
        return isOurs || hasTraces ? .rewritten : .off
    }

    /// Where programs ask this server while it is on, by way of systemd-resolved or not.
    var chosen: [AddressAndPort] {
        guard reachesStub else { return servers.compactMap { AddressAndPort($0, defaultPort: 53) } }
        return files.lines(of: DropIn.systemdResolved("").path).filter { $0.hasPrefix("DNS=") }.compactMap {
            AddressAndPort(String($0.dropFirst("DNS=".utf8.count)), defaultPort: 53)
        }
    }

    /// As `state`, and whether a server is asked that receives what is sent to such addresses.
    func state(where receives: (AddressAndPort) -> Bool) -> State {
        let isElsewhere = state == .on && !chosen.isEmpty && !chosen.contains(where: receives)
        return isElsewhere ? .elsewhere : state
    }

    /// The servers that programs ask, in order.
    var servers: [String] { ResolvConf(text.utf8).servers.map { "\($0.address)" } }

    /// The programs whose configuration has a drop-in of ours.
    var programs: [String] { dropIns.filter { $0.isThere(files) }.map(\.program) }

    /// Makes programs ask `server`. Twice is as good as once.
    ///
    /// - Parameters:
    ///   - server: an address whose port is 53, unless programs ask systemd-resolved.
    ///   - needsLists: whether LocalDNS is looked for in the machine's lists.
    /// - Returns: what is left to do.
    func on(_ server: LocalDNSServer, needsLists: Bool) throws -> [String] {
        let isFile = !reachesStub
        if isFile {
            if let refusal { throw refusal }
            guard server.port == 53 else {
                throw CommandFailure(
                    "programs ask port 53 alone, and the server listens on \(server): see listen.addresses")
            }
        }
        if hasResolved, needsLists, let place = staticServers {
            throw CommandFailure(
                "\(place) names servers (DNS=), which systemd-resolved would ask no more: write them into localdns.servers first"
            )
        }
        if hasResolved, let (place, setting) = overruling {
            throw CommandFailure(
                "\(place) sets \(setting), which systemd-resolved would read after our drop-in: remove it there first")
        }
        let wanted = dropIns(for: server).filter { isFile ? files.exists($0.owner) : $0.isForStub }
        var changed: [DropIn] = []
        do {
            for dropIn in wanted where try dropIn.put(files) { changed.append(dropIn) }
            if isFile { try replaceFile(by: server) }
        } catch {
            for dropIn in changed { _ = try? dropIn.remove(files) }
            throw error
        }
        return reload(changed)
    }

    /// Puts back what was there. Where another program has written since, that stays. Returns what is left to do.
    func off() throws(SystemError) -> [String] {
        switch (isOurs, files.exists(before)) {
        case (true, true): try files.move(before, to: file)
        case (true, false): try files.remove(file)
        case (false, true): try files.remove(before)
        case (false, false): break
        }
        var changed: [DropIn] = []
        for dropIn in dropIns where try dropIn.remove(files) { changed.append(dropIn) }
        return reload(changed)
    }

    // MARK: The file

    private var text: String { files.text(of: file) ?? "" }
    /// Also when a line was added to it.
    private var isOurs: Bool { files.target(of: file) == nil && text.hasPrefix(Self.mark) }
    private var hasTraces: Bool { files.exists(before) || dropIns.contains { $0.isThere(files) } }

    private func replaceFile(by server: LocalDNSServer) throws(SystemError) {
        let options = files.lines(of: isOurs ? before : file).filter { line in
            line.split(whereSeparator: \.isWhitespace).first.map(Self.optionWords.contains) ?? false
        }
        let lines = ["\(Self.mark): `httpdnsd resolver off` puts back what was here.", "nameserver \(server.address)"]
        let new = (lines + options.map(String.init)).map { $0 + "\n" }.joined()
        guard new != text || !isOurs else { return }
        if !isOurs {
            if files.exists(file) {
                try files.copyName(file, to: before)
            } else {
                try files.remove(before)
            }
        }
        do throws(SystemError) {
            try files.write(new, to: file)
        } catch {
            if !isOurs { try? files.remove(before) }
            throw error
        }
    }

    /// Why the file cannot be replaced: another program would write it again, and has no place for a drop-in.
    private var refusal: CommandFailure? {
        guard files.target(of: file) == nil else { return nil }
        let head = files.lines(of: file).first ?? ""
        for (sign, program, advice) in [
            ("Generated by resolvconf", "openresolv", "write name_servers=127.0.0.1 into /etc/resolvconf.conf"),
            ("Generated by dhcpcd", "dhcpcd", "write `nohook resolv.conf` into /etc/dhcpcd.conf, and try again"),
            (
                "generated by tailscale", "Tailscale",
                "name this server in its own settings, or `tailscale set --accept-dns=false`"
            ),
            (
                "generated by WSL", "WSL",
                "write `generateResolvConf = false` below [network] into /etc/wsl.conf, and try again"
            ),
        ] where head.contains(sign) {
            return CommandFailure("\(program) writes \(file), and would do so again: \(advice)")
        }
        return nil
    }

    // MARK: Other programs

    private var hasResolved: Bool { files.exists(Self.resolvedFolder) }
    var resolvedIsOurs: Bool { dropIns.contains { $0.isForStub && $0.isThere(files) } }

    /// Whether programs ask systemd-resolved, which runs.
    var reachesStub: Bool {
        guard hasResolved else { return false }
        if let target = files.target(of: file) { return Self.stubFiles.contains(target) }
        return servers == ["127.0.0.53"]
    }

    /// What a file that systemd-resolved reads after ours sets, by which programs get no answers from this server alone.
    var overruling: (place: String, setting: String)? {
        let own = MachineFiles.name(of: DropIn.systemdResolved("").path)
        for path in resolvedFiles where MachineFiles.name(of: path) > own {
            for (key, value) in settings(of: path) where Self.isOverruling(key, value) {
                return (path, "\(key)=\(value)")
            }
        }
        return nil
    }

    /// Whether a setting takes back one of `DropIn.systemdResolved` (resolved.conf(5)): an empty list is the end of those before.
    private static func isOverruling(_ key: String, _ value: String) -> Bool {
        switch key {
        case "DNS": true
        case "Domains": value.isEmpty
        case "DNSSEC", "DNSOverTLS": ["yes", "y", "true", "t", "on", "1"].contains(value.lowercased())
        default: false
        }
    }

    /// What has undone `on`, and what mends that, where the state is `.rewritten`.
    var undoing: (what: String, mend: String) {
        if reachesStub, let (place, setting) = overruling {
            return (
                "\(place) sets \(setting), which systemd-resolved reads after our drop-in",
                "remove that, then `httpdnsd resolver on`"
            )
        }
        return ("another program has written \(file)", "`httpdnsd resolver on` takes it again")
    }

    /// The files that systemd-resolved reads, but for ours: of those with one name, that of the last folder.
    private var resolvedFiles: [String] {
        let folders = ["/usr/lib", "/usr/local/lib", "/run", "/etc"].map { $0 + "/systemd/resolved.conf.d" }
        var parts: [String: String] = [:]
        for folder in folders {
            for name in files.names(in: folder, ending: ".conf") { parts[name] = "\(folder)/\(name)" }
        }
        parts[MachineFiles.name(of: DropIn.systemdResolved("").path)] = nil
        return ["/etc/systemd/resolved.conf"] + parts.sorted { $0.key < $1.key }.map(\.value)
    }

    private func settings(of path: String) -> [(key: String, value: String)] {
        files.lines(of: path).compactMap { line in
            let words = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
            return words.count == 2 ? (words[0], words[1]) : nil
        }
    }

    /// The first file, but for ours, that names servers.
    private var staticServers: String? {
        resolvedFiles.first { settings(of: $0).contains { $0.key == "DNS" && !$0.value.isEmpty } }
    }

    private var dropIns: [DropIn] { dropIns(for: nil) }

    private func dropIns(for server: LocalDNSServer?) -> [DropIn] {
        let name = server.map { $0.port == 53 ? "\($0.address)" : "\($0)" } ?? ""
        return [.systemdResolved(name), .networkManager, .dhclient, .cloudInit]
    }

    private func reload(_ changed: [DropIn]) -> [String] {
        files.areThisMachines ? changed.compactMap { $0.reloadProgram() } : []
    }
}

extension DropIn {
    fileprivate var isForStub: Bool { path == DropIn.systemdResolved("").path }

    /// What is there where the program runs or is installed. systemd-resolved counts only while it runs.
    fileprivate var owner: String { isForStub ? "/run/systemd/resolve" : MachineFiles.folder(of: path) }
}
