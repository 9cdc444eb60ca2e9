import Admin
import Configuration
import DNSCache
import DNSResolver
public import DNSServer
import DNSWire
import DiskCache
import Glibc
import HTTPDNS
import Platform
import Upstreams

/// What serves: the server, the resolver, the cache and the sources, by the configuration and the policy in force.
///
/// `ServiceChanges` changes it, `Administration` tells of it.
@Loop
final class DNSService {
    let loop: EventLoop
    let log: LogOutput
    let events: EventLog
    let server: Server
    let resolver: Resolver
    let store: AnswerStore
    let reported: BadAddresses
    let memory: MemoryCache
    /// Nil when answers are cached in memory alone.
    let disk: DiskCache?
    let generation = PolicyGeneration()
    /// Where no carrier is.
    let paths = NetworkPaths()
    let budget: MemoryBudget
    /// Nil when there is no collector.
    let dnstap: DnstapWatch?
    /// Nil when nothing is served encrypted.
    let certificate: CertificateKeeper?
    /// The accounts of the HTTPDNS service; nil when it is not served.
    let vendors: VendorAccounts?
    private(set) var composition: Composition
    /// What is known of this network's translator.
    private var foundTranslation = Translation.none
    /// When the present network began, and a number of cached answers from before; as in `PolicyIdentity`.
    private var presentNetwork = (began: Instant(nanoseconds: .min), earlier: UInt32(0))
    private var routes: RoutePolicy {
        didSet { composition.hosts.routes = routesInForce }
    }
    private let rules: SharedClientRules

    /// - Parameters:
    ///   - settings: with the signed policy in force.
    ///   - sockets: bound ones; the server closes them.
    ///   - isDiskPaused: whether another process has the file of the cache on disk.
    init(
        _ settings: Configuration, on sockets: ServerSockets, presenting certificate: TLSFiles.Content?,
        descriptors: DescriptorBudget, budget: MemoryBudget, isDiskPaused: Bool, log: LogOutput, events: EventLog,
        loop: EventLoop
    ) {
        self.budget = budget
        self.log = log
        self.events = events
        self.loop = loop
        paths.translator = settings.answers.dns64?.prefix
        let freshness = FreshnessPolicy(settings.cache)
        memory = MemoryCache(memory: budget.cache(settings.cache.memory), policy: freshness)
        // First of all: the file is opened on another thread meanwhile.
        disk = DiskCache.start(settings, memory: memory, isPaused: isDiskPaused, log: log)
        composition = Composition(
            settings, paths: paths,
            limit: LocalDNSLimit(maximum: min(descriptors.queries, budget.flights)), loop: loop, events: events)
        reported = BadAddresses(clock: loop)
        let policy = composition.policy(settings.answers.dns64 ?? Translation.none)
        store = AnswerStore(
            memory: memory, freshness: freshness, generation: generation, policy: policy, badAddresses: reported,
            clock: loop)
        routes = policy.routes
        store.archive = disk
        resolver = Resolver(
            policy: policy, store: store, clock: loop, flightLimit: budget.flights, report: composition.report)
        rules = SharedClientRules(ClientRules(settings, policy))
        var limits = ServerLimits()
        limits.connections = descriptors.connections
        limits.encryptedConnections = min(descriptors.encrypted, budget.encrypted)
        limits.pending = budget.queries
        limits.mailbox = min(limits.mailbox, budget.queries)
        limits.crowd = max(1, min(limits.crowd, descriptors.queries / 2, budget.flights / 2))
        limits.buffered = budget.buffered
        dnstap = DnstapWatch(settings, producers: sockets.dnstapProducers, clock: loop, events: events)
        server = Server(
            sockets: sockets, loop: loop, cache: memory, generation: generation, rules: rules, responder: resolver,
            limits: limits, httpsPath: settings.listen.httpsPath, dnstap: dnstap?.dnstap, events: events)
        self.certificate = certificate.map { [server] in
            CertificateKeeper(
                $0, for: server.tls, on: loop, clock: loop, events: events, time: { Int64(time(nil)) })
        }
        vendors = VendorAccounts(settings, isPublic: { [resolver] in resolver.isPublic($0) }, events: events)
        vendors.map { VendorRequests.serve($0, on: server) }
        followComposition(replacing: nil)
        // A clock that was never set is heard of at once.
        _ = composition.timeOfDay.doubt
    }

    /// The lists, with the mode that the switch has put in force.
    var routesInForce: RoutePolicy {
        var routes = routes
        if !resolver.isOn { routes.mode = .localDNSOnly }
        return routes
    }

    /// What the network translates IPv4 addresses by, in force.
    var translation: Translation { composition.settings.answers.dns64 ?? foundTranslation }

    // MARK: Changes

