import Admin
import Configuration
import DNSCache
import DNSResolver
import DNSServer
import DNSWire
import DiskCache
import Glibc
import HTTPDNS
import Logs
import Platform
import Scheduling
import Upstreams

/// The parts of the server while it runs: what stays as long as the process, and what a reload replaces.
@Loop
final class DNSService {
    let startedAt: Instant
    /// The same in seconds since 1970, by the clock of that time: metrics of one process must have one start.
    let startedTime: Double
    let loop: EventLoop
    let server: Server
    let resolver: Resolver
    let store: AnswerStore
    let reported: BadAddresses
    let memory: MemoryCache
    /// Nil when answers are cached in memory alone.
    let disk: DiskCache?
    let generation = PolicyGeneration()
    /// Where no carrier is.
    let paths: NetworkPaths
    private(set) var composition: Composition
    /// As the file has it, before the signed policy.
    private(set) var base: Configuration
    let policy: PolicyKeeper
    /// How often the configuration was read again and taken.
    private(set) var reloads = 0
    /// Why the last reload was refused; empty when it was not.
    var reloadErrors: [String] = []
    /// Where the configuration is read again.
    let source: ConfigurationSource
    let budget: MemoryBudget
    let log: LogOutput
    let events: EventLog
    let reloadTurn = Turnstile()
    /// Nil when there is no collector.
    let dnstap: Dnstap?
    /// Clients of the control API that see the queries.
    let listeners: QueryListeners
    let localPrograms = LocalPrograms()
    /// The names that are asked for most, where they may be shown.
    var names: HottestNames
    private var routes: RoutePolicy {
        didSet { composition.hosts.routes = routesInForce }
    }
    var network: NetworkMonitor?
    /// Nil until the network is watched.
    var prefixDiscovery: PrefixDiscovery?
    /// The prefix that was logged last.
    var foundPrefix: NAT64Prefix?
    var networkChanges = NetworkChanges()
    /// When the present network began, and a number of cached answers from before; as in `PolicyIdentity`.
    var presentNetwork = (began: Instant(nanoseconds: .min), earlier: UInt32(0))
    /// Whether the machine's programs ask this server, as found last.
    var machineResolver = MachineResolver.State.off
    /// Where there is no cache on disk.
    let switchFile: SwitchFile?
    /// Whether HTTPDNS has been switched since the start.
    var isSwitchUsed = false
    /// Whether it takes no more queries.
    var isStopping = false
    private let rules: SharedClientRules
    /// Nil when nothing is served encrypted.
    let certificate: CertificateKeeper?
    /// The accounts of the HTTPDNS service; nil when it is not served.
    let vendors: VendorAccounts?
    /// Passes everything to another process.
    var onHandover: (@Loop () async -> HandoverReport?)?

    /// - Parameters:
    ///   - source: where `settings` came from.
    ///   - sockets: bound ones; the server closes them.
    ///   - certificate: what encrypted listeners present, if there are any.
    ///   - descriptors: how many of them clients and LocalDNS may use.
    ///   - budget: how much memory the parts may use.
    init(
        _ settings: Configuration, from source: ConfigurationSource, on sockets: ServerSockets,
        presenting certificate: TLSFiles.Content?, descriptors: DescriptorBudget, budget: MemoryBudget, log: LogOutput,
        loop: EventLoop
    ) {
        self.source = source
        self.budget = budget
        self.log = log
        self.loop = loop
        let events = EventLog(log.logger, clock: loop)
        self.events = events
        listeners = QueryListeners(clock: loop)
        base = settings
        switchFile = SwitchFile(settings)
        policy = PolicyKeeper(settings, clock: loop, events: events)
        let settings = policy.inForce?.applied(to: settings) ?? settings
        startedAt = loop.now
        names = HottestNames(at: loop.now)
        startedTime = Double(Int64(time(nil)))
        paths = NetworkPaths()
        paths.translator = Translation(settings.answers.dns64, found: .none).prefix
        let freshness = FreshnessPolicy(settings.cache)
        memory = MemoryCache(memory: budget.cache(settings.cache.memory), policy: freshness)
        // First of all: the file is opened on another thread meanwhile.
        disk = Self.disk(settings, memory: memory, freshness: freshness, log: log)
        composition = Composition(
            settings, paths: paths,
            limit: LocalDNSLimit(maximum: min(descriptors.queries, budget.flights)), loop: loop, events: events)
        reported = BadAddresses(clock: loop)
        let policy = composition.policy(Translation(settings.answers.dns64, found: .none))
        store = AnswerStore(
            memory: memory, freshness: freshness, generation: generation, sources: composition.sources,
            isTranslating: policy.translation != .none, badAddresses: reported, clock: loop)
        routes = policy.routes
        store.rotatesAddresses = settings.answers.rotate
        store.archive = disk
        resolver = Resolver(
            policy: policy, store: store, clock: loop, flightLimit: budget.flights, report: composition.report)
        resolver.limitMisses(settings.missLimits)
        rules = SharedClientRules(ClientRules(settings, policy))
        composition.countCalls()
        for provider in composition.providers { provider.upstream.start() }
        composition.shared?.store.start()
        var limits = ServerLimits()
        limits.connections = descriptors.connections
        limits.encryptedConnections = min(descriptors.encrypted, budget.encrypted)
        limits.pending = budget.queries
        limits.crowd = max(1, min(limits.crowd, descriptors.queries / 2, budget.flights / 2))
        limits.buffered = budget.buffered
        dnstap = Self.dnstap(settings, producers: sockets.dnstapProducers, events: events)
        server = Server(
            sockets: sockets, loop: loop, cache: memory, generation: generation, rules: rules, responder: resolver,
            limits: limits, httpsPath: settings.listen.httpsPath, dnstap: dnstap, events: events)
        server.tls.proxies = AccessList(settings.listen.proxies)
        self.certificate = certificate.map { [server] in
            CertificateKeeper(
                $0, for: server.tls, on: loop, clock: loop, events: events, time: { Int64(time(nil)) })
        }
        vendors = VendorAccounts(settings, isPublic: { [resolver] in resolver.isPublic($0) }, events: events)
        vendors?.serve(on: server)
        // Not of what is in force of both: lists that were merged have other places.
        resolver.placeOfRule = { [unowned self] in
            self.policy.place(of: $0) ?? base.place(of: $0, file: self.source.path)
        }
        tellDiskOfPolicy()
        reportQueries()
        turnFeed()
        watchDnstap()
        keepWhatIsLearned()
        // A clock that was never set is heard of at once.
        _ = composition.timeOfDay.doubt
        Loop.spawn { [self] in await restoreState() }
    }

