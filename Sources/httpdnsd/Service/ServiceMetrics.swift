import Admin
import DNSCache
import DNSResolver
import DNSServer
import DNSWire
import Platform
import Scheduling
import Upstreams

/// The metrics beside those of `status`, in order. Documentation/Monitoring.md has a line for each.
enum ServiceMetrics {
    static let all: [MetricFamily<MetricSource>] = [
        .init("process_start_time_seconds", .gauge, "When the process started, in seconds since 1970.", \.started),
        .init("process_cpu_seconds", .counter, "Processor time of the process, user and system.") {
            $0.resources.processorTime / .seconds(1)
        },
        .init("process_resident_memory_bytes", .gauge, "Resident memory of the process.", \.resources.residentBytes),
        .init("process_open_fds", .gauge, "Open descriptors.", \.resources.descriptors),
        .init("process_max_fds", .gauge, "How many descriptors may be open.", \.resources.descriptorLimit),
        .init("responses", .counter, "Responses sent to clients.") { source, samples in
            for each in source.service.server.responses {
                let family = each.isIPv6 ? "ipv6" : "ipv4"
                samples.sample(
                    ["transport": each.transport.label, "family": family, "rcode": each.code.description], each.count)
            }
        },
        .init("answer_seconds", .histogram, "From query to response, by the source.") { source, samples in
            for each in source.traffic.answers { samples.histogram(["source": each.label], each.histogram) }
        },
        .init("refused_queries", .counter, "Queries that were refused or dropped.", by: "reason") {
            let (refused, resolver) = ($0.service.server.refusedQueries, $0.service.resolver)
            return [
                ("access", refused.access), ("overload", refused.overload), ("dropped", refused.dropped),
                ("queue", refused.queue), ("upstream", resolver.overloads), ("misses", resolver.refusedMisses),
            ]
        },
        .init(
            "cache_evictions", .counter, "Entries removed to make room before they were too old."
        ) { $0.service.memory.statistics.evictions },
        .init(
            "cache_ttl_left_seconds", .gauge, "The mean TTL left of a sample of the entries within theirs.",
            \.cacheSample.ttlLeft),
        .init(
            "cache_stale_ratio", .gauge, "The share of a sample of the entries that is past its TTL.",
            \.cacheSample.staleShare),
        .init("provider_response_seconds", .histogram, "From request to response, of requests for clients.") {
            source, samples in
            for each in source.traffic.providers { samples.histogram(["provider": each.label], each.histogram) }
        },
        .init(
            "forged_answers", .counter,
            "Checks that found an address of LocalDNS with the certificate of another name.", by: "server"
        ) { source in
            let composition = source.service.composition
            // Those of now from the start, so that the first forgery is seen as a rise.
            let totals = composition.checks.journal.totals
            let servers = Set(totals.keys).union(composition.localDNS.servers.map(\.description))
            return servers.sorted().map { ($0, totals[$0] ?? 0) }
        },
    ]
}

/// Where the values of metrics are.
struct MetricSource {
    let traffic: TrafficReport
    let service: DNSService
    /// When the process started, in seconds since 1970.
    let started: Int
    let resources = ProcessResources()
    /// Of a sample of the memory cache: the seconds that an entry within its TTL has left, and the share of the entries that
    /// are past theirs; nil where the sample has none.
    let cacheSample: (ttlLeft: Double?, staleShare: Double?)

    @Loop
    init(_ traffic: TrafficReport, of service: DNSService, since started: Int) {
        (self.traffic, self.service, self.started) = (traffic, service, started)
        let sample = service.memory.sample(from: .random(in: 0...Int(Int32.max)), now: service.loop.now)
        let entries = sample.fresh + sample.stale
        cacheSample = (
            sample.fresh > 0 ? Double(sample.seconds) / Double(sample.fresh) : nil,
            entries > 0 ? Double(sample.stale) / Double(entries) : nil
        )
    }
}
