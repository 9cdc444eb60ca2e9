import Admin
import Configuration
import DNSResolver
import DNSWire
import HTTPDNS
import Platform
import Upstreams

/// What a configuration means: what `httpdnsd check` shows, as text or as one JSON object.
struct CheckReport {
    /// The most names of a list that are shown as text; JSON has all.
    private static let listLimit = 10
    /// The most example names.
    private static let exampleLimit = 8

    private let file: String
    /// With the signed policy.
    private let settings: Configuration
    /// What is said of the signed policy; nil: none is configured.
    private let policy: String?
    /// The groups of LocalDNS servers that are asked; empty while none is found.
    private let localDNS: [[String]]
    private let search: [String]
    /// What the sources of a name are, for the first name of each list and one of no list.
    private let examples: [(name: Name, sources: [String])]
    /// One line each, without a prefix.
    private let warnings: [String]

    /// - Parameter warnings: those of reading the file.
    init(_ settings: Configuration, file: String, warnings: [String]) {
        self.file = file
        let examined = ExaminedPolicy(settings)
        let settings = examined.inForce?.applied(to: settings) ?? settings
        self.settings = settings
        policy = examined.text
        localDNS = (try? settings.localDNSServers())?.map { $0.map(\.description) } ?? []
        search = Composition.searchDomains(settings).map(\.description)
        let routes = Composition.routes(settings, settings.answers.dns64 ?? Translation.none)
        self.warnings =
            warnings + settings.remarks + settings.unreadableCertificateFiles() + examined.warnings
            + settings.hostsOfLocalDNSAlone(by: routes) + settings.exposures
        examples = settings.exampleNames.prefix(Self.exampleLimit).map { name in
            (name, settings.sources(of: name, by: routes.route(for: name, .a)))
        }
    }

    /// What is printed on standard error.
    var warningLines: [String] { warnings.map { "warning: \($0)" } }

    /// A line for each thing.
    var text: String {
        var rows: [[String]] = []
        func row(_ key: String, _ text: String, if isSo: Bool = true) {
            if isSo { rows.append([key, text]) }
        }
        let (listen, route, cache) = (settings.listen, settings.route, settings.cache)
        row(
            "listen",
            Self.list(listen.addresses.map { "\($0)\(Self.isHere($0) ? "" : " (not on this machine yet)")" }))
        row("allow", Self.list(listen.allow))
        for (key, addresses) in [("tls", listen.tls), ("https", listen.https)] {
            row(key, "\(Self.list(addresses)) with \(listen.certificate)", if: !addresses.isEmpty)
        }
        row("httpdns", "\(Self.list(listen.httpdns)) in plain http", if: !listen.httpdns.isEmpty)
        for account in settings.accounts {
            let names = account.names.isEmpty ? "" : ", for \(Self.brief(account.names))"
            let limit = account.dailyLimit > 0 ? ", \(account.dailyLimit) names a day" : ""
            let signs = account.secret == nil ? "requests need no signature" : "requests are signed"
            row("account", "\(account.id): \(signs)\(names)\(limit)")
        }
        if let monitor = settings.control.http { row("monitor", "\(monitor): metrics, health and a page") }
        for provider in settings.providers {
            let mark = provider.isAuthenticated ? "" : "  (not authenticated: can be forged or replayed on the path)"
            let names = provider.names.isEmpty ? "" : ", for \(Self.brief(provider.names))"
            row("provider", "\(provider.name): \(provider.type.rawValue) at \(provider.url.shown)\(names)\(mark)")
        }
        row("mode", route.mode.rawValue)
        row("protect", Self.brief(route.protect), if: !route.protect.isEmpty)
        row("bypass", Self.brief(route.bypass), if: !route.bypass.isEmpty)
        for forward in settings.forwards {
            row("forward", "\(Self.list(forward.suffixes)) to \(Self.list(forward.servers))")
        }
        row("localdns", localDNS.isEmpty ? "none found" : localDNS.map(Self.list).joined(separator: ", then "))
        row(
            "search", "\(Self.list(search)): names below that the providers deny are asked of localdns",
            if: !search.isEmpty)
        let disk = cache.disk.path
        row("cache", "\(cache.memory >> 20) MiB of memory, \(disk.isEmpty ? "no file" : "and \(disk)")")
        if let redis = cache.shared.redis { row("shared", "with other servers in \(Self.place(of: redis))") }
        if let policy { row("policy", policy) }
        let presets = presets.filter { $0.count > 0 }
        row("preset", "names: \(Self.list(presets.map { "\($0.count) \($0.text)" }))", if: !presets.isEmpty)
        row("prefer", settings.answers.prefer.rawValue, if: settings.answers.prefer != .both)
        for example in examples { row("example", "\(example.name): \(example.sources.joined(separator: ", then "))") }
        return rows.tableText + "\n\(file) is good"
    }

