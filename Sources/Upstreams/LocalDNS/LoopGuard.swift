import DNSResolver
import DNSWire
import Scheduling

/// Finds out which servers of one LocalDNS bring our own questions back to us.
///
/// A name that nobody else can know is asked through each server; when it comes in on our own listener, it is a loop, and
/// the server is not asked until another such name has been answered without coming back. The look-out costs one query a
/// server when the servers or the network change, and while one is looping one a minute, if there are questions.
@Loop
final class LoopGuard {
    /// How long a server has to answer a probe.
    static let timeout = Duration.seconds(1)
    /// The least time between two probes of a server that loops.
    static let interval = Duration.seconds(60)

    private(set) var looping: Set<LocalDNSServer> = []
    private weak var owner: LocalDNS?
    private let probes: LoopProbes
    private let zone: Name
    /// The names that are out, one for each server.
    private var names: [LocalDNSServer: Name] = [:]
    /// Servers whose name of this round has come in.
    private var seen: Set<LocalDNSServer> = []
    private var lastProbe: Instant?

    init(of owner: LocalDNS, probes: LoopProbes, zone: Name) {
        self.owner = owner
        self.probes = probes
        self.zone = zone
    }

    isolated deinit { for name in names.values { probes.close(name) } }

    /// Probes all of `servers`, and forgets others. Returns at once.
    func probe(_ servers: [LocalDNSServer]) {
        looping.formIntersection(servers)
        for server in names.keys where !servers.contains(server) { close(server) }
        send(to: servers)
    }

    /// Probes the looping ones of `servers` again if the last time is long ago.
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
        // Late ones count as well: only this server was told the name.
        seen.insert(server)
        guard let owner, looping.insert(server).inserted else { return }
        owner.report(.serverLoops(upstream: owner.name, server: server.description))
    }

    private func ask(_ server: LocalDNSServer, for name: Name) async {
        guard let owner else { return }
        // By itself: neither another server nor the verdict on this one must stand between.
        let alone = LocalDNS(
            name: owner.name, servers: [server], timeout: Self.timeout, limit: owner.limit, paths: owner.paths,
            loop: owner.loop, clock: owner.clock)
        let reply = await alone.ask(
            UpstreamQuestion(name: name, types: [.a], deadline: owner.clock.now + Self.timeout))
        // Silence clears nobody.
        guard names[server] == name, !seen.contains(server), reply.isHeard, looping.remove(server) != nil else {
            return
        }
        owner.report(.serverLoopEnded(upstream: owner.name, server: server.description))
    }
}

extension UpstreamReply {
    /// Whether a server has said something, be it that it does not want to answer.
    fileprivate var isHeard: Bool {
        results.containsValue { result in
            switch result {
            case .answer, .failure(.responseCode): true
            default: false
            }
        }
    }
}
