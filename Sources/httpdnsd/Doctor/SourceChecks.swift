import Admin
import Configuration
import DNSResolver
import DNSWire
import Platform

// What the running server says of its sources and of the network.

extension Check {
    /// How far a clock may be off, in seconds: services refuse signatures that are older than some minutes.
    private static let clockTolerance = 60
    /// The most forged addresses that are shown.
    private static let mostForged = 3

    static let httpdnsSwitch = ofStatus("switch", well: "HTTPDNS is in use") { status in
        guard !status.isOn else { return [] }
        let command = { Examination.command($0, of: status.configuration) }
        return status.policy.switchesOff
            ? .error(
                "switch.off", "HTTPDNS is switched off by the signed policy: LocalDNS answers every name",
                mend:
                    "a policy with a higher serial, without document.switch; \(command("policy show")) says which is in force"
            )
            : .error(
                "switch.off", "HTTPDNS is switched off: LocalDNS answers every name", mend: command("switch on"))
    }

    static let route = Check(subject: "route", well: "this machine has a route to what the server asks") { examined in
        guard examined.isCutOff else { return [] }
        return .error(
            "network.none",
            "this machine has no route to any provider or server of LocalDNS: no interface is up, or none has a gateway",
            mend: "`ip address` and `ip route` show what there is; connect the network")
    }

    static let providers: Check = Check(
        subject: "providers", well: "every provider is asked, and none is known to fail",
        findings: { examined in
            guard !examined.isCutOff, examined.report != nil || !examined.questions.isEmpty else { return nil }
            let hasRoute = { (address: SocketAddress) in examined.usesProxy || examined.hasRoute(address) }
            let seen = examined.report?.found(by: providers.subject) ?? []
            let asked = examined.settings.providers.compactMap { entry -> Finding? in
                guard let reason = examined.questions[entry.name] ?? nil,
                    !seen.contains(where: { $0.provider == entry.name })
                else { return nil }
                let addresses =
                    examined.report?.addresses(of: entry.name) ?? entry.addresses.map(\.description)
                return failure(of: entry.name, at: addresses, "\(entry.url)", reason, hasRoute)
            }
            // A finding of its own, which explains that no certificate can be verified.
            let unverified = examined.settings.uselessAuthorities.map(\.provider)
            return (seen + asked).filter { !unverified.contains($0.provider) }
        }, reported: { status, hasRoute in status.providers.compactMap { finding(on: $0, hasRoute) } })

    /// - Parameter hasRoute: whether the address is reached by a route of this machine, or needs none.
    private static func finding(
        on provider: StatusReport.Provider, _ hasRoute: (SocketAddress) -> Bool
    ) -> Finding? {
        let name = "provider \(provider.name)"
        switch provider.state {
        case .refused:
            return Finding(
                "provider.refused", .error,
                "\(name) refuses the account or the signature\(provider.lastError.map { ": \($0)" } ?? "")",
                mend: "compare account and secret with the vendor's console, and the clock with `timedatectl`",
                of: provider.name)
        case .exhausted:
            return Finding(
                "provider.exhausted", .error,
                "\(name): its limit of calls is reached, and it is not asked until \(provider.exhaustedUntil)",
                mend: "a higher daily_limit or monthly_limit, or fewer names in its `names`", of: provider.name)
        case .disabled:
            return Finding(
                "provider.disabled", .error, "\(name): the vendor has disabled the service for this account",
                mend: "the vendor's console, mostly the bill", of: provider.name)
        case .used, .inBackoff, .probeDue, .loop:
            guard !provider.addresses.isEmpty, !provider.addresses.contains(where: \.state.isAsked) else {
                return nil
            }
            let untrusted = provider.addresses.first { $0.lastError?.contains("certificate") == true }
            return failure(
                of: provider.name, at: untrusted.map { [$0.address] } ?? provider.addresses.map(\.address),
                provider.url.replacing("/…", with: "/"), untrusted?.lastError ?? provider.lastError ?? "", hasRoute)
        }
    }