    /// The same with all names of all lists, and the warnings. Documented in Documentation/Control.md.
    var json: String {
        JSONWriter.object { writer in
            writer.member("file", file)
            writer.member("errors", [String]())
            writer.member("warnings", warnings)
            writer.member("listen", objects: settings.listen.addresses) { address, writer in
                writer.member("address", address.description)
                writer.member("present", Self.isHere(address))
            }
            writer.member("tls", settings.listen.tls.map(\.description))
            writer.member("https", settings.listen.https.map(\.description))
            writer.member("httpdns", settings.listen.httpdns.map(\.description))
            writer.member("accounts", objects: settings.accounts) { account, writer in
                writer.member("id", account.id)
                writer.member("signed", account.secret != nil)
                writer.member("names", account.names.map(\.description))
                writer.member("daily_limit", account.dailyLimit)
            }
            writer.member("monitor", settings.control.http?.description)
            writer.member("allow", settings.listen.allow.map(\.description))
            writer.member("providers", objects: settings.providers) { provider, writer in
                writer.member("name", provider.name)
                writer.member("type", provider.type.rawValue)
                writer.member("url", provider.url.shown)
                writer.member("names", provider.names.map(\.description))
                writer.member("authenticated", provider.isAuthenticated)
            }
            writer.member("mode", settings.route.mode.rawValue)
            writer.member("protect", settings.route.protect.map(\.description))
            writer.member("bypass", settings.route.bypass.map(\.description))
            writer.member("forward", objects: settings.forwards) { forward, writer in
                writer.member("names", forward.suffixes.map(\.description))
                writer.member("servers", forward.servers.map(\.description))
            }
            writer.member("localdns", objects: localDNS) { servers, writer in writer.member("servers", servers)
            }
            writer.member("search", search)
            writer.member(
                "cache",
                object: { writer in
                    writer.member("memory", settings.cache.memory)
                    writer.member("file", settings.cache.disk.path.isEmpty ? nil : settings.cache.disk.path)
                    writer.member("shared", settings.cache.shared.redis.map(Self.place))
                })
            writer.member(
                "presets",
                object: { writer in
                    for preset in presets { writer.member(preset.key, preset.count) }
                })
            writer.member("policy", policy)
            writer.member("prefer", settings.answers.prefer.rawValue)
            writer.member("examples", objects: examples) { example, writer in
                writer.member("name", example.name.description)
                writer.member("sources", example.sources)
            }
        }
    }

    /// The JSON object of a configuration with mistakes.
    ///
    /// - Parameter errors: as they are printed without `--json`, at least one.
    static func json(errors: [String], warnings: [String], file: String) -> String {
        JSONWriter.object { writer in
            writer.member("file", file)
            writer.member("errors", errors)
            writer.member("warnings", warnings)
        }
    }

    private var presets: [(key: String, count: Int, text: String)] {
        let preset = settings.preset
        return [
            ("always", preset.always.count, "always"), ("hosts", preset.hosts.count, "of \(preset.hostsFile)"),
            ("last_resort", preset.lastResort.count, "in the last resort"),
            ("preresolve", preset.preresolve.count, "looked up at the start"),
        ]
    }

