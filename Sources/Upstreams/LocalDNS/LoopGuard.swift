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
    /// The time-out of a probe.
    static let timeout = Duration.seconds(1)
    /// The least time between two probes of a looping server.
    static let interval = Duration.seconds(60)

    private(set) var looping: Set<LocalDNSServer> = []
    private weak var owner: LocalDNS?
    private let probes: LoopProbes
    private let zone: Name
    /// The names being probed, one for each server.
    private var names: [LocalDNSServer: Name] = [:]
    /// Servers whose current name has arrived.
    private var seen: Set<LocalDNSServer> = []
    private var lastProbe: Instant?

    init(of owner: LocalDNS, probes: LoopProbes, zone: Name) {
        self.owner = owner
        self.probes = probes
        self.zone = zone
    }

    isolated deinit { for name in names.values { probes.close(name) } }

    /// Probes all of `servers`, and discards others. Returns at once.
    func probe(_ servers: [LocalDNSServer]) {
        looping.formIntersection(servers)
        for server in names.keys where !servers.contains(server) { close(server) }
        send(to: servers)
    }

    /// Probes the looping ones of `servers` again if `interval` has passed.
    func probeIfDue(_ servers: [LocalDNSServer]) {
        guard !looping.isEmpty, let owner, let lastProbe, owner.clock.now - lastProbe >= Self.interval else { return }
        send(to: servers.filter(looping.contains))
    }

    private func send(to servers: [LocalDNSServer]) {
        lastProbe = owner?.clock.now
        for server in servers {
            close(server)
            let name = probes.open(below: zone) { [weak self] in self?.cameBack(from: server) }
            guard let name else { continue }
            names[server] = name
            Loop.spawn { [weak self] in await self?.ask(server, for: name) }
        }
    }

    private func close(_ server: LocalDNSServer) {
        if let name = names.removeValue(forKey: server) { probes.close(name) }
        seen.remove(server)
    }

    private func cameBack(from server: LocalDNSServer) {
        // Late arrivals count as well: the name was sent to this server only.
        seen.insert(server)
        guard let owner, looping.insert(server).inserted else { return }
        owner.report(.serverLoops(upstream: owner.name, server: server.description))
    }

    private func ask(_ server: LocalDNSServer, for name: Name) async {
        guard let owner else { return }
        // A separate instance: neither another server nor this one's state must affect the probe.
        let alone = LocalDNS(
            name: owner.name, servers: [server], timeout: Self.timeout, limit: owner.limit, paths: owner.paths,
            loop: owner.loop, clock: owner.clock)
        let reply = await alone.ask(
            UpstreamQuestion(name: name, types: [.a], deadline: owner.clock.now + Self.timeout))
        // No response proves nothing: the server stays looping.
        guard names[server] == name, !seen.contains(server), reply.isHeard, looping.remove(server) != nil else {
            return
        }
        owner.report(.serverLoopEnded(upstream: owner.name, server: server.description))
    }
}

extension UpstreamReply {
    /// Whether a server has responded, be it with an error.
    fileprivate var isHeard: Bool {
        results.containsValue { result in
            switch result {
            case .answer, .failure(.responseCode): true
            default: false
            }
        }
    }
}
