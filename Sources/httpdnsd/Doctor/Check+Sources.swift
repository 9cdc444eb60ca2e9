import Admin
import Configuration
import DNSWire

// What the running server says of its sources and of the network.

extension Check {
    /// How far a clock may be off, in seconds: services refuse signatures that are older than some minutes.
    private static let clockTolerance = 60
    /// The most forged addresses that are shown.
    private static let mostForged = 3

    static let httpdnsSwitch = ofStatus("switch", well: "HTTPDNS is in use") { status in
        guard !status.isOn else { return [] }
        guard status.policy.switchesOff else {
            return [
                Finding(
                    "switch.off", .error, "HTTPDNS is switched off: LocalDNS answers every name",
                    mend: "`httpdnsd switch on`")
            ]
        }
        return [
            Finding(
                "switch.off", .error, "HTTPDNS is switched off by the signed policy: LocalDNS answers every name",
                mend:
                    "a policy with a higher serial, without document.switch; `httpdnsd policy show` says which is in force"
            )
        ]
    }

    static let providers = ofStatus("providers", well: "every provider is asked") { status in
        status.providers.compactMap { provider in
            let name = "provider \(provider.name)"
            switch provider.state {
            case .refused:
                return Finding(
                    "provider.refused", .error,
                    "\(name) refuses the account or the signature\(provider.lastError.map { ": \($0)" } ?? "")",
                    mend: "compare account and secret with the vendor's console, and the clock with `timedatectl`")
            case .exhausted:
                return Finding(
                    "provider.exhausted", .error,
                    "\(name): its limit of calls is reached, and it is not asked until \(provider.exhaustedUntil)",
                    mend: "a higher daily_limit or monthly_limit, or fewer names in its `names`")
            case .disabled:
                return Finding(
                    "provider.disabled", .error, "\(name): the vendor has disabled the service for this account",
                    mend: "the vendor's console, mostly the bill")
            case .used, .inBackoff, .probeDue, .loop:
                guard !provider.addresses.isEmpty, !provider.addresses.contains(where: { $0.state == .used }) else {
                    return nil
                }
                let addresses = provider.addresses.map(\.address).joined(separator: ", ")
                if let address = provider.addresses.first(where: { $0.lastError?.contains("certificate") == true }) {
                    return Finding(
                        "provider.untrusted", .error,
                        "\(name) shows no valid certificate at \(addresses): \(address.lastError ?? "")",
                        mend:
                            "`openssl s_client -connect \(address.address) </dev/null` shows whose it is: that of a network that intercepts TLS, or of an authority that ca_file should name"
                    )
                }
                return Finding(
                    "provider.unreachable", .error,
                    "\(name) cannot be reached at \(addresses)\(provider.lastError.map { ": \($0)" } ?? "")",
                    mend:
                        "`curl -v \(provider.url.replacing("/…", with: "/"))` from this machine; a firewall must let it out, or http.proxy names a proxy"
                )
            }
        }
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
                return [
                    Finding(
                        "localdns.none", .error, missing, mend: "localdns.servers with the network's own resolver")
                ]
            }
            return examined.report.map(silentLocalDNS)
        }, reported: silentLocalDNS)

    private static func silentLocalDNS(_ status: StatusReport) -> [Finding] {
        // A loop is a finding of its own.
        let able = status.localDNS.filter { $0.state != .loop }
        guard !able.isEmpty, !able.contains(where: { $0.state == .used }) else { return [] }
        let list = able.map(\.address).joined(separator: ", ")
        return [
            Finding(
                "localdns.unreachable", .error, "no server of LocalDNS answers: \(list)",
                mend: "`dig @SERVER example.com` for each; localdns.servers with one that answers")
        ]
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
        var findings: [Finding] = []
        if !status.portal.isEmpty {
            findings.append(
                Finding(
                    "network.portal", .error,
                    "LocalDNS gives \(status.portal) for unrelated names, and no provider can be reached: a login page, or a hijacked network",
                    mend: "log in with a browser; without a login page do not trust this network"))
        }
        if !status.interception.isEmpty {
            findings.append(
                Finding(
                    "network.intercepted", .error,
                    "unrelated names show one certificate (SHA-256 \(status.interception)), and no provider can be reached: TLS is intercepted",
                    mend: "log in with a browser; without a login page do not trust this network"))
        }
        return findings
    }

    static let clock = ofStatus("clock", well: "nothing speaks against this machine's clock") { status in
        let remedy = "`timedatectl set-ntp true`, or `timedatectl set-time`"
        if !status.clock.isEmpty {
            return [Finding("clock.wrong", .error, "this machine's \(status.clock)", mend: remedy)]
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
        return [
            Finding(
                "disk.unused", .warning, "\(status.cache.file) is not used: \(status.cache.fileError)",
                mend: diskRemedy(for: status.cache.fileError))
        ]
    }

    private static func diskRemedy(for reason: String) -> String {
        let contains = { (signs: [String]) in signs.contains { reason.contains($0) } }
        if contains(["another process uses"]) { return "cache.disk.path with a path of its own for each server" }
        if contains(["is not a cache of this program", "Is a directory"]) {
            return "cache.disk.path with a path where nothing else is"
        }
        if contains(["No space left", "disk is full"]) {
            return "make room on its file system, or set cache.disk.path"
        }
        return "make its folder writable for the server's user, or set cache.disk.path"
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
    fileprivate var isOnThisMachine: Bool {
        if case .address(let address) = url.host { return address.isLoopback }
        return !addresses.isEmpty && addresses.allSatisfy(\.address.isLoopback)
    }
}
