import Configuration
import DNSCache
import DNSResolver
import DNSServer
import Logs
import Platform
import Scheduling
import Upstreams

/// The parts of the server while it runs: what stays as long as the process, and what a reload replaces.
@Loop
final class DNSService {
    let startedAt: Instant
    let loop: EventLoop
    let server: Server
    let resolver: Resolver
    let store: AnswerStore
    let reported: BadAddresses
    let memory: MemoryCache
    let generation = PolicyGeneration()
    private(set) var composition: Composition
    /// How often the configuration was read again and taken.
    private(set) var reloads = 0
    /// Where the configuration is read again.
    let source: ConfigurationSource
    let log: LogOutput
    let events: EventLog
    let reloadTurn = Turnstile()
    private var routes: RoutePolicy
    private let access: SharedAccessList

    /// - Parameters:
    ///   - source: where `settings` came from.
    ///   - sockets: bound ones; the server closes them.
    init(
        _ settings: Configuration, from source: ConfigurationSource, on sockets: ServerSockets,
        log: LogOutput, loop: EventLoop
    ) {
        self.source = source
        self.log = log
        self.loop = loop
        let events = EventLog(log.logger, clock: loop)
        self.events = events
        startedAt = loop.now
        composition = Composition(settings, loop: loop, events: events)
        let freshness = FreshnessPolicy(settings.cache)
        memory = MemoryCache(memory: settings.cache.memory, policy: freshness)
        reported = BadAddresses(clock: loop)
        store = AnswerStore(
            memory: memory, freshness: freshness, generation: generation, sources: composition.sources,
            badAddresses: reported, clock: loop)
        let policy = composition.policy()
        routes = policy.routes
        resolver = Resolver(policy: policy, cache: store, clock: loop) { events.report(LogMessage($0)) }
        access = SharedAccessList(AccessList(settings.listen.allow))
        for provider in composition.providers { provider.upstream.start() }
        server = Server(
            sockets: sockets, loop: loop, cache: memory, generation: generation, access: access, responder: resolver,
            events: events)
        logQueries()
        server.feed.turn(on: settings.log.queries)
    }

    /// Serves by another configuration from now on; flights under way end by the old one, for those who wait already.
    ///
    /// Listen addresses, threads and the user stay as they are, whatever `settings` says.
    func replaceConfiguration(with settings: Configuration) async {
        let old = composition
        let new = Composition(settings, replacing: old, loop: loop, events: events)
        new.findLocalDNSAgain(after: old)
        let policy = new.policy()
        let freshness = FreshnessPolicy(settings.cache)
        if new.hasRenumbered(old) { memory.removeAll() }
        let isNewGeneration =
            policy.routes != routes || new.sources != old.sources || settings.localDNS != old.settings.localDNS
            || settings.listen.allow != old.settings.listen.allow || settings.preset != old.settings.preset
            || settings.answers != old.settings.answers
        access.replace(with: AccessList(settings.listen.allow))
        resolver.replace(with: policy, freshness: freshness, isNewGeneration: isNewGeneration)
        composition = new
        routes = policy.routes
        reloads += 1
        log.set(settings.log.style, level: settings.log.threshold)
        server.feed.turn(on: settings.log.queries)
        for provider in new.providers { provider.upstream.start() }
        resolver.preresolve()
        if settings.cache != old.settings.cache {
            await store.rebuild(memory: settings.cache.memory, freshness: freshness)
        }
    }
}

extension Composition {
    /// Looks for the network's resolvers again where LocalDNS was taken over; keeps the old ones when there are none.
    fileprivate func findLocalDNSAgain(after old: Composition) {
        guard localDNS === old.localDNS, let found = try? Self.localDNSServers(settings) else { return }
        if found != localDNS.servers, !localDNS.servers.isEmpty { localDNS.replaceServers(found) }
    }
}

extension FreshnessPolicy {
    fileprivate init(_ cache: Configuration.CacheSettings) {
        self.init(
            minTTL: cache.minTTL, maxTTL: cache.maxTTL, negativeTTL: cache.negativeTTL, staleMax: cache.stale.max,
            staleWait: cache.stale.wait, prefetches: cache.prefetch)
    }
}

/// The resolver is what the server asks; neither target knows the other.
extension Resolver: QueryResponder {}