    /// Serves by another configuration from now on; flights under way end by the old one, for the clients that wait already.
    ///
    /// Listen addresses, threads and the user stay as they are, whatever `settings` says.
    ///
    /// - Returns: the sources until now.
    func replaceSources(by settings: Configuration) -> Composition {
        let old = composition
        let new = Composition(settings, replacing: old, paths: paths, loop: loop, events: events)
        if new.localDNS !== old.localDNS { new.readLocalDNSAgain() }
        let policy = new.policy(settings.answers.dns64 ?? foundTranslation)
        // Hints and addresses that were passed on must not outlive the leave to pass them on.
        let mayGiveCached = settings.answers.answerIdentity == old.settings.answers.answerIdentity
        if new.hasRenumbered(old) || !mayGiveCached { memory.removeAll() }
        let hasOtherSources =
            new.sources != old.sources || settings.localDNS != old.settings.localDNS
            || settings.answers != old.settings.answers || policy.routes.mode != routes.mode
        let hasOtherNames =
            policy.routes != routes || settings.listen.allow != old.settings.listen.allow
            || settings.preset != old.settings.preset
        rules.replace(with: ClientRules(settings, policy))
        vendors?.take(settings)
        resolver.replace(
            with: policy, freshness: FreshnessPolicy(settings.cache),
            change: hasOtherSources ? .sources : hasOtherNames ? .names : .nothing)
        composition = new
        routes = policy.routes
        followComposition(replacing: old)
        resolver.preresolve()
        new.findLoops(with: resolver.probes)
        return old
    }

    /// Continues from the calls of an account that no provider has: a reload may bring it back.
    func restore(_ calls: CallQuota.Record, ofAbsent account: String) { composition.calls[account] = calls }

    /// Has everything go by the composition in force.
    private func followComposition(replacing old: Composition?) {
        let settings = composition.settings
        store.rotatesAddresses = settings.answers.rotate
        server.tls.proxies = AccessList(settings.listen.proxies)
        resolver.limitMisses(settings.missLimits)
        composition.countCalls(replacing: old)
        old?.closeShared(unlessUsedBy: composition)
        composition.shared?.store.start()
        tellDiskOfPolicy()
        for provider in composition.providers { provider.upstream.start() }
    }

    /// Gives the cache the memory and the rules of the configuration in force.
    func rebuildCache() async {
        let cache = composition.settings.cache
        await store.walks.rebuild(memory: budget.cache(cache.memory), freshness: FreshnessPolicy(cache))
    }

    /// Decides again where the search list of the system has changed, which takes names away from the providers.
    ///
    /// - Returns: whether it has.
    func takeRoutes() -> Bool {
        guard !routes.hasSearchDomains(Composition.searchDomains(composition.settings)) else { return false }
        takePolicy()
        return true
    }

    /// Answers by what was found of the network's translator from now on.
    func takeTranslation(_ found: Translation) {
        foundTranslation = found
        reachServices()
        takePolicy()
        tellDiskOfPolicy()
    }

    /// Answers by another policy of the same configuration from now on.
    private func takePolicy() {
        let policy = composition.policy(translation)
        routes = policy.routes
        resolver.replace(
            with: policy, freshness: FreshnessPolicy(composition.settings.cache), change: .sources)
    }

    /// Has services that have IPv4 addresses alone asked by the prefix in force, or not by one any more.
    func reachServices() {
        guard paths.translator != translation.prefix else { return }
        paths.translator = translation.prefix
        for provider in composition.providers { provider.upstream.networkChanged() }
    }

    /// The ways to all that is asked: providers, LocalDNS and the servers of `forward` entries, and the Internet.
    var ways: NetworkWays {
        let servers = ([composition.localDNS] + composition.forwarders).flatMap(\.servers).map(\.address)
        return paths.ways(to: servers + composition.providers.flatMap(\.upstream.nextHops))
    }

    /// Starts again with everything that another network makes doubtful.
    ///
    /// - Parameter hasOtherServers: whether LocalDNS has done so already.
    func networkChanged(hasOtherServers: Bool) {
        composition.networkChanged(hasOtherServers: hasOtherServers)
        resolver.networkChanged()
        composition.checks.journal.networkChanged()
        presentNetwork = (loop.now, generation.current &- 1)
    }

    /// Switches HTTPDNS on or off, until the process ends.
    func turn(on isOn: Bool) {
        guard isOn != resolver.isOn else { return }
        resolver.turn(on: isOn)
        composition.hosts.routes = routesInForce
        tellDiskOfPolicy()
        log.logger.log(
            isOn ? .switchOn : .switchOff,
            isOn
                ? "HTTPDNS is switched on again"
                : "HTTPDNS is switched off: its names go to LocalDNS, until it is switched on")
    }

    /// Tells the disk which policy is in force.
    func tellDiskOfPolicy() {
        var identity = composition.identity(
            routes: routesInForce, localAnswers: resolver.localAnswers, translation: translation,
            generation: generation.current)
        (identity.networkBegan, identity.earlierNetwork) = presentNetwork
        let cache = composition.settings.cache
        (identity.freshness, identity.flushInterval) = (FreshnessPolicy(cache), cache.disk.flushInterval)
        disk?.adopt(identity)
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
