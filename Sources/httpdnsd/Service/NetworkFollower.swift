import Admin
import Configuration
import DNSResolver
import DNSWire
import Logging
import Platform
import Upstreams

/// Has the service follow the network: its resolvers and search list, the prefix by which IPv4 addresses are reached where
/// there is IPv6 alone (NAT64), and everything that another network makes doubtful.
///
/// That it is another one shows by addresses, routes and links, by the files that name its resolvers, and by a sleep of the
/// machine.
@Loop
final class NetworkFollower {
    /// Addresses, routes and files change in bursts. The kernel itself may tell of a carrier only after a second, and a
    /// second and a half after a cable is plugged in names must be answered again.
    private static let quiet = Duration.milliseconds(100)
    private static let longest = Duration.seconds(1)

    /// What gave a change away.
    private struct Signs: OptionSet {
        let rawValue: UInt8
        /// Addresses, routes, links: of the ways to what is asked.
        static let links = Signs(rawValue: 1)
        /// The files were written or replaced, perhaps with the same content.
        static let files = Signs(rawValue: 2)
        static let sleep = Signs(rawValue: 4)
        /// Others, which may be of a new way.
        static let otherLinks = Signs(rawValue: 8)
    }

    private let service: DNSService
    private var signs: Signs = []
    /// Nil until the network is watched.
    private var debounce: Debounce?
    private var links: NetworkWatch?
    /// The ways to what is asked, as found last.
    private var ways: NetworkWays
    private var resume: ResumeWatch?
    private var files: FileWatch?
    /// Nil until the network is watched.
    private var prefixDiscovery: PrefixDiscovery?
    /// The prefix that was logged last.
    private var loggedPrefix: NAT64Prefix?
    /// How often the network has changed, and when it last did.
    private(set) var changes = (count: 0, last: Instant?.none)
    /// Whether the machine's programs ask this server, as found last.
    private(set) var machineResolver = MachineResolver.State.off
    /// Called after the network has become another one, but for `noticeFiles()`.
    private let onChange: @Loop () -> Void

    private var composition: Composition { service.composition }

    init(of service: DNSService, onChange: @escaping @Loop () -> Void) {
        self.service = service
        self.onChange = onChange
        ways = service.ways
    }

    /// Takes notice of the network from now on, and looks whether LocalDNS forwards to us. Once, after the server listens.
    func start() {
        composition.readLocalDNSAgain()
        composition.findLoops(with: service.resolver.probes)
        readMachineResolver()
        debounce = Debounce(quiet: Self.quiet, longest: Self.longest, clock: service.loop) { [unowned self] in
            let seen = signs
            signs = []
            if notice(seen) { onChange() }
        }
        links = watch { () throws(SystemError) in
            try NetworkWatch(on: service.loop, paths: service.paths) { [unowned self] in
                saw(ways.areTouched(by: $0) ? .links : .otherLinks)
            }
        }
        resume = watch { () throws(SystemError) in
            try ResumeWatch(on: service.loop) { [unowned self] _ in saw(.sleep) }
        }
        watchFiles()
        prefixDiscovery = PrefixDiscovery(clock: service.loop) { [unowned self] in
            composition.localDNS.begin($0, delayed: {}, done: $1)
        } onChange: { [unowned self] in
            takeTranslation($0)
        }
        discoverPrefix()
    }

    /// Watches the files of the configuration in force, in place of others.
    private func watchFiles() {
        files?.cancel()
        files = watch { () throws(SystemError) in
            try FileWatch(composition.settings.networkFiles, on: service.loop) { [unowned self] in
                saw(.files)
            }
        }
    }

    /// Watches what can be watched; of the rest the log hears once.
    private func watch<Watch>(_ make: () throws(SystemError) -> Watch) -> Watch? {
        do throws(SystemError) {
            return try make()
        } catch {
            service.events.report(
                .networkUnwatched, about: error.operation,
                "\(error): some changes of the network go unnoticed; a reload takes them in")
            return nil
        }
    }

    private func saw(_ sign: Signs) {
        signs.insert(sign)
        debounce?.touch()
    }

    /// Starts again with everything that another network makes doubtful.
    ///
    /// Files that were written with the same content are no change, nor are links, addresses and routes that lead to nothing
    /// which is asked: containers and services bring and take them.
    ///
    /// - Returns: whether it is another network.
    private func notice(_ seen: Signs) -> Bool {
        readMachineResolver()
        let hasOtherServers = composition.readLocalDNSAgain()
        let hasOtherRoutes = service.takeRoutes()
        var signs = seen
        let earlier = ways
        ways = service.ways
        if signs.remove(.otherLinks) != nil, ways.differ(from: earlier) { signs.insert(.links) }
        guard !signs.isDisjoint(with: [.links, .sleep]) || hasOtherServers || hasOtherRoutes else { return false }
        service.networkChanged(hasOtherServers: hasOtherServers)
        discoverPrefix()
        service.tellDiskOfPolicy()
        service.resolver.preresolve()
        changes.count += 1
        changes.last = service.loop.now
        tell(of: signs)
        return true
    }

