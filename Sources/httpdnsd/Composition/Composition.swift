import Configuration
import DNSCache
import DNSResolver
import DNSWire
import Glibc
import HTTPDNS
import Logging
import Platform
import Upstreams

/// The one place where the sources are put together, from one configuration.
///
/// At a reload a new one takes over from the old what has not changed, with its connections and its health.
@Loop
struct Composition {
    /// A provider, and the entry it was made from.
    typealias ConfiguredProvider = (entry: Configuration.ProviderEntry, upstream: HTTPDNSProvider)

    let settings: Configuration
    /// A digest of all in them that answers depend on.
    let settingsIdentity: String
    let localDNS: LocalDNS
    let forwarders: [LocalDNS]
    /// What looks up the hosts of providers, of Redis and of the signed policy.
    let hosts: HostSources
    let providers: [ConfiguredProvider]
    /// What is known of the addresses that LocalDNS gives for protected names.
    let checks: AddressChecks
    /// Whether certificates can be judged by this machine's clock.
    let timeOfDay: TimeOfDay
    /// Nil: no answers are shared.
    let shared: SharedCache?
    /// The numbers of these sources in the cache.
    let sources: SourceTags
    private let numbers: SourceTags.Numbers
    private let limit: LocalDNSLimit
    /// How often accounts were called that no provider has now: a reload may bring them back.
    var calls: [String: CallQuota.Record]
    /// They outlast a policy, as the providers do that are the same in the next one.
    let probes: Probes
    let loop: EventLoop
    /// Logs what the resolver and the sources report.
    let report: @Loop (ResolverEvent) -> Void

    /// - Parameters:
    ///   - old: what is replaced.
    ///   - paths: updated by the watch of the network.
    ///   - limit: how many queries to LocalDNS may be under way; that of `old` if there is one.
    init(
        _ settings: Configuration, replacing old: Composition? = nil, paths: NetworkPaths = NetworkPaths(),
        limit: LocalDNSLimit = LocalDNSLimit(), loop: EventLoop, events: EventLog
    ) {
        self.settings = settings
        settingsIdentity = Self.digest([settings.answerIdentity])
        self.loop = loop
        let report: @Loop (ResolverEvent) -> Void = { events.report(LogMessage($0)) }
        self.report = report
        let limit = old?.limit ?? limit
        self.limit = limit
        probes = old?.probes ?? Probes(clock: loop, report: report)
        let make = { (name: String, groups: [[LocalDNSServer]], zone: Name) in
            LocalDNS(
                name: name, groups: groups, zone: zone, timeout: settings.localDNS.timeout,
                maxTTL: settings.localDNS.maxTTL, limit: limit, paths: paths, loop: loop, report: report)
        }
        let localDNS =
            old.flatMap { old in
                let (was, wanted) = (old.settings.localDNS, settings.localDNS)
                return was.findsLike(wanted) && was.answersLike(wanted) ? old.localDNS : nil
            }
            ?? Self.localDNS(settings, replacing: old, report: report, make)
        self.localDNS = localDNS
        // What stays over a reload goes on looking up by this one.
        let hosts = old.flatMap { $0.localDNS === localDNS ? $0.hosts : nil } ?? HostSources(localDNS: localDNS)
        self.hosts = hosts
        let timeOfDay =
            old?.timeOfDay
            ?? TimeOfDay(
                released: Release.day, clock: loop, secondsSince1970: { Int64(time(nil)) },
                report: { report($0.map { .clockDoubted($0) } ?? .clockTrusted) })
        self.timeOfDay = timeOfDay
        let ports = settings.localDNS.certificatePorts.compactMap { UInt16(exactly: $0) }
        checks =
            old.flatMap { $0.checks.ports == ports ? $0.checks : nil }
            ?? AddressChecks(
                ports: ports, handshake: CertificateCheck(paths: paths, loop: loop),
                journal: old?.checks.journal ?? HijackJournal(timeOfDay: { Int64(time(nil)) }, report: report),
                timeOfDay: timeOfDay, clock: loop)
        forwarders = Self.forwarders(settings, replacing: old, make)
        var calls = old?.calls ?? [:]
        for provider in old?.providers ?? [] { calls[provider.entry.accountText] = provider.upstream.account.record }
        providers = settings.providers.map { entry in
            // Whatever else has changed, what the account was sent today counts.
            let record = calls.removeValue(forKey: entry.accountText)
            // Its own look-ups go through LocalDNS: with another one it must be made again.
            if let same = old?.providers.first(where: { $0.entry == entry }), old?.localDNS === localDNS,
                old?.settings.http.proxy == settings.http.proxy
            {
                return same
            }
            let upstream = HTTPDNSProvider(
                HTTPDNSSettings(
                    entry, proxy: settings.http.proxy.flatMap { SocketAddress($0) },
                    mark: settings.listen.servesHTTP ? LoopMark.ofProcess : nil), loop: loop,
                bootstrap: hosts, paths: paths,
                timeOfDay: { Int64(time(nil)) }, report: report)
            upstream.account.onSign = { timeOfDay.learn($0, from: entry.name) }
            if let record { upstream.account.restore(record) }
            return (entry, upstream)
        }
        self.calls = calls
        hosts.providers = providers.map(\.upstream).filter(\.isKnownByAddress)
        (sources, numbers) = Self.number(settings, providers, replacing: old)
        shared = Self.shared(
            settings, providers, replacing: old, timeOfDay, bootstrap: hosts, paths: paths, loop: loop,
            events: events)
    }