    /// The lists, with the mode that the switch has put in force.
    var routesInForce: RoutePolicy {
        var routes = routes
        if !resolver.isOn { routes.mode = .localDNSOnly }
        return routes
    }

    /// Serves by a configuration that was read again, and the signed policy.
    ///
    /// - Parameter stored: the stored policy, by the keys of `settings`.
    func take(_ settings: Configuration, stored: SignedPolicy?) async {
        base = settings
        reloads += 1
        policy.take(settings, stored: stored)
        await putInForce()
        policy.resume()
    }

    /// Serves by the signed policy, after that has changed.
    func takePolicy() async { await reloadTurn.pass { await self.putInForce() } }

    private func putInForce() async {
        guard let policy = policy.decide() else { return await replaceConfiguration(with: base) }
        // On a thread of its own: lists are long.
        let merged = try? await NamedThread.run("policy") { [base] in policy.applied(to: base) }
        await replaceConfiguration(with: merged ?? policy.applied(to: base))
    }

    /// Serves by another configuration from now on; flights under way end by the old one, for the clients that wait already.
    ///
    /// Listen addresses, threads and the user stay as they are, whatever `settings` says.
    private func replaceConfiguration(with settings: Configuration) async {
        // First what has changed without the configuration: afterwards the watch of the files finds nothing to report.
        let isOtherNetwork = network != nil && noticeNetwork(.files)
        let old = composition
        let new = Composition(settings, replacing: old, paths: paths, loop: loop, events: events)
        if new.localDNS !== old.localDNS { new.readLocalDNSAgain() }
        let policy = new.policy(Translation(settings.answers.dns64, found: prefixDiscovery?.translation ?? .none))
        let freshness = FreshnessPolicy(settings.cache)
        // Hints and addresses that were passed on must not outlive the leave to pass them on.
        let mayGiveCached = settings.answers.answerIdentity == old.settings.answers.answerIdentity
        if new.hasRenumbered(old) || !mayGiveCached { memory.removeAll() }
        let isNewGeneration =
            policy.routes != routes || new.sources != old.sources || settings.localDNS != old.settings.localDNS
            || settings.listen.allow != old.settings.listen.allow || settings.preset != old.settings.preset
            || settings.answers != old.settings.answers
        rules.replace(with: ClientRules(settings, policy))
        server.tls.proxies = AccessList(settings.listen.proxies)
        vendors?.take(settings)
        store.rotatesAddresses = settings.answers.rotate
        resolver.replace(with: policy, freshness: freshness, isNewGeneration: isNewGeneration)
        resolver.limitMisses(settings.missLimits)
        composition = new
        if isOtherNetwork { self.policy.networkChanged() }
        new.countCalls(replacing: old)
        old.closeShared(unlessUsedBy: new)
        new.shared?.store.start()
        routes = policy.routes
        tellDiskOfPolicy()
        keepWhatIsLearned()
        log.set(settings.log.style, level: settings.log.threshold)
        turnFeed()
        if !countsNames { names = HottestNames(at: loop.now) }
        for provider in new.providers { provider.upstream.start() }
        resolver.preresolve()
        new.findLoops(with: resolver.probes)
        if settings.answers.dns64 != old.settings.answers.dns64 || new.localDNS !== old.localDNS
            || settings.providers.isEmpty != old.settings.providers.isEmpty
        {
            discoverPrefix()
            reachServices()
        }
        network?.watch(Composition.networkFiles(settings))
        if settings.cache != old.settings.cache {
            await store.rebuild(memory: budget.cache(settings.cache.memory), freshness: freshness)
        }
    }

    /// Decides again where the search list of the system has changed, which takes names away from the providers.
    ///
    /// - Returns: whether it has.
    func takeRoutes() -> Bool {
        guard !routes.hasSearchDomains(Composition.searchDomains(composition.settings)) else { return false }
        take(composition.policy(translation))
        return true
    }

    /// Answers by another policy of the same configuration from now on.
    func take(_ policy: ResolverPolicy) {
        routes = policy.routes
        resolver.replace(
            with: policy, freshness: FreshnessPolicy(composition.settings.cache), isNewGeneration: true)
    }
}

extension ClientRules {
    fileprivate init(_ settings: Configuration, _ policy: ResolverPolicy) {
        self.init(
            access: AccessList(settings.listen.allow), scoping: policy.lines.clientScoping,
            tokens: AccessTokens(settings.listen.tokens.map(\.value)),
            cookies: ServerCookies(
                shared: settings.listen.cookieSecrets.compactMap { TextDecoding.hexadecimal($0.value) }),
            datagramRate: settings.listen.udpRate)
    }
}

/// The resolver is what the server asks; neither target knows the other.
extension Resolver: QueryResponder {}