    /// A provider that does not answer, with what mends its cause.
    private static func failure(
        of name: String, at addresses: [String], _ url: String, _ reason: String,
        _ hasRoute: (SocketAddress) -> Bool
    ) -> Finding {
        let list = addresses.isEmpty ? url : addresses.joined(separator: ", ")
        let because = reason.isEmpty ? "" : ": \(reason)"
        if reason.contains("certificate") {
            return Finding(
                "provider.untrusted", .error, "provider \(name) shows no valid certificate at \(list)\(because)",
                mend:
                    "`openssl s_client -connect \(addresses.first ?? url) </dev/null` shows whose it is: that of a network that intercepts TLS, or of an authority that ca_file should name",
                of: name)
        }
        if reason.contains("HTTP ") {
            return Finding(
                "provider.failing", .error,
                "provider \(name) is reached at \(list) and answers with an error\(because)",
                mend:
                    "the vendor's console and its page on the state of the service; account and url; a second [[provider]] answers meanwhile",
                of: name)
        }
        let targets = addresses.compactMap { SocketAddress($0) }
        if !targets.isEmpty, !targets.contains(where: hasRoute) {
            let families = Set(targets.map { $0.family == .ipv4 ? "IPv4" : "IPv6" }).sorted()
            let other = families == ["IPv4"] ? "IPv6" : "IPv4"
            return Finding(
                "provider.unrouted", .error,
                "provider \(name) cannot be reached at \(list): this machine has no route to it over \(families.joined(separator: " or "))",
                mend: "an \(other) address of the service in its `addresses`; or \(families[0]) on this machine",
                of: name)
        }
        return Finding(
            "provider.unreachable", .error, "provider \(name) cannot be reached at \(list)\(because)",
            mend: "`curl -v \(url)` from this machine; a firewall must let it out, or http.proxy names a proxy",
            of: name)
    }

    static let transport = Check(subject: "transport", well: "no answer of a provider can be forged on the path") {
        examined in
        examined.settings.providers.filter { !$0.isAuthenticated && !$0.isOnThisMachine }.map { provider in
            Finding(
                "provider.forgeable", .warning,
                "provider \(provider.name) is asked over plain http: its answers can be forged or replayed on the path",
                mend: "https:// in its url; for type tencent the type tencent-https")
        }
    }

    static let localDNS = Check(
        subject: "localdns", well: "a server of LocalDNS answers",
        findings: { examined in
            if let missing = examined.settings.missingLocalDNS {
                return .error(
                    "localdns.none", missing, mend: "localdns.servers with the network's own resolver")
            }
            return examined.isCutOff ? nil : examined.report?.found(by: "localdns")
        }, reported: { status, _ in silentLocalDNS(status) })

    private static func silentLocalDNS(_ status: StatusReport) -> [Finding] {
        // A loop is a finding of its own.
        let able = status.localDNS.filter { $0.state != .loop }
        guard !able.isEmpty, !able.contains(where: \.state.isAsked) else { return [] }
        let list = able.map(\.address).joined(separator: ", ")
        return .error(
            "localdns.unreachable", "no server of LocalDNS answers: \(list)",
            mend: "`dig @SERVER example.com` for each; localdns.servers with one that answers")
    }

    static let loop = ofStatus("loop", well: "no server sends our own queries back") { status in
        (status.localDNS + status.forwards.flatMap(\.servers)).filter { $0.state == .loop }.map { server in
            Finding(
                "loop.found", .error, "\(server.address) sends our own queries back to us, and is not asked",
                mend: "name the resolver behind it in localdns.servers, or in the [[forward]]")
        }
    }

    static let forgeries = ofStatus("forged", well: "LocalDNS has given no address that a certificate disproves") {
        status in
        status.forged.prefix(mostForged).map { forged in
            let server = forged.server.isEmpty ? "LocalDNS" : "LocalDNS \(forged.server)"
            return Finding(
                "localdns.forged", .warning, "\(server) gives forged addresses: \(forged.text)",
                mend:
                    "clients are not given it; another resolver in localdns.servers, or localdns.unverified for a site of your own"
            )
        }
    }

