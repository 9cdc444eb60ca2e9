/// All metrics of the server. Documentation/Monitoring.md has a line for each.
enum Metrics {
    static func text(_ status: StatusReport, _ traffic: TrafficReport, _ format: MetricsFormat) -> String {
        var writer = MetricsWriter(format)
        writeServer(status, traffic, to: &writer)
        writeTraffic(status, traffic, to: &writer)
        writeCache(status.cache, traffic, to: &writer)
        writeShared(status.shared, to: &writer)
        writeProviders(status.providers, traffic, to: &writer)
        writeNetwork(status, traffic, to: &writer)
        if let dnstap = status.dnstap { write(dnstap, to: &writer) }
        if let apps = status.apps { write(apps, to: &writer) }
        return writer.finish()
    }

    private static func writeServer(
        _ status: StatusReport, _ traffic: TrafficReport, to writer: inout MetricsWriter
    ) {
        writer.family("build_info", .gauge, "The version, as a label; the value is 1.") {
            $0.sample(["version": status.version], 1)
        }
        writer.family(
            "process_start_time_seconds", .gauge, "When the process started, in seconds since 1970.", unit: "seconds",
            value: traffic.process.started)
        writer.family(
            "process_cpu_seconds", .counter, "Processor time of the process, user and system.", unit: "seconds",
            value: traffic.process.processorTime)
        writer.family(
            "process_resident_memory_bytes", .gauge, "Resident memory of the process.", unit: "bytes",
            value: Double(traffic.process.residentBytes))
        writer.family("process_open_fds", .gauge, "Open descriptors.", value: Double(traffic.process.descriptors))
        writer.family(
            "process_max_fds", .gauge, "How many descriptors may be open.",
            value: Double(traffic.process.descriptorLimit))
        writer.family("reloads", .counter, "Successful reloads of the configuration.", value: Double(status.reloads))
        writer.family(
            "policy_generation", .gauge, "The generation of the policy; a raise makes questions be decided again.",
            value: Double(status.generation))
        writer.family(
            "signed_policy_serial", .gauge, "The serial of the signed policy in force; 0: none.",
            value: Double(status.policy.serialInForce))
        if !status.policy.url.isEmpty {
            writer.family(
                "signed_policy_fetch_age_seconds", .gauge,
                "Seconds since the signed policy was last fetched, changed or not; -1: not yet.", unit: "seconds",
                value: Double(status.policy.fetchAge ?? -1))
        }
        writer.family(
            "httpdns_enabled", .gauge, "1 while HTTPDNS is in use, 0 after `switch off`.", value: status.isOn ? 1 : 0)
        writer.family(
            "clock_doubted", .gauge, "1 while there is evidence that this machine's clock is wrong.",
            value: status.clock.isEmpty ? 0 : 1)
    }

    private static func writeTraffic(
        _ status: StatusReport, _ traffic: TrafficReport, to writer: inout MetricsWriter
    ) {
        writer.family("responses", .counter, "Responses sent to clients.") { samples in
            for each in traffic.responses {
                samples.sample(["transport": each.transport, "family": each.family, "rcode": each.code], each.count)
            }
        }
        writer.family("answer_seconds", .histogram, "From query to response, by the source.", unit: "seconds") {
            for each in traffic.answers { $0.histogram(["source": each.label], each.histogram) }
        }
        writer.family("refused_queries", .counter, "Queries that were refused or dropped.") { samples in
            for each in traffic.refusals { samples.sample(["reason": each.label], each.count) }
        }
        writer.family("pending_queries", .gauge, "Queries that wait for an answer.", value: Double(status.queries))
        writer.family("tcp_connections", .gauge, "Open TCP connections of clients.", value: Double(status.connections))
        if let encrypted = status.encrypted { write(encrypted, to: &writer) }
        writer.family("flights", .gauge, "Questions under way upstream.", value: Double(status.flights))
        writer.family("waiters", .gauge, "Clients that wait for them.", value: Double(status.waiters))
    }

