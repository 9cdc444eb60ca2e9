import Admin
import Configuration
import DNSCache
import DNSResolver
import DNSServer
import DNSWire
import Platform
import Scheduling
import Upstreams

/// What monitors read.
extension DNSService: MonitorTarget {
    var hosts: HTTPHosts { HTTPHosts(composition.settings, names: composition.settings.control.httpNames) }

    var traffic: TrafficReport {
        var report = TrafficReport()
        let resources = ProcessResources()
        report.process.started = startedTime
        report.process.processorTime = resources.processorTime / .seconds(1)
        report.process.residentBytes = resources.residentBytes
        report.process.descriptors = resources.descriptors
        report.process.descriptorLimit = resources.descriptorLimit
        report.responses = server.responses.map { count in
            .init(
                transport: count.transport.label, family: count.isIPv6 ? "ipv6" : "ipv4",
                code: count.code.description, count: count.count)
        }
        report.answers = answers
        report.providers = composition.providers.map {
            .init($0.entry.name, HistogramReport($0.upstream.latencies))
        }
        let refused = server.refusedQueries
        report.refusals = [
            .init("access", refused.access), .init("overload", refused.overload), .init("dropped", refused.dropped),
            .init("queue", refused.queue), .init("upstream", resolver.overloads),
            .init("misses", resolver.refusedMisses),
        ]
        // Those of now from the start, so that the first forgery is seen as a rise.
        let totals = composition.checks.journal.totals
        let servers = Set(totals.keys).union(composition.localDNS.servers.map(\.description))
        report.forgeries = servers.sorted().map { .init($0, totals[$0] ?? 0) }
        report.evictions = memory.statistics.evictions
        let sample = memory.sample(from: .random(in: 0...Int(Int32.max)), now: loop.now)
        if sample.fresh > 0 { report.ttlLeft = Double(sample.seconds) / Double(sample.fresh) }
        let entries = sample.fresh + sample.stale
        if entries > 0 { report.staleShare = Double(sample.stale) / Double(entries) }
        return report
    }

    var counters: TrafficHistory.Counters {
        let refused = server.refusedQueries
        let endpoints = composition.providers.flatMap(\.upstream.knownEndpoints)
        return .init(
            answers: answers, calls: endpoints.reduce(0) { $0 &+ $1.health.counters.requests },
            unanswered: refused.overload + refused.dropped + refused.queue)
    }

    func findings(in status: StatusReport) -> [Finding] { Check.all.flatMap { $0.reported(status) } }

    private var answers: [TrafficReport.Latencies] {
        AnswerKind.allCases.map { .init($0.word, HistogramReport(server.latencies($0))) }
    }

    var hottestNames: [TrafficReport.Count]? { countsNames ? names.top(at: loop.now) : nil }

    var unreadiness: String? {
        if isStopping { return "stopping" }
        let status = status
        let providers = resolver.isOn && composition.settings.route.mode != .localDNSOnly ? status.providers : []
        let servers = status.localDNS + status.forwards.flatMap(\.servers)
        let canAnswer =
            providers.contains { $0.state == .used && $0.addresses.contains { $0.state != .inBackoff } }
            || servers.contains { $0.state != .inBackoff && $0.state != .loop }
        return canAnswer ? nil : "no provider and no server of LocalDNS can be asked"
    }
}

extension HistogramReport {
    fileprivate init(_ total: LatencyHistogram.Total) {
        self.init(
            bounds: LatencyHistogram.bounds.map { $0 / .seconds(1) }, counts: total.counts,
            sum: total.sum / .seconds(1))
    }
}

extension HTTPHosts {
    /// - Parameter names: beside this machine's own.
    init(_ settings: Configuration, names: [Name]) {
        self.init(machine: hostName(), domains: Composition.searchDomains(settings), names: names)
    }
}
