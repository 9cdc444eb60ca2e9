import Admin
import Configuration
import DNSWire
import Glibc
import Platform
import Upstreams

// What the machine gives the server: disk, descriptors, memory, authorities; and whether its programs ask the server, and how.

extension Check {
    /// The least share of a file system that is to be free, in percent.
    private static let leastFree = 5.0
    /// Below this, in bytes, a flood may take the server beyond its limit (Documentation/Operations.md).
    private static let leastMemory = 64 << 20

    static let diskSpace = Check(subject: "space", well: "the cache on disk has room, or none is configured") {
        examined in
        let path = examined.settings.cache.disk.path
        let folder = MachineFiles.folder(of: path)
        var state = statvfs()
        // A folder that is missing is made by the server; what it cannot use, it says itself.
        guard !path.isEmpty, unsafe statvfs(folder.isEmpty ? "/" : folder, &state) == 0 else { return [] }
        if state.f_flag & UInt(ST_RDONLY) != 0 {
            return .warning(
                "disk.readonly", "\(folder) is on a file system that is mounted read-only",
                mend: "`mount -o remount,rw` for it, or cache.disk.path elsewhere")
        }
        return full(folder, free: state.f_bavail, of: state.f_blocks).map { [$0] } ?? []
    }

    /// What is found where a file system has so many blocks for users left; nil where that is enough.
    static func full(_ folder: String, free: UInt, of blocks: UInt) -> Finding? {
        let percent = Double(free) / Double(blocks) * 100
        guard percent < leastFree else { return nil }
        return Finding(
            "disk.full", .warning, "the file system of \(folder) has \(Int(percent)) % left",
            mend: "remove files there (`du -xh \(folder)`), or cache.disk.path elsewhere")
    }

    static let descriptors = Check(subject: "files", well: "the server may open as many files as it may need") {
        examined in
        guard let process = examined.process, let limit = fileLimit(of: process, examined.files) else { return nil }
        let budget = DescriptorBudget(limit: limit)
        guard budget.isReduced else { return [] }
        return .warning(
            "limits.files",
            "the server may open \(limit) files: \(budget.connections) TCP connections, \(budget.queries) queries to LocalDNS",
            mend: "LimitNOFILE=\(DescriptorLimit.wanted) in the unit, or `ulimit -n \(DescriptorLimit.wanted)`")
    }

    /// The soft limit of open files of a process; nil where it cannot be read.
    private static func fileLimit(of process: String, _ files: MachineFiles) -> Int? {
        let lines = (files.text(of: process + "/limits") ?? "").split(separator: "\n")
        let key = "Max open files"
        return lines.first { $0.hasPrefix(key) }?.dropFirst(key.count).split(separator: " ").first.flatMap {
            $0 == "unlimited" ? .max : Int($0)
        }
    }

    static let memory = Check(subject: "memory", well: "the memory limit, if any, has room for the cache and a flood") {
        examined in
        guard let process = examined.process else { return nil }
        let files = examined.files
        let groups = ControlGroups { path in files.text(of: path == "/proc/self/cgroup" ? process + "/cgroup" : path)
        }
        guard let limit = examined.settings.limits.memory ?? groups.memory else { return [] }
        let wanted = examined.settings.cache.memory
        let cache = MemoryBudget(limit: limit, cache: wanted).cache(wanted)
        guard limit < leastMemory || cache < wanted else { return [] }
        return .warning(
            "limits.memory",
            "memory is limited to \(limit >> 20) MiB: the cache has \(cache >> 20) MiB of \(wanted >> 20)",
            mend: "a higher MemoryMax= of the unit or the container, or limits.memory; or a smaller cache.memory")
    }