    private static func writeCache(
        _ cache: StatusReport.Cache, _ traffic: TrafficReport, to writer: inout MetricsWriter
    ) {
        writer.family("cache_entries", .gauge, "Answers in memory.", value: Double(cache.entries))
        writer.family("cache_bytes", .gauge, "Memory in use for answers.", unit: "bytes", value: Double(cache.bytes))
        writer.family(
            "cache_limit_bytes", .gauge, "The most memory for answers.", unit: "bytes", value: Double(cache.limit))
        writer.family(
            "cache_hits", .counter, "Queries answered from memory at once, without a question upstream.",
            value: Double(cache.hits))
        writer.family("cache_misses", .counter, "Queries that were not.", value: Double(cache.misses))
        writer.family(
            "stale_answers", .counter, "Misses answered with an answer past its TTL.", value: Double(cache.stale))
        writer.family("prefetches", .counter, "Answers renewed before they expired.", value: Double(cache.refreshes))
        writer.family(
            "cache_evictions", .counter, "Entries removed to make room before they were too old.",
            value: Double(traffic.evictions))
        writer.family(
            "cache_ttl_left_seconds", .gauge, "The mean TTL left of a sample of the entries within theirs.",
            unit: "seconds"
        ) { samples in if let seconds = traffic.ttlLeft { samples.sample([:], seconds) } }
        writer.family("cache_stale_ratio", .gauge, "The share of a sample of the entries that is past its TTL.") {
            if let share = traffic.staleShare { $0.sample([:], share) }
        }
        guard !cache.file.isEmpty else { return }
        writer.family(
            "disk_up", .gauge, "1 while the cache file is in use.", value: cache.fileError.isEmpty ? 1 : 0)
        writer.family("disk_loaded_answers", .counter, "Answers read from the file.", value: Double(cache.loaded))
        writer.family("disk_written_answers", .counter, "Answers written to the file.", value: Double(cache.written))
    }

    private static func writeShared(_ shared: StatusReport.SharedCache, to writer: inout MetricsWriter) {
        guard !shared.address.isEmpty else { return }
        writer.family(
            "shared_up", .gauge, "1 while the shared cache is not in backoff.", value: shared.state == .used ? 1 : 0)
        writer.family("shared_lookups", .counter, "Look-ups in the shared cache, by their result.") { samples in
            samples.sample(["result": "hit"], shared.hits)
            samples.sample(["result": "miss"], shared.misses)
            samples.sample(["result": "timeout"], shared.timeouts)
            samples.sample(["result": "skipped"], shared.skipped)
        }
        writer.family(
            "shared_waits", .counter, "Look-ups that waited while another server asked.", value: Double(shared.waits))
        writer.family(
            "shared_waits_served", .counter, "Those of them that had its answer.", value: Double(shared.served))
        writer.family("shared_written_answers", .counter, "Answers written there.", value: Double(shared.written))
        writer.family("shared_refused_writes", .counter, "Writes that were refused.", value: Double(shared.refused))
        writer.family(
            "shared_damaged_values", .counter, "Values there that are no answers.", value: Double(shared.damaged))
    }

    /// What the servers that count together have used of the limits.
    private static func writeFleet(_ providers: [StatusReport.Provider], to writer: inout MetricsWriter) {
        guard !providers.isEmpty else { return }
        writer.family("provider_fleet_counted", .gauge, "1 while the fleet's calls are counted.") { samples in
            for provider in providers {
                samples.sample(["provider": provider.name], provider.fleetError.isEmpty ? 1 : 0)
            }
        }
        writer.family("provider_fleet_servers", .gauge, "Servers that count calls together.") { samples in
            for provider in providers { samples.sample(["provider": provider.name], provider.fleetServers ?? 1) }
        }
        writer.family("provider_fleet_calls_today", .gauge, "Calls of the fleet since 00:00 UTC, as last seen.") {
            samples in
            for provider in providers {
                if let calls = provider.fleetToday { samples.sample(["provider": provider.name], calls) }
            }
        }
        writer.family(
            "provider_fleet_calls_this_month", .gauge,
            "Calls of the fleet since the first of the month, 00:00 UTC, as last seen."
        ) { samples in
            for provider in providers {
                if let calls = provider.fleetThisMonth { samples.sample(["provider": provider.name], calls) }
            }
        }
    }

