import Configuration
import DNSResolver
import DNSWire
import Logging
import Logs
import Platform
import Scheduling
import Upstreams

extension DNSService {
    /// Takes notice of the network from now on, and looks whether LocalDNS forwards to us. Once, after the server listens.
    func watchNetwork() {
        composition.readLocalDNSAgain()
        composition.findLoops(with: resolver.probes)
        readMachineResolver()
        let monitor = NetworkMonitor(on: loop, paths: paths, events: events) { [unowned self] in networkChanged($0) }
        monitor.watch(Composition.networkFiles(composition.settings))
        network = monitor
        prefixDiscovery = PrefixDiscovery(clock: loop) { [unowned self] in
            await composition.localDNS.ask($0)
        } onChange: { [unowned self] _ in
            takeTranslation()
        }
        discoverPrefix()
        policy.start(
            fetchingBy: { [unowned self] in PolicyFetcher($0, base, composition.hosts, paths: paths, loop: loop) },
            onChange: { [unowned self] in await takePolicy() })
    }

    private func networkChanged(_ signs: NetworkMonitor.Signs) {
        if noticeNetwork(signs) { policy.networkChanged() }
    }

    /// Starts again with everything that another network makes doubtful.
    ///
    /// Files that were written with the same content are no change.
    ///
    /// - Returns: whether it is another network.
    func noticeNetwork(_ signs: NetworkMonitor.Signs) -> Bool {
        readMachineResolver()
        let hasOtherServers = composition.readLocalDNSAgain()
        let hasOtherRoutes = takeRoutes()
        guard signs != .files || hasOtherServers || hasOtherRoutes else { return false }
        composition.networkChanged(hasOtherServers: hasOtherServers)
        forgetStoredVerdicts()
        resolver.networkChanged()
        composition.checks.journal.networkChanged()
        presentNetwork = (loop.now, generation.current &- 1)
        discoverPrefix()
        tellDiskOfPolicy()
        resolver.preresolve()
        networkChanges.count += 1
        networkChanges.last = loop.now
        tell(of: signs)
        return true
    }

    /// Notices when another program has written resolv.conf since `resolver on`: programs may ask a hijacked server again.
    private func readMachineResolver() {
        let machine = MachineResolver(MachineFiles(root: ""), file: composition.settings.localDNS.resolvConf)
        let state = machine.state
        defer { machineResolver = state }
        guard state == .rewritten, machineResolver != .rewritten else { return }
        let servers = machine.servers.joined(separator: ", ")
        events.report(
            LogMessage(
                .resolverRewritten, about: "",
                "another program has written \(machine.file) since `httpdnsd resolver on`: programs ask "
                    + "\(servers.isEmpty ? "no server" : servers); `httpdnsd resolver on` takes it again",
                ["servers": "\(servers)"]))
    }

    private func tell(of signs: NetworkMonitor.Signs) {
        var causes: [String] = []
        if signs.contains(.links) { causes.append("addresses or routes") }
        if signs.contains(.files) { causes.append("its list of resolvers") }
        if signs.contains(.sleep) { causes.append("after a sleep of the machine") }
        let cause = causes.joined(separator: ", ")
        let servers = composition.localDNS.servers.map(\.description).joined(separator: ", ")
        events.report(
            LogMessage(
                .networkChanged, about: "",
                "the network has changed (\(cause)); LocalDNS \(servers.isEmpty ? "has no server" : "is \(servers)")",
                ["cause": "\(cause)", "servers": "\(servers)"]))
    }
}

extension Composition {
    /// Looks for the network's resolvers again; keeps those it has when there are none.
    ///
    /// - Returns: whether there are others now.
    @discardableResult
    func readLocalDNSAgain() -> Bool {
        guard let found = try? Self.localDNSServers(settings) else { return false }
        return localDNS.useServers(found)
    }

    /// Looks which servers forward to us; those known already are looked at again.
    func findLoops(with probes: LoopProbes) {
        for upstream in [localDNS] + forwarders { upstream.findLoops(with: probes) }
    }

    /// Makes all sources start again.
    ///
    /// - Parameter hasOtherServers: whether LocalDNS has done so already.
    fileprivate func networkChanged(hasOtherServers: Bool) {
        if !hasOtherServers { localDNS.networkChanged() }
        for forwarder in forwarders { forwarder.networkChanged() }
        for provider in providers { provider.upstream.networkChanged() }
        shared?.store.networkChanged()
        // The same address may lead elsewhere now.
        checks.forgetAll()
    }
}