    static let network = ofStatus("network", well: "no sign of a login page or of intercepted connections") { status in
        let remedy = "log in with a browser; without a login page do not trust this network"
        var findings: [Finding] = []
        if !status.portal.isEmpty {
            findings += .error(
                "network.portal",
                "LocalDNS gives \(status.portal) for unrelated names, and no provider can be reached: a login page, or a hijacked network",
                mend: remedy)
        }
        if !status.interception.isEmpty {
            findings += .error(
                "network.intercepted",
                "unrelated names show one certificate (SHA-256 \(status.interception)), and no provider can be reached: TLS is intercepted",
                mend: remedy)
        }
        return findings
    }

    static let clock = ofStatus("clock", well: "nothing speaks against this machine's clock") { status in
        let remedy = "`timedatectl set-ntp true`, or `timedatectl set-time`"
        if !status.clock.isEmpty {
            return .error("clock.wrong", "this machine's \(status.clock)", mend: remedy)
        }
        return status.providers.filter { $0.clockOffset.magnitude > clockTolerance }.prefix(1).map { provider in
            let direction = provider.clockOffset < 0 ? "behind" : "ahead of"
            return Finding(
                "clock.wrong", .error,
                "the clock of provider \(provider.name) is \(provider.clockOffset.magnitude) s \(direction) ours",
                mend: remedy)
        }
    }

    static let diskCache = ofStatus("disk", well: "the cache on disk is used, or none is configured") { status in
        guard !status.cache.file.isEmpty, !status.cache.fileError.isEmpty else { return [] }
        return .warning(
            "disk.unused", "\(status.cache.file) is not used: \(status.cache.fileError)",
            mend: diskRemedy(for: status.cache.fileError))
    }

    private static func diskRemedy(for reason: String) -> String {
        let remedies = [
            ("another process uses", "cache.disk.path with a path of its own for each server"),
            ("is not a cache of this program", "cache.disk.path with a path where nothing else is"),
            ("Is a directory", "cache.disk.path with a path where nothing else is"),
            ("No space left", "make room on its file system, or set cache.disk.path"),
            ("disk is full", "make room on its file system, or set cache.disk.path"),
            (
                "Read-only file system",
                "ReadWritePaths= with its folder in the unit (`systemctl edit httpdnsd`), or cache.disk.path below /var/lib/httpdnsd"
            ),
        ]
        return remedies.first { reason.contains($0.0) }?.1
            ?? "make its folder writable for the server's user, or set cache.disk.path"
    }
}

extension Examination {
    /// Those that the server would ask: none while HTTPDNS is not in use, and none whose limit of calls is reached, or that has
    /// refused the account.
    var providersToAsk: [Configuration.ProviderEntry] {
        let isOff = report?.found(by: Check.httpdnsSwitch.subject).isEmpty == false
        guard settings.route.mode != .localDNSOnly, !isOff else { return [] }
        let unasked = (report?.found(by: Check.providers.subject) ?? []).filter(\.isOfAccount).map(\.provider)
        return settings.providers.filter { !unasked.contains($0.name) }
    }

    /// Whether requests go to a proxy, and not to the addresses of the providers.
    fileprivate var usesProxy: Bool { settings.http.proxy != nil }

    /// Whether this machine has a route to none of the addresses that the server asks.
    fileprivate var isCutOff: Bool {
        let providers = report?.providerAddresses
        let written = settings.providers.flatMap { $0.addresses.map(\.description) }
        let servers = report?.localDNS ?? settings.localDNS.servers.map(\.description)
        let targets = ((providers ?? written) + servers).compactMap { SocketAddress($0) }
        return !usesProxy && !targets.isEmpty && !targets.contains(where: hasRoute)
    }
}

extension StatusReport.Provider {
    /// Why a request failed last, at any of its addresses.
    fileprivate var lastError: String? {
        addresses.filter { $0.lastError != nil }.min { ($0.lastErrorAge ?? .max) < ($1.lastErrorAge ?? .max) }?
            .lastError
    }
}

extension Configuration.ProviderEntry {
    /// Whether what is sent to it leaves no interface.
    var isOnThisMachine: Bool {
        if case .address(let address) = url.host { return address.isLoopback }
        return !addresses.isEmpty && addresses.allSatisfy(\.address.isLoopback)
    }
}

extension Finding {
    /// Whether the provider's calls are used up, or it refuses the account.
    fileprivate var isOfAccount: Bool { ["provider.refused", "provider.exhausted", "provider.disabled"].contains(key) }
}