    private static func writeProviders(
        _ providers: [StatusReport.Provider], _ traffic: TrafficReport, to writer: inout MetricsWriter
    ) {
        writer.family("provider_up", .gauge, "1 while the provider is asked.") { samples in
            for provider in providers { samples.sample(["provider": provider.name], provider.state == .used ? 1 : 0) }
        }
        writer.family(
            "provider_calls_today", .gauge, "Calls since 00:00 UTC."
        ) { samples in
            for provider in providers { samples.sample(["provider": provider.name], provider.callsToday) }
        }
        writer.family("provider_daily_limit", .gauge, "The daily_limit of calls.") { samples in
            for provider in providers where provider.dailyLimit > 0 {
                samples.sample(["provider": provider.name], provider.dailyLimit)
            }
        }
        writer.family(
            "provider_calls_this_month", .gauge, "Calls since the first of the month, 00:00 UTC."
        ) { samples in
            for provider in providers { samples.sample(["provider": provider.name], provider.callsThisMonth) }
        }
        writer.family(
            "provider_calls_forecast", .gauge, "Calls that the whole month will have, at its mean rate."
        ) { samples in
            for provider in providers {
                if let calls = provider.callsForecast { samples.sample(["provider": provider.name], calls) }
            }
        }
        writer.family("provider_monthly_limit", .gauge, "The monthly_limit of calls.") { samples in
            for provider in providers where provider.monthlyLimit > 0 {
                samples.sample(["provider": provider.name], provider.monthlyLimit)
            }
        }
        writeFleet(providers.filter { $0.fleetServers != nil }, to: &writer)
        writer.family(
            "provider_billed_today", .gauge, "Answers since 00:00 UTC, as the vendor counts them."
        ) { samples in
            for provider in providers { samples.sample(["provider": provider.name], provider.billedToday) }
        }
        writer.family(
            "provider_billed_this_month", .gauge,
            "Answers since the first of the month, 00:00 UTC, as the vendor counts them."
        ) { samples in
            for provider in providers { samples.sample(["provider": provider.name], provider.billedThisMonth) }
        }
        writer.family(
            "provider_billed_forecast", .gauge,
            "Answers that the whole month will have, at its mean rate, as the vendor counts them."
        ) { samples in
            for provider in providers {
                if let billed = provider.billedForecast { samples.sample(["provider": provider.name], billed) }
            }
        }
        writer.family(
            "provider_clock_offset_seconds", .gauge, "How far the service's clock is ahead of this machine's.",
            unit: "seconds"
        ) { samples in
            for provider in providers { samples.sample(["provider": provider.name], provider.clockOffset) }
        }
        writer.family(
            "provider_response_seconds", .histogram, "From request to response, of requests for clients.",
            unit: "seconds"
        ) { for each in traffic.providers { $0.histogram(["provider": each.label], each.histogram) } }
        address("up", .gauge, "1 while the address is not in backoff.") { $0.state == .used ? 1 : 0 }
        address("requests", .counter, "Requests to the address.") { Double($0.requests) }
        address("failures", .counter, "Requests without a usable response.") { Double($0.failures) }
        address(
            "response_seconds", .gauge, "The mean response time of late requests.", unit: "seconds"
        ) { address in address.responseMilliseconds.map { Double($0) / 1_000 } }
        address("pace", .gauge, "The most requests at once, of an address that says \"not so fast\".") { address in
            address.pace.map(Double.init)
        }

        func address(
            _ name: String, _ kind: MetricsWriter.Kind, _ help: String, unit: String? = nil,
            _ value: (StatusReport.Address) -> Double?
        ) {
            writer.family("provider_address_\(name)", kind, help, unit: unit) { samples in
                for provider in providers {
                    for address in provider.addresses {
                        guard let value = value(address) else { continue }
                        samples.sample(["provider": provider.name, "address": address.address], value)
                    }
                }
            }
        }
    }

