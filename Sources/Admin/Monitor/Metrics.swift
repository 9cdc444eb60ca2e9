import DNSCache
import Platform

/// All metrics of the server, in order. Documentation/Monitoring.md has a line for each.
enum Metrics {
    static func text(_ status: StatusReport, _ traffic: TrafficReport, _ format: MetricsFormat) -> String {
        let source = MetricSource(status: status, traffic: traffic)
        let families = server + queries + encrypted + cache + disk + shared + providers + addresses + network + apps
        return families.map { $0.text(of: source, in: format) }.joined() + (format == .openMetrics ? "# EOF\n" : "")
    }

    private static let server: [MetricFamily] = [
        .init("build_info", .gauge, "The version, as a label; the value is 1.", by: "version") {
            [($0.status.version, 1)]
        },
        .init(
            "process_start_time_seconds", .gauge, "When the process started, in seconds since 1970.",
            \.traffic.started),
        .init("process_cpu_seconds", .counter, "Processor time of the process, user and system.") {
            $0.traffic.resources.map { $0.processorTime / .seconds(1) }
        },
        .init(
            "process_resident_memory_bytes", .gauge, "Resident memory of the process.",
            \.traffic.resources?.residentBytes),
        .init("process_open_fds", .gauge, "Open descriptors.", \.traffic.resources?.descriptors),
        .init("process_max_fds", .gauge, "How many descriptors may be open.", \.traffic.resources?.descriptorLimit),
        .init("reloads", .counter, "Successful reloads of the configuration.", \.status.reloads),
        .init(
            "policy_generation", .gauge, "The generation of the policy; a raise makes questions be decided again.",
            \.status.generation),
        .init(
            "signed_policy_serial", .gauge, "The serial of the signed policy in force; 0: none.",
            \.status.policy.serialInForce),
        .init(
            "signed_policy_fetch_age_seconds", .gauge,
            "Seconds since the signed policy was last fetched, changed or not; -1: not yet."
        ) { $0.status.policy.url.isEmpty ? nil : $0.status.policy.fetchAge ?? -1 },
        .init("httpdns_enabled", .gauge, "1 while HTTPDNS is in use, 0 after `switch off`.", \.status.isOn),
        .init("clock_doubted", .gauge, "1 while there is evidence that this machine's clock is wrong.") {
            !$0.status.clock.isEmpty
        },
    ]

    private static let queries: [MetricFamily] = [
        .init("responses", .counter, "Responses sent to clients.") { source, samples in
            for each in source.traffic.responses {
                samples.sample(["transport": each.transport, "family": each.family, "rcode": each.code], each.count)
            }
        },
        .init("answer_seconds", .histogram, "From query to response, by the source.") { source, samples in
            for each in source.traffic.answers { samples.histogram(["source": each.label], each.histogram) }
        },
        .init("refused_queries", .counter, "Queries that were refused or dropped.", by: "reason") {
            $0.traffic.refusals.map { ($0.label, $0.count) }
        },
        .init("pending_queries", .gauge, "Queries that wait for an answer.", \.status.queries),
        .init("tcp_connections", .gauge, "Open TCP connections of clients.", \.status.connections),
    ]

    private static let encrypted: [MetricFamily] = [
        .init(
            "encrypted_connections", .gauge, "Open connections over TLS and HTTPS, those in their handshake included.",
            \.status.encrypted?.connections),
        .init("tls_handshakes", .counter, "Handshakes with clients.", by: "result") {
            $0.status.encrypted.map { [("full", $0.full), ("resumed", $0.resumed), ("failed", $0.failed)] }
        },
        .init(
            "certificate_expiry_timestamp_seconds", .gauge,
            "When the certificate in use expires, in seconds since 1970; 0: none is in use.",
            \.status.encrypted?.expiresAt),
        .init(
            "certificate_refused", .gauge, "1 while the files of the certificate cannot be used as they are now."
        ) { $0.status.encrypted.map { !$0.problem.isEmpty } },
        .init("flights", .gauge, "Questions under way upstream.", \.status.flights),
        .init("waiters", .gauge, "Clients that wait for them.", \.status.waiters),
    ]