    /// Asks servers, by groups, for a zone.
    private typealias MakeLocalDNS = (_ name: String, _ groups: [[LocalDNSServer]], _ zone: Name) -> LocalDNS

    private static func localDNS(
        _ settings: Configuration, replacing old: Composition?, report: @escaping @Loop (ResolverEvent) -> Void,
        _ make: MakeLocalDNS
    ) -> LocalDNS {
        let known = (settings.localDNS.groups ?? []).map { $0.map { LocalDNSServer($0) } }
        let localDNS = make("localdns", known, .root)
        if let old, old.settings.localDNS.findsLike(settings.localDNS) { localDNS.takeServers(of: old.localDNS) }
        localDNS.findServers = {
            do throws(LocalDNSServersError) {
                return try settings.localDNSServers().flatMap(\.self)
            } catch {
                // At boot the network may not be there yet; the providers may be all the same.
                report(.serversMissing(upstream: "localdns", reason: "\(error)"))
                return []
            }
        }
        return localDNS
    }

    /// Those that ask the same servers for the same zone in the same way stay, each for one entry.
    private static func forwarders(
        _ settings: Configuration, replacing old: Composition?, _ make: MakeLocalDNS
    ) -> [LocalDNS] {
        var left = old?.settings.localDNS.answersLike(settings.localDNS) == true ? old?.forwarders ?? [] : []
        return settings.forwards.map { forward in
            let servers = forward.servers.map { LocalDNSServer($0) }
            let name = "forward to \(servers.map(\.description).joined(separator: ", "))"
            let new = make(name, [servers], forward.suffixes.first { !$0.isRoot } ?? .root)
            let same = left.firstIndex { $0.zone == new.zone && $0.groups == new.groups }
            return same.map { left.remove(at: $0) } ?? new
        }
    }

    /// Sources that answer as they did keep their number; with it stays what the cache has of them.
    private static func number(
        _ settings: Configuration, _ providers: [ConfiguredProvider], replacing old: Composition?
    ) -> (SourceTags, SourceTags.Numbers) {
        // Numbers left for all sources of one policy, with much to spare; without it everything starts again.
        let old = old.flatMap { $0.numbers.left > 1 << 12 ? $0 : nil }
        var numbers = old?.numbers ?? SourceTags.Numbers()
        let localDNS = old.flatMap {
            $0.settings.localDNS.groups == settings.localDNS.groups ? $0.sources.localDNS : nil
        }
        let tags = SourceTags(
            localDNS: localDNS ?? numbers.next(),
            forwards: settings.forwards.map { forward in
                let index = old?.settings.forwards.firstIndex { $0.servers == forward.servers }
                return index.flatMap { old?.sources.forwards[$0] } ?? numbers.next()
            },
            providers: providers.map { provider in
                let index = old?.providers.firstIndex { $0.entry.answerIdentity == provider.entry.answerIdentity }
                return index.flatMap { old?.sources.providers[$0] } ?? numbers.nextProvider()
            })
        return (tags, numbers)
    }