    // MARK: A reload

    /// Takes in what has changed without the configuration, before that is replaced: afterwards the watch of the files finds
    /// nothing to report.
    ///
    /// - Returns: whether it is another network.
    func noticeFiles() -> Bool { debounce != nil && notice(.files) }

    /// Follows the network by the configuration that is in force now.
    func configurationChanged(from old: Composition) {
        if composition.settings.answers.dns64 != old.settings.answers.dns64
            || composition.localDNS !== old.localDNS
            || composition.settings.providers.isEmpty != old.settings.providers.isEmpty
        {
            discoverPrefix()
            service.reachServices()
        }
        ways = service.ways
        if debounce != nil { watchFiles() }
    }

    // MARK: The translator's prefix

    /// Looks for the network's prefix from the start, where it is wanted: while this machine has a way to IPv4 of its own, no
    /// other one is needed, and an attacker in place of LocalDNS must not offer one.
    private func discoverPrefix() {
        let isWanted =
            composition.settings.answers.dns64 == nil && !composition.providers.isEmpty && service.paths.isIPv6Only
        prefixDiscovery?.begin(isWanted: isWanted)
    }

    /// Answers by the prefix that was found, or without one, from now on.
    private func takeTranslation(_ found: Translation) {
        service.takeTranslation(found)
        let prefix = service.translation.prefix
        // While it is looked for again nothing is known.
        guard composition.settings.answers.dns64 == nil, found != .awaited, loggedPrefix != prefix else { return }
        loggedPrefix = prefix
        let text = prefix.map {
            "this network has IPv6 alone and translates IPv4 addresses by \($0): names without IPv6 addresses get such"
        }
        service.log.logger.log(
            .networkNAT64, text ?? "this network does not translate IPv4 addresses any more, or has IPv4 of its own",
            ["prefix": "\(prefix?.description ?? "")"])
    }

    // MARK: The machine's programs

    /// Notices when another program has written resolv.conf since `resolver on`: programs may ask a hijacked server again.
    private func readMachineResolver() {
        let machine = MachineResolver(files: MachineFiles(root: ""), file: composition.settings.localDNS.resolvConf)
        let state = machine.state
        defer { machineResolver = state }
        guard state == .rewritten, machineResolver != .rewritten else { return }
        let servers = machine.servers.joined(separator: ", ")
        let (what, mend) = machine.undoing
        service.events.report(
            .resolverRewritten,
            "\(what) since `httpdnsd resolver on`: programs ask \(servers.isEmpty ? "no server" : servers); \(mend)",
            ["servers": "\(servers)"])
    }

    private func tell(of signs: Signs) {
        var causes: [String] = []
        if signs.contains(.links) { causes.append("addresses or routes") }
        if signs.contains(.files) { causes.append("its list of resolvers") }
        if signs.contains(.sleep) { causes.append("after a sleep of the machine") }
        let cause = causes.joined(separator: ", ")
        let servers = composition.localDNS.servers.map(\.description).joined(separator: ", ")
        service.events.report(
            .networkChanged,
            "the network has changed (\(cause)); LocalDNS \(servers.isEmpty ? "has no server" : "is \(servers)")",
            ["cause": "\(cause)", "servers": "\(servers)"])
    }
}

extension Composition {
    /// Looks for the network's resolvers again; keeps those it has when there are none. Returns whether there are others now.
    @discardableResult
    func readLocalDNSAgain() -> Bool {
        guard let found = try? settings.localDNSServers() else { return false }
        return localDNS.useServers(found)
    }

    /// Looks which servers forward to us; those known already are looked at again.
    func findLoops(with probes: LoopProbes) {
        for upstream in [localDNS] + forwarders { upstream.findLoops(with: probes) }
    }

    /// Makes all sources start again.
    ///
    /// - Parameter hasOtherServers: whether LocalDNS has done so already.
    func networkChanged(hasOtherServers: Bool) {
        if !hasOtherServers { localDNS.networkChanged() }
        for forwarder in forwarders { forwarder.networkChanged() }
        for provider in providers { provider.upstream.networkChanged() }
        shared?.store.networkChanged()
        // The same address may lead elsewhere now.
        checks.forgetAll()
    }
}

extension Translation {
    /// Nil while there is none.
    var prefix: NAT64Prefix? { if case .prefix(let prefix) = self { prefix } else { nil } }
}