    private static let cache: [MetricFamily] = [
        .init("cache_entries", .gauge, "Answers in memory.", \.status.cache.memory.entries),
        .init("cache_bytes", .gauge, "Memory in use for answers.", \.status.cache.memory.bytes),
        .init("cache_limit_bytes", .gauge, "The most memory for answers.", \.status.cache.memory.limit),
        .init(
            "cache_hits", .counter, "Queries answered from memory at once, without a question upstream.",
            \.status.cache.memory.hits),
        .init("cache_misses", .counter, "Queries that were not.", \.status.cache.memory.misses),
        .init("stale_answers", .counter, "Misses answered with an answer past its TTL.", \.status.cache.stale),
        .init("prefetches", .counter, "Answers renewed before they expired.", \.status.cache.refreshes),
        .init(
            "cache_evictions", .counter, "Entries removed to make room before they were too old.",
            \.status.cache.memory.evictions),
        .init(
            "cache_ttl_left_seconds", .gauge, "The mean TTL left of a sample of the entries within theirs.",
            \.traffic.ttlLeft),
        .init(
            "cache_stale_ratio", .gauge, "The share of a sample of the entries that is past its TTL.",
            \.traffic.staleShare),
    ]

    private static let disk: [MetricFamily] = [
        .init("disk_up", .gauge, "1 while the cache file is in use.") { $0.disk.map(\.fileError.isEmpty) },
        .init("disk_loaded_answers", .counter, "Answers read from the file.", \.disk?.loaded),
        .init("disk_written_answers", .counter, "Answers written to the file.", \.disk?.written),
    ]

    private static let shared: [MetricFamily] = [
        .init("shared_up", .gauge, "1 while the shared cache is not in backoff.") {
            $0.shared.map { $0.state == .used }
        },
        .init("shared_lookups", .counter, "Look-ups in the shared cache, by their result.", by: "result") {
            $0.shared.map {
                [("hit", $0.hits), ("miss", $0.misses), ("timeout", $0.timeouts), ("skipped", $0.skipped)]
            }
        },
        .init("shared_waits", .counter, "Look-ups that waited while another server asked.", \.shared?.waits),
        .init("shared_waits_served", .counter, "Those of them that had its answer.", \.shared?.served),
        .init("shared_written_answers", .counter, "Answers written there.", \.shared?.written),
        .init("shared_refused_writes", .counter, "Writes that were refused.", \.shared?.refused),
        .init("shared_damaged_values", .counter, "Values there that are no answers.", \.shared?.damaged),
    ]

    private static let providers: [MetricFamily] = [
        provider("up", "1 while the provider is asked.") { $0.state == .used },
        provider("calls_today", "Calls since 00:00 UTC.", \.callsToday),
        provider("daily_limit", "The daily_limit of calls.") { $0.dailyLimit > 0 ? $0.dailyLimit : nil },
        provider("calls_this_month", "Calls since the first of the month, 00:00 UTC.", \.callsThisMonth),
        provider("calls_forecast", "Calls that the whole month will have, at its mean rate.", \.callsForecast),
        provider("monthly_limit", "The monthly_limit of calls.") { $0.monthlyLimit > 0 ? $0.monthlyLimit : nil },
        // What the servers that count together have used of the limits.
        provider("fleet_counted", "1 while the fleet's calls are counted.") { provider in
            provider.fleetServers.map { _ in provider.fleetError.isEmpty }
        },
        provider("fleet_servers", "Servers that count calls together.", \.fleetServers),
        provider("fleet_calls_today", "Calls of the fleet since 00:00 UTC, as last seen.", \.fleetToday),
        provider(
            "fleet_calls_this_month", "Calls of the fleet since the first of the month, 00:00 UTC, as last seen.",
            \.fleetThisMonth),
        provider("billed_today", "Answers since 00:00 UTC, as the vendor counts them.", \.billedToday),
        provider(
            "billed_this_month", "Answers since the first of the month, 00:00 UTC, as the vendor counts them.",
            \.billedThisMonth),
        provider(
            "billed_forecast", "Answers that the whole month will have, at its mean rate, as the vendor counts them.",
            \.billedForecast),
        provider(
            "clock_offset_seconds", "How far the service's clock is ahead of this machine's.", \.clockOffset),
        .init("provider_response_seconds", .histogram, "From request to response, of requests for clients.") {
            source, samples in
            for each in source.traffic.providers { samples.histogram(["provider": each.label], each.histogram) }
        },
    ]