    /// Whether numbers of `old` may mean other sources here: nothing that was cached under them may be used.
    func hasRenumbered(_ old: Composition) -> Bool { numbers.left > old.numbers.left }

    /// The search lists of the system, of all files in which there may be one.
    nonisolated static func searchDomains(_ settings: Configuration) -> [Name] {
        var domains: [Name] = []
        for file in settings.networkFiles {
            for domain in ResolvConf((try? readListFile(file)) ?? []).searchDomains {
                let domain = domain.lowercased
                if !domains.contains(domain) { domains.append(domain) }
            }
        }
        return domains
    }

    /// What decides how questions are answered.
    func policy(_ translation: Translation) -> ResolverPolicy {
        let routes = Self.routes(settings, translation)
        hosts.routes = routes
        return ResolverPolicy(
            localAnswers: localAnswers(), routes: routes, lines: lines(mode: routes.mode), sources: sources,
            lastResort: lastResort(), preresolve: settings.preset.preresolve, translation: translation)
    }

    /// What is answered without asking a source.
    func localAnswers() -> LocalAnswers {
        LocalAnswers(
            presets: Presets(settings.preset.always + settings.preset.hosts), families: settings.answers.prefer,
            designated: DesignatedResolver(settings.listen), hidesCanary: settings.answers.hideCanary)
    }

    /// Addresses for names that no source can answer.
    func lastResort() -> Presets { Presets(settings.preset.lastResort) }

    /// The names of the lists, and of addresses behind the network's translator.
    nonisolated static func routes(_ settings: Configuration, _ translation: Translation) -> RoutePolicy {
        RoutePolicy(
            mode: settings.route.mode, protect: settings.route.protect,
            protectsUnlisted: settings.route.protectsUnlisted, bypass: settings.route.bypass,
            forward: settings.forwards.map(\.suffixes), searchDomains: searchDomains(settings),
            providers: settings.providers.map(\.names),
            networkNames: settings.route.networkNames ?? NetworkNames.builtIn, translator: translation.prefix)
    }

    /// The sources that are asked; `onlyProvider` leaves the other ones out.
    func lines(mode: Mode, onlyProvider: String? = nil) -> SourceLines {
        let asked = providers.map(\.upstream).filter { onlyProvider == nil || $0.name == onlyProvider }
        let answers = settings.answers
        let filter = AddressFilter(
            bogus: answers.bogus, dropsPrivate: answers.dropsPrivate, privateNames: answers.privateNames)
        return SourceLines(
            mode: mode, providers: asked, filter: filter, probes: probes, localDNS: localDNS, forwarders: forwarders,
            checks: checks, certificateCheck: settings.localDNS.certificateCheck,
            unverified: settings.localDNS.unverified,
            // A provider that is asked alone shall answer itself.
            shared: onlyProvider == nil ? shared : nil,
            guardsServiceBindings: answers.guardsServiceBindings)
    }
}

extension Configuration.LocalDNSSettings {
    /// Whether answers are waited for and limited in the same way.
    fileprivate func answersLike(_ other: Configuration.LocalDNSSettings) -> Bool {
        timeout == other.timeout && maxTTL == other.maxTTL
    }

    /// Whether the same servers are found.
    fileprivate func findsLike(_ other: Configuration.LocalDNSSettings) -> Bool {
        groups == other.groups && resolvConf == other.resolvConf
    }
}

extension Presets {
    fileprivate init(_ entries: [PresetEntry]) {
        self.init()
        for entry in entries { add(entry.name, isWildcard: entry.isWildcard, addresses: entry.addresses) }
    }
}
