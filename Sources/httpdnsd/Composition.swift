import Configuration
import DNSCache
import DNSResolver
import DNSServer
import DNSWire
import Glibc
import HTTPDNS
import Logging
import Platform
import Scheduling
import Upstreams

/// The one place where the parts are put together, from the configuration.
@Loop
struct Composition {
    private let settings: Configuration
    private let loop: EventLoop
    private let localDNS: LocalDNS
    private let forwarders: [LocalDNS]
    private let providers: [HTTPDNSUpstream]
    private let report: @Loop (ResolverEvent) -> Void

    init(_ settings: Configuration, loop: EventLoop, logger: Logger) {
        self.settings = settings
        self.loop = loop
        let limit = LocalDNSChannelLimit()
        let localDNS = LocalDNS(servers: [], timeout: settings.localDNS.timeout, limit: limit, loop: loop)
        localDNS.findServers = {
            do throws(LocalDNSServersError) {
                return try Self.localDNSServers(settings)
            } catch {
                // At boot the network may not be there yet; the providers may be all the same.
                logger.warning("localdns.servers: \(error)")
                return []
            }
        }
        self.localDNS = localDNS
        forwarders = settings.forwards.map { forward in
            LocalDNS(
                name: "forward to \(forward.servers.map(\.description).joined(separator: ", "))",
                servers: forward.servers.map { LocalDNSServer($0) }, timeout: settings.localDNS.timeout, limit: limit,
                loop: loop)
        }
        providers = settings.providers.compactMap { entry in
            HTTPDNSSettings(entry).map {
                HTTPDNSUpstream($0, loop: loop, bootstrap: localDNS, timeOfDay: { Int64(time(nil)) })
            }
        }
        report = { event in logger.warning("\(event)") }
    }

    /// The resolvers of the network that are not us.
    nonisolated static func localDNSServers(_ settings: Configuration) throws(LocalDNSServersError) -> [LocalDNSServer]
    {
        switch settings.localDNS.servers {
        case .list(let endpoints):
            return endpoints.map { LocalDNSServer($0) }
        case .auto:
            var servers = Upstreams.LocalDNSServers(
                listeners: settings.listen.addresses.map { .init($0.address, port: $0.port) },
                resolvConf: settings.localDNS.resolvConf)
            return try servers.find().servers
        }
    }

    /// The search list of the system, as far as it takes names away from the providers.
    nonisolated static func searchDomains(_ settings: Configuration) -> [Name] {
        ResolvConf(readListFile(settings.localDNS.resolvConf) ?? []).searchDomains.filter { $0.labels.count > 1 }
    }

    /// The names of the lists.
    func policy() -> RoutePolicy {
        RoutePolicy(
            mode: Mode(settings.route.mode), protect: settings.route.protect, bypass: settings.route.bypass,
            forward: settings.forwards.map(\.suffixes),
            searchDomains: Self.searchDomains(settings),
            providerNames: providers.flatMap(\.names))
    }

    /// Who is asked; `onlyProvider` leaves the other ones out.
    func strategy(mode: Mode, onlyProvider: String? = nil) -> Strategy {
        let asked = providers.filter { onlyProvider == nil || $0.name == onlyProvider }
        let selector = ProviderSelector(providers: asked, clock: loop, report: report)
        return Strategy(
            mode: mode, selector: selector, localDNS: localDNS, forwarders: forwarders, clock: loop)
    }

    /// The names of the providers, in the order in which they are asked.
    var providerNames: [String] { providers.map(\.name) }

    /// What a source is called in output.
    func name(of source: Source) -> String {
        switch source {
        case .localDNS: localDNS.name
        case .forward(let index): forwarders[index].name
        case .provider(let index): providers[index].name
        case .rule: "a rule"
        }
    }

    /// A server on sockets that are bound.
    func server(on sockets: ServerSockets, logger: Logger) -> Server {
        let cache = settings.cache
        let freshness = FreshnessPolicy(
            minTTL: cache.minTTL, maxTTL: cache.maxTTL, negativeTTL: cache.negativeTTL, staleMax: cache.stale.max,
            staleWait: cache.stale.wait)
        let memory = MemoryCache(memory: cache.memory, policy: freshness)
        let generation = PolicyGeneration()
        let policy = policy()
        let resolver = Resolver(
            localAnswers: LocalAnswers(), policy: policy,
            cache: AnswerStore(memory: memory, freshness: freshness, generation: generation, clock: loop),
            strategy: strategy(mode: policy.mode), clock: loop)
        for provider in providers { provider.start() }
        return Server(
            sockets: sockets, loop: loop, cache: memory, generation: generation,
            access: AccessList(settings.listen.allow), responder: resolver, logger: logger)
    }
}

extension Mode {
    fileprivate init(_ mode: RouteMode) {
        self =
            switch mode {
            case .httpdnsFirst: .httpdnsFirst
            case .localDNSFirst: .localdnsFirst
            case .httpdnsOnly: .httpdnsOnly
            case .localDNSOnly: .localdnsOnly
            }
    }
}

/// The resolver is what the server asks; neither target knows the other.
extension Resolver: QueryResponder {}
