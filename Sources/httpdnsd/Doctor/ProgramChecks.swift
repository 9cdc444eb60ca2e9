import Admin
import Configuration
import DNSWire
import Platform
import Upstreams

// Whether the programs of this machine ask the server, and how.

extension Check {
    /// The least seconds that the C library is to wait for a response, which may take 2.5.
    private static let leastTimeout = 3
    /// The most seconds, and the most dots, that the C library takes from the file.
    private static let mostOption = 30

    static let programs = Check(subject: "resolver", well: "the programs of this machine ask this server alone") {
        examined in
        let resolver = MachineResolver(examined.files)
        if resolver.reachesStub {
            guard !resolver.resolvedIsOurs else { return [] }
            return .error(
                "resolver.elsewhere", "programs ask systemd-resolved, which does not ask this server",
                mend: examined.command("resolver on"))
        }
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
        let lines = (examined.files.text(of: path) ?? "").split(separator: "\n")
        guard let line = lines.last(where: { $0.hasPrefix("hosts:") }) else { return [] }
        let services = line.dropFirst("hosts:".count).prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
        let resolver = MachineResolver(examined.files)
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
    let words = text.split(separator: "\n").flatMap { line -> ArraySlice<Substring> in
        let words = line.split(whereSeparator: \.isWhitespace)
        return words.first == "options" ? words.dropFirst() : []
    }
    return words.last { $0.hasPrefix(option + ":") }.flatMap { Int($0.dropFirst(option.utf8.count + 1)) }
}
