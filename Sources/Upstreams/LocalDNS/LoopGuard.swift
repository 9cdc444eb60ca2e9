import DNSResolver
import DNSWire
import Scheduling

/// Detects which servers of one LocalDNS are in a forwarding loop with us.
///
/// A query for an unpredictable name is sent to each server; when it arrives at our own listener, there is a loop, and
/// the server is not queried until another such name has been answered without arriving. The check costs one query per
/// server when the servers or the network change, and for a looping server one per minute, if there are queries.
@Loop
final class LoopGuard {
    /// The least time between two probes of a looping server.
    private static let interval = Duration.seconds(60)

    private(set) var looping: Set<LocalDNSServer> = []
    private let environment: LocalDNSEnvironment
    private let probes: LoopProbes
    private let zone: Name
    /// The names being probed, one for each server, and whether they have arrived.
    private var names: [LocalDNSServer: (name: Name, isSeen: Bool)] = [:]
    private var lastProbe: Instant?

    init(_ environment: LocalDNSEnvironment, probes: LoopProbes, zone: Name) {
        self.environment = environment
        self.probes = probes
        self.zone = zone
    }

    isolated deinit { for (name, _) in names.values { probes.close(name) } }

    /// Probes all of `servers`, and discards others. Returns at once.
    func probe(_ servers: [LocalDNSServer]) {
        looping.formIntersection(servers)
        for server in names.keys where !servers.contains(server) { close(server) }
        send(to: servers)
    }

    /// Probes the looping ones of `servers` again if `interval` has passed.
    func probeIfDue(_ servers: [LocalDNSServer]) {
        guard !looping.isEmpty, let lastProbe, environment.clock.now - lastProbe >= Self.interval else { return }
        send(to: servers.filter(looping.contains))
    }

    private func send(to servers: [LocalDNSServer]) {
        lastProbe = environment.clock.now
        for server in servers {
            close(server)
            guard let name = probes.open(below: zone, onSeen: { [weak self] in self?.cameBack(from: server) }) else {
                continue
            }
            names[server] = (name, false)
            let lookup = LocalDNSLookup(Question(name: name, type: .a), only: server, environment)
            lookup.onEnd = { [weak self, unowned lookup] in self?.judge(lookup, of: server, for: name) }
            lookup.start()
        }
    }

    private func close(_ server: LocalDNSServer) {
        if let (name, _) = names.removeValue(forKey: server) { probes.close(name) }
    }

    private func cameBack(from server: LocalDNSServer) {
        // Late arrivals count as well: the name was sent to this server only.
        names[server]?.isSeen = true
        guard looping.insert(server).inserted else { return }
        environment.report(.serverLoops(upstream: environment.name, server: server.description))
    }

    private func judge(_ lookup: LocalDNSLookup, of server: LocalDNSServer, for probe: Name) {
        // No response decides nothing: the server stays looping.
        guard let (name, isSeen) = names[server], name == probe, !isSeen, lookup.isHeard,
            looping.remove(server) != nil
        else { return }
        environment.report(.serverLoopEnded(upstream: environment.name, server: server.description))
    }
}