    static let authorities = Check(subject: "authorities", well: "the certificate authorities can be read") {
        examined in
        examined.settings.uselessAuthorities.map { provider, file, problem in
            Finding(
                "authorities.missing", .error,
                "\(file) \(problem): no certificate of provider \(provider) can be verified",
                mend: "`apt install ca-certificates`, or the provider's ca_file")
        }
            + [examined.settings.unverifiableLocalDNS].compactMap(\.self).map { text in
                Finding(
                    "authorities.localdns", .warning, text,
                    mend: "`apt install ca-certificates`, or certificate_check = \"off\"")
            }
    }

    static let appArmor = Check(subject: "apparmor", well: "no AppArmor profile is seen in the server's way") {
        examined in
        let sign: (profile: String?, text: String)
        if let process = examined.process, let report = examined.report {
            guard let denied = report.failures.first(where: { $0.contains("Permission denied") }) else { return [] }
            let profile = ["apparmor/current", "current"].lazy.compactMap {
                examined.files.text(of: "\(process)/attr/\($0)")
            }.first
            sign = (profile, "the server, which is denied something: \(denied)")
        } else if examined.report == nil, examined.unanswered == examined.served {
            // Only root can read it.
            let profiles = examined.files.text(of: "/sys/kernel/security/apparmor/profiles") ?? ""
            let isOurs = { (line: Substring) in
                line.hasPrefix("httpdnsd ") || line.prefix { $0 != " " }.hasSuffix("/httpdnsd")
            }
            sign = (
                profiles.split(separator: "\n").first(where: isOurs).map(String.init), "the server, which does not run"
            )
        } else {
            return nil
        }
        guard let words = sign.profile?.split(whereSeparator: \.isWhitespace), words.count == 2,
            words[1] == "(enforce)"
        else { return [] }
        return .warning(
            "apparmor.enforced", "the AppArmor profile \(words[0]) confines \(sign.text)",
            mend:
                "`journalctl -k -g 'apparmor=.DENIED.'` shows what it denies: permit that in the profile, or `aa-complain \(words[0])`"
        )
    }
}

extension Check {
    /// The least seconds that the C library is to wait for a response, which may take 2.5.
    private static let leastTimeout = 3
    /// The most seconds, and the most dots, that the C library takes from the file.
    private static let mostOption = 30

    static let programs = Check(subject: "resolver", well: "the programs of this machine ask this server alone") {
        examined in
        let resolver = MachineResolver(files: examined.files)
        if resolver.reachesStub { return ofStub(resolver, examined) }
        // What the C library asks where the file names none.
        let named = resolver.servers.isEmpty ? ["127.0.0.1"] : resolver.servers
        let others = named.filter { !examined.receives($0) }
        guard !others.isEmpty else { return [] }
        let since = resolver.state == .rewritten ? "; another program has written it since `resolver on`" : ""
        let list = others.joined(separator: ", ")
        let (key, what) =
            others.count == named.count
            ? ("resolver.elsewhere", "and not this server")
            : ("resolver.beside", "beside this server: programs ask there too, and may get forged answers")
        return .error(key, "\(resolver.file) names \(list) \(what)\(since)", mend: examined.switchOnRemedy)
    }

    /// What is found where programs ask systemd-resolved.
    private static func ofStub(_ resolver: MachineResolver, _ examined: Examination) -> [Finding] {
        if let (place, setting) = resolver.overruling, resolver.resolvedIsOurs {
            return .error(
                "resolver.beside",
                "\(place) sets \(setting) for systemd-resolved: it asks not this server alone, or not where it listens",
                mend: "remove that from \(place), then `systemctl restart systemd-resolved`")
        }
        switch resolver.state(where: examined.listenAddresses.receive) {
        case .on: return []
        case .elsewhere:
            let asked = resolver.chosen.map(\.description).joined(separator: ", ")
            return .error(
                "resolver.elsewhere",
                "programs ask systemd-resolved, and that asks \(asked), where this server does not listen",
                mend: examined.command("resolver on"))
        case .off, .rewritten:
            return .error(
                "resolver.elsewhere", "programs ask systemd-resolved, which does not ask this server",
                mend: examined.command("resolver on"))
        }
    }

