import DNSWire

extension StatusReport {
    /// The metrics whose values it has, in order. Documentation/Monitoring.md has a line for each.
    public static let metrics: [MetricFamily<StatusReport>] =
        server + queries + cache + shared + providers + addresses + network

    private typealias Family = MetricFamily<StatusReport>

    private static let server: [Family] = [
        .init("build_info", .gauge, "The version, as a label; the value is 1.", by: "version") {
            [($0.version, 1)]
        },
        .init("reloads", .counter, "Successful reloads of the configuration.", \.reloads),
        .init(
            "policy_generation", .gauge, "The generation of the policy; a raise makes questions be decided again.",
            \.generation),
        .init(
            "signed_policy_serial", .gauge, "The serial of the signed policy in force; 0: none.",
            \.policy.serialInForce),
        .init(
            "signed_policy_fetch_age_seconds", .gauge,
            "Seconds since the signed policy was last fetched, changed or not; -1: not yet."
        ) { $0.policy.url.isEmpty ? nil : $0.policy.fetchAge ?? -1 },
        .init("httpdns_enabled", .gauge, "1 while HTTPDNS is in use, 0 after `switch off`.", \.isOn),
        .init("clock_doubted", .gauge, "1 while there is evidence that this machine's clock is wrong.") {
            !$0.clock.isEmpty
        },
    ]

    private static let queries: [Family] = [
        .init("pending_queries", .gauge, "Queries that wait for an answer.", \.queries),
        .init("tcp_connections", .gauge, "Open TCP connections of clients.", \.connections),
        .init(
            "encrypted_connections", .gauge, "Open connections over TLS and HTTPS, those in their handshake included.",
            \.encrypted?.connections),
        .init("tls_handshakes", .counter, "Handshakes with clients.", by: "result") {
            $0.encrypted.map { [("full", $0.full), ("resumed", $0.resumed), ("failed", $0.failed)] }
        },
        .init(
            "certificate_expiry_timestamp_seconds", .gauge,
            "When the certificate in use expires, in seconds since 1970; 0: none is in use.",
            \.encrypted?.expiresAt),
        .init(
            "certificate_refused", .gauge, "1 while the files of the certificate cannot be used as they are now."
        ) { $0.encrypted.map { !$0.problem.isEmpty } },
        .init("flights", .gauge, "Questions under way upstream.", \.flights),
        .init("waiters", .gauge, "Clients that wait for them.", \.waiters),
    ]

    private static let cache: [Family] = [
        .init("cache_entries", .gauge, "Answers in memory.", \.cache.entries),
        .init("cache_bytes", .gauge, "Memory in use for answers.", \.cache.bytes),
        .init("cache_limit_bytes", .gauge, "The most memory for answers.", \.cache.limit),
        .init(
            "cache_hits", .counter, "Queries answered from memory at once, without a question upstream.",
            \.cache.hits),
        .init("cache_misses", .counter, "Queries that were not.", \.cache.misses),
        .init("stale_answers", .counter, "Misses answered with an answer past its TTL.", \.cache.stale),
        .init("prefetches", .counter, "Answers renewed before they expired.", \.cache.refreshes),
        .init("disk_up", .gauge, "1 while the cache file is in use.") { $0.disk.map(\.fileError.isEmpty) },
        .init("disk_loaded_answers", .counter, "Answers read from the file.", \.disk?.loaded),
        .init("disk_written_answers", .counter, "Answers written to the file.", \.disk?.written),
    ]

    private static let shared: [Family] = [
        .init("shared_up", .gauge, "1 while the shared cache is not in backoff.") {
            $0.sharedInUse.map { $0.state.isAsked }
        },
        .init("shared_lookups", .counter, "Look-ups in the shared cache, by their result.", by: "result") {
            $0.sharedInUse.map {
                [("hit", $0.hits), ("miss", $0.misses), ("timeout", $0.timeouts), ("skipped", $0.skipped)]
            }
        },
        .init("shared_waits", .counter, "Look-ups that waited while another server asked.", \.sharedInUse?.waits),
        .init("shared_waits_served", .counter, "Those of them that had its answer.", \.sharedInUse?.served),
        .init("shared_written_answers", .counter, "Answers written there.", \.sharedInUse?.written),
        .init("shared_refused_writes", .counter, "Writes that were refused.", \.sharedInUse?.refused),
        .init("shared_damaged_values", .counter, "Values there that are no answers.", \.sharedInUse?.damaged),
    ]