    /// Without user and password.
    private static func place(of redis: RedisSettings) -> String {
        switch redis.place {
        case .host(let host, let port, let usesTLS): "\(host), port \(port)\(usesTLS ? ", by TLS" : "")"
        case .path(let path): path
        }
    }

    private static func isHere(_ endpoint: AddressAndPort) -> Bool { SocketAddress(endpoint)?.isOnThisMachine ?? false }

    private static func brief(_ names: some Collection<Name>) -> String {
        let more = names.count - listLimit
        return list(names.prefix(listLimit)) + (more > 0 ? " and \(more) more" : "")
    }

    private static func list(_ items: some Sequence<some CustomStringConvertible>) -> String {
        items.map(\.description).joined(separator: ", ")
    }
}

extension Configuration {
    /// The first name of each list, and one of no list.
    fileprivate var exampleNames: [Name] {
        let listed = providers.compactMap(\.names.first) + [route.protect, route.bypass].compactMap(\.first)
        let forwarded = forwards.compactMap(\.suffixes.first)
        var names: [Name] = []
        for name in listed + forwarded + [try? Name("www.example.net")].compactMap({ $0 }) where !names.contains(name) {
            names.append(name)
        }
        return names
    }

    /// What may be seen or forged by others under this configuration, and what cannot be meant.
    fileprivate var exposures: [String] {
        var warnings: [String] = []
        if let monitor = control.http, monitor.address.isRouted || monitor.address.isWildcard && Self.hasRoutedAddress {
            warnings.append(
                "control.http: \(monitor) is reached from the internet unless a firewall is in the way, and shows what names are asked for: write a private address"
            )
        }
        if !providers.isEmpty, providers.allSatisfy({ !$0.isAuthenticated && !$0.isOnThisMachine }) {
            warnings.append(
                "every provider is asked over plain http: whoever is on the path can forge its answers: write https:// in its url; for type tencent the type tencent-https"
            )
        }
        for provider in providers where provider.type == .doh && ["", "/"].contains(provider.url.path) {
            warnings.append(
                "provider \(provider.name): \(provider.url) has no path, and DNS over HTTPS is mostly at /dns-query: `httpdnsd check --ask` asks there"
            )
        }
        return warnings
    }

    /// Whether an interface of this machine has an address of the internet.
    private static var hasRoutedAddress: Bool { interfaceAddresses().contains(where: \.isRouted) }

    /// A warning for each provider whose host no other provider can look up (`HostSources`).
    fileprivate func hostsOfLocalDNSAlone(by routes: RoutePolicy) -> [String] {
        providers.compactMap { provider in
            guard provider.url.scheme == .https, !provider.isKnownByAddress, case .name(let host) = provider.url.host,
                !routes.mayTellProviders(of: host.lowercased)
                    || !providers.contains(where: { other in
                        other.isKnownByAddress
                            && (other.names.isEmpty || other.names.contains { host.lowercased.isWithin($0) })
                    })
            else { return nil }
            return
                "provider \(provider.name): its host \(host) is looked up through LocalDNS alone, and a LocalDNS that forges or is"
                + " silent keeps it away: write its addresses, or add a provider with addresses"
        }
    }

    /// The sources of a name, in the order in which they are asked.
    fileprivate func sources(of name: Name, by route: DNSResolver.Route) -> [String] {
        switch route {
        case .bypass: return ["localdns"]
        case .forward(let index): return [forwards[index].servers.map(\.description).joined(separator: ", ")]
        case .portal, .protect:
            let able = providers.filter { $0.names.isEmpty || $0.names.contains { name.isWithin($0) } }.map(\.name)
            return switch route == .portal ? .localDNSFirst : self.route.mode {
            case .localDNSFirst: ["localdns"] + able
            case .httpdnsOnly: able
            case .httpdnsFirst, .localDNSOnly: able + ["localdns"]
            }
        }
    }
}

extension Configuration.ProviderEntry {
    /// Whether its host needs no look-up.
    fileprivate var isKnownByAddress: Bool { if case .address = url.host { true } else { !addresses.isEmpty } }
}