    private static func write(_ encrypted: StatusReport.Encrypted, to writer: inout MetricsWriter) {
        writer.family(
            "encrypted_connections", .gauge, "Open connections over TLS and HTTPS, those in their handshake included.",
            value: Double(encrypted.connections))
        writer.family("tls_handshakes", .counter, "Handshakes with clients.") { samples in
            samples.sample(["result": "full"], encrypted.full)
            samples.sample(["result": "resumed"], encrypted.resumed)
            samples.sample(["result": "failed"], encrypted.failed)
        }
        writer.family(
            "certificate_expiry_timestamp_seconds", .gauge,
            "When the certificate in use expires, in seconds since 1970; 0: none is in use.", unit: "seconds",
            value: Double(encrypted.expiresAt))
        writer.family(
            "certificate_refused", .gauge, "1 while the files of the certificate cannot be used as they are now.",
            value: encrypted.problem.isEmpty ? 0 : 1)
    }

    private static func write(_ dnstap: StatusReport.Dnstap, to writer: inout MetricsWriter) {
        writer.family(
            "dnstap_up", .gauge, "1 while the dnstap collector is connected.",
            value: dnstap.state == "connected" ? 1 : 0)
        writer.family("dnstap_sent", .counter, "Messages sent to the dnstap collector.", value: Double(dnstap.sent))
        writer.family(
            "dnstap_dropped", .counter, "Messages for the dnstap collector that were dropped.",
            value: Double(dnstap.dropped))
    }

    private static func write(_ apps: StatusReport.Apps, to writer: inout MetricsWriter) {
        writer.family("app_requests", .counter, "Requests of apps for HTTPDNS, by what came of them.") { samples in
            for each in apps.requests { samples.sample(["result": each.result], each.count) }
        }
        writer.family("app_names_today", .gauge, "Names that an account was asked for since 00:00 UTC.") { samples in
            for account in apps.accounts { samples.sample(["account": account.id], account.names) }
        }
        writer.family("app_daily_limit", .gauge, "The daily_limit of an account.") { samples in
            for account in apps.accounts where account.limit > 0 {
                samples.sample(["account": account.id], account.limit)
            }
        }
    }

    private static func writeNetwork(
        _ status: StatusReport, _ traffic: TrafficReport, to writer: inout MetricsWriter
    ) {
        writer.family("localdns_server_up", .gauge, "1 while the server is asked first.") { samples in
            for server in status.localDNS { samples.sample(["server": server.address], server.state == .used ? 1 : 0) }
        }
        writer.family("forward_server_up", .gauge, "1 while the server is asked first.") { samples in
            var seen: Set<String> = []
            for server in status.forwards.flatMap(\.servers) where seen.insert(server.address).inserted {
                samples.sample(["server": server.address], server.state == .used ? 1 : 0)
            }
        }
        writer.family(
            "forged_answers", .counter,
            "Checks that found an address of LocalDNS with the certificate of another name."
        ) { samples in for each in traffic.forgeries { samples.sample(["server": each.label], each.count) } }
        writer.family(
            "network_intercepted", .gauge, "1 while a captive portal or an interception of TLS is detected.",
            value: status.portal.isEmpty && status.interception.isEmpty ? 0 : 1)
        writer.family("network_changes", .counter, "Changes of the network.", value: Double(status.networkChanges))
        writer.family("bad_addresses", .gauge, "Addresses reported with badip.", value: Double(status.badAddresses))
        writer.family(
            "last_resort_answers", .counter, "Answers from preset.last_resort.", value: Double(status.lastResortAnswers)
        )
    }
}