    private static func provider(
        _ name: String, _ help: String, _ value: @escaping @Sendable (StatusReport.Provider) -> some MetricValue
    ) -> MetricFamily {
        .init("provider_" + name, .gauge, help, by: "provider") { $0.status.providers.map { ($0.name, value($0)) } }
    }

    private static let addresses: [MetricFamily] = [
        address("up", .gauge, "1 while the address is not in backoff.") { $0.state == .used },
        address("requests", .counter, "Requests to the address.", \.requests),
        address("failures", .counter, "Requests without a usable response.", \.failures),
        address("response_seconds", .gauge, "The mean response time of late requests.") {
            $0.responseMilliseconds.map { Double($0) / 1_000 }
        },
        address("pace", .gauge, "The most requests at once, of an address that says \"not so fast\".", \.pace),
    ]

    private static func address(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String,
        _ value: @escaping @Sendable (StatusReport.Address) -> some MetricValue
    ) -> MetricFamily {
        .init("provider_address_" + name, kind, help) { source, samples in
            for provider in source.status.providers {
                for address in provider.addresses {
                    samples.sample(["provider": provider.name, "address": address.address], value(address))
                }
            }
        }
    }

    private static let network: [MetricFamily] = [
        .init("localdns_server_up", .gauge, "1 while the server is asked first.", by: "server") {
            $0.status.localDNS.map { ($0.address, $0.state == .used) }
        },
        .init("forward_server_up", .gauge, "1 while the server is asked first.", by: "server") { source in
            var seen: Set<String> = []
            return source.status.forwards.flatMap(\.servers).filter { seen.insert($0.address).inserted }
                .map { ($0.address, $0.state == .used) }
        },
        .init(
            "forged_answers", .counter,
            "Checks that found an address of LocalDNS with the certificate of another name.", by: "server"
        ) { $0.traffic.forgeries.map { ($0.label, $0.count) } },
        .init(
            "network_intercepted", .gauge, "1 while a captive portal or an interception of TLS is detected."
        ) { !$0.status.portal.isEmpty || !$0.status.interception.isEmpty },
        .init("network_changes", .counter, "Changes of the network.", \.status.networkChanges),
        .init("bad_addresses", .gauge, "Addresses reported with badip.", \.status.badAddresses),
        .init("last_resort_answers", .counter, "Answers from preset.last_resort.", \.status.lastResortAnswers),
    ]

    private static let apps: [MetricFamily] = [
        .init("dnstap_up", .gauge, "1 while the dnstap collector is connected.") {
            $0.status.dnstap.map { $0.state == "connected" }
        },
        .init("dnstap_sent", .counter, "Messages sent to the dnstap collector.", \.status.dnstap?.sent),
        .init(
            "dnstap_dropped", .counter, "Messages for the dnstap collector that were dropped.",
            \.status.dnstap?.dropped),
        .init("app_requests", .counter, "Requests of apps for HTTPDNS, by what came of them.", by: "result") {
            $0.status.apps?.requests.map { ($0.result, $0.count) }
        },
        .init("app_names_today", .gauge, "Names that an account was asked for since 00:00 UTC.", by: "account") {
            $0.status.apps?.accounts.map { ($0.id, $0.names) }
        },
        .init("app_daily_limit", .gauge, "The daily_limit of an account.", by: "account") {
            $0.status.apps?.accounts.map { ($0.id, $0.limit > 0 ? $0.limit : nil) }
        },
    ]
}