    private static let providers: [Family] = [
        provider("up", "1 while the provider is asked.") { $0.state.isAsked },
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
        provider("clock_offset_seconds", "How far the service's clock is ahead of this machine's.", \.clockOffset),
    ]

    private static func provider(
        _ name: String, _ help: String, _ value: @escaping @Loop @Sendable (StatusReport.Provider) -> some MetricValue
    ) -> Family {
        .init("provider_" + name, .gauge, help, by: "provider") { $0.providers.map { ($0.name, value($0)) } }
    }

    private static let addresses: [Family] = [
        address("up", .gauge, "1 while the address is not in backoff.") { $0.state.isAsked },
        address("requests", .counter, "Requests to the address.", \.requests),
        address("failures", .counter, "Requests without a usable response.", \.failures),
        address("response_seconds", .gauge, "The mean response time of late requests.") {
            $0.responseMilliseconds.map { Double($0) / 1_000 }
        },
        address("pace", .gauge, "The most requests at once, of an address that says \"not so fast\".", \.pace),
    ]

    private static func address(
        _ name: String, _ kind: MetricKind, _ help: String,
        _ value: @escaping @Loop @Sendable (StatusReport.Address) -> some MetricValue
    ) -> Family {
        .init("provider_address_" + name, kind, help) { status, samples in
            for provider in status.providers {
                for address in provider.addresses {
                    samples.sample(["provider": provider.name, "address": address.address], value(address))
                }
            }
        }
    }

    private static let network: [Family] = [
        .init("localdns_server_up", .gauge, "1 while the server is not in backoff.", by: "server") {
            $0.localDNS.map { ($0.address, $0.state.isAsked) }
        },
        .init("forward_server_up", .gauge, "1 while the server is not in backoff.", by: "server") { status in
            var seen: Set<String> = []
            return status.forwards.flatMap(\.servers).filter { seen.insert($0.address).inserted }
                .map { ($0.address, $0.state.isAsked) }
        },
        .init(
            "network_intercepted", .gauge, "1 while a captive portal or an interception of TLS is detected."
        ) { !$0.portal.isEmpty || !$0.interception.isEmpty },
        .init("network_changes", .counter, "Changes of the network.", \.networkChanges),
        .init("bad_addresses", .gauge, "Addresses reported with badip.", \.badAddresses),
        .init("last_resort_answers", .counter, "Answers from preset.last_resort.", \.lastResortAnswers),
        .init("dnstap_up", .gauge, "1 while the dnstap collector is connected.") {
            $0.dnstap.map { $0.state == "connected" }
        },
        .init("dnstap_sent", .counter, "Messages sent to the dnstap collector.", \.dnstap?.sent),
        .init("dnstap_dropped", .counter, "Messages for the dnstap collector that were dropped.", \.dnstap?.dropped),
        .init("app_requests", .counter, "Requests of apps for HTTPDNS, by what came of them.", by: "result") {
            $0.apps?.requests.map { ($0.result, $0.count) }
        },
        .init("app_names_today", .gauge, "Names that an account was asked for since 00:00 UTC.", by: "account") {
            $0.apps?.accounts.map { ($0.id, $0.names) }
        },
        .init("app_daily_limit", .gauge, "The daily_limit of an account.", by: "account") {
            $0.apps?.accounts.map { ($0.id, $0.limit > 0 ? $0.limit : nil) }
        },
    ]
}

extension StatusReport {
    /// Nil when answers are cached in memory alone.
    fileprivate var disk: Cache? { cache.file.isEmpty ? nil : cache }
    /// Nil when nothing is shared.
    fileprivate var sharedInUse: SharedCache? { shared.address.isEmpty ? nil : shared }
}