    static let lookups = Check(subject: "options", well: "resolv.conf has no option that surprises") { examined in
        let text = examined.files.text(of: LocalDNSServers.resolvConf) ?? ""
        let domains = ResolvConf(text.utf8).searchDomains
        var findings: [Finding] = []
        if let dots = number(of: "ndots", in: text).map({ min($0, mostOption) }), dots > 1, !domains.isEmpty {
            findings += .warning(
                "resolver.ndots",
                "ndots:\(dots) makes programs ask for NAME.\(domains[0]) before NAME where it has fewer than \(dots) dots: \(domains.count + 1) queries for one",
                mend: "remove ndots from the options of resolv.conf, or write names with a dot at the end")
        }
        if let seconds = number(of: "timeout", in: text), seconds < leastTimeout {
            findings += .warning(
                "resolver.timeout",
                "timeout:\(seconds) makes programs give a query up before an answer of a slow network, which may take 2.5 s",
                mend: "remove timeout from the options of resolv.conf: it is 5 s then")
        }
        return findings
    }

    static let lookupOrder = Check(subject: "nsswitch", well: "programs look host names up in DNS") { examined in
        let path = "/etc/nsswitch.conf"
        guard let line = examined.files.lines(of: path).last(where: { $0.hasPrefix("hosts:") }) else { return [] }
        let services = line.dropFirst("hosts:".count).prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
        let resolver = MachineResolver(files: examined.files)
        if services.contains("resolve"), examined.files.exists("/run/systemd/resolve/io.systemd.Resolve"),
            !resolver.resolvedIsOurs
        {
            return .error(
                "nsswitch.resolved",
                "\(path) has programs ask systemd-resolved (`resolve`) whatever resolv.conf says, and that does not ask this server",
                mend: "remove `resolve` and what is in brackets behind it from the line hosts: of \(path)")
        }
        guard !services.contains("dns"), !services.contains("resolve") else { return [] }
        return .error(
            "nsswitch.dns", "the line hosts: of \(path) has no `dns`: programs look no name up in DNS",
            mend: "add `dns` to the end of the line hosts: of \(path)")
    }
}

extension Examination {
    /// How programs come to ask the server, where they ask what resolv.conf names.
    fileprivate var switchOnRemedy: String {
        let command = command("resolver on")
        return listenAddresses.contains { $0.port == 53 }
            ? command : "listen.addresses with port 53, which programs ask alone; then \(command)"
    }

    /// Whether the server receives what programs send to an address: they know port 53 alone.
    fileprivate func receives(_ address: String) -> Bool {
        AddressAndPort(address, defaultPort: 53).map { listenAddresses.receive($0) } ?? false
    }
}

extension Configuration.Listen {
    /// Whether the server receives what this machine sends there.
    func receives(_ target: AddressAndPort) -> Bool { addresses.receive(target) }
}

extension [AddressAndPort] {
    /// Whether a server that listens there receives what this machine sends to `target`.
    fileprivate func receive(_ target: AddressAndPort) -> Bool {
        contains { listener in
            listener.receives(target)
                || listener.port == target.port && listener.address.isWildcard
                    && listener.address.recordType == target.address.recordType
                    && SocketAddress(target)?.isOnThisMachine == true
        }
    }
}

/// The number behind the colon of one of the `options` of a resolv.conf; a later one counts.
private func number(of option: String, in text: String) -> Int? {
    let words = text.split(whereSeparator: \.isNewline).flatMap { line -> ArraySlice<Substring> in
        let words = line.split(whereSeparator: \.isWhitespace)
        return words.first == "options" ? words.dropFirst() : []
    }
    return words.last { $0.hasPrefix(option + ":") }.flatMap { Int($0.dropFirst(option.utf8.count + 1)) }
}
