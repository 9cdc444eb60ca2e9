import Admin
import Configuration
import DNSCache
import DNSResolver
import DNSServer
import DNSWire
import DiskCache
import Glibc
import Platform
import Upstreams

// What `status` and `/metrics` say, put together from what serves and what changes it.

extension Administration {
    private var server: Server { service.server }

    func metrics(in format: MetricsFormat) -> String {
        let metrics = ServiceMetrics(traffic, of: service, since: startedTime)
        return ServiceMetrics.all.map { $0.text(of: metrics, in: format) }.joined()
    }

    var status: StatusReport {
        var status = StatusReport()
        status.version = Release.version
        status.pid = Int(getpid())
        status.uptime = Int((service.loop.now - startedAt).components.seconds)
        status.configuration = changes.source.path
        status.reloads = changes.reloads
        status.reloadErrors = changes.reloadErrors
        status.generation = Int(service.generation.current)
        status.isOn = resolver.isOn && !changes.policy.switchesOff
        status.policy = changes.policy.report
        status.mode = composition.settings.route.mode.rawValue
        status.listen = server.addresses.map(\.description)
        status.absent = server.addresses.filter { !$0.isOnThisMachine }.map(\.description)
        status.adopted = server.adopted.map(\.description)
        status.providers = composition.providers.map(provider)
        status.localDNS = servers(of: composition.localDNS)
        status.forwards = zip(composition.settings.forwards, composition.forwarders).map { entry, forwarder in
            .init(suffixes: entry.suffixes.map(\.description), servers: servers(of: forwarder))
        }
        status.clock = composition.timeOfDay.doubt?.description ?? ""
        if status.isCutOff {
            let sightings = composition.checks.journal.sightings
            switch CaptivePortal.sign(in: sightings, now: Int64(time(nil))) {
            case .address(let address): status.portal = address.description
            case .certificate(let fingerprint): status.interception = fingerprint
            case nil: break
            }
        }
        status.networkChanges = changes.network.changes.count
        status.networkChangeAge = age(changes.network.changes.last)
        status.resolver = changes.network.machineResolver.rawValue
        status.nat64 = service.translation.prefix?.description ?? ""
        fill(&status.cache)
        status.dnstap = service.dnstap?.status
        fill(&status.shared)
        (status.flights, status.waiters) = resolver.load
        (status.queries, status.connections, _) = server.load
        if let busiest = server.busiestProgram {
            status.busiestProgram = queries.programs.text(of: busiest.network) ?? ""
            status.busiestQueries = busiest.count
        }
        status.encrypted = encrypted
        status.apps = service.vendors?.report(on: server)
        let refused = server.refusedQueries
        status.refused = refused.access
        status.refusedMisses = resolver.refusedMisses
        status.overloads = refused.overload + refused.dropped + refused.queue + resolver.overloads
        status.badAddresses = service.reported.list.count
        status.forgedChecks = composition.checks.journal.total
        status.forged = Array(composition.checks.journal.entries.prefix(HijackedAddress.shown))
        (status.presets, status.lastResorts) = resolver.presetCounts
        status.lastResortAnswers = resolver.lastResortAnswers
        return status
    }

    /// Nil when nothing is served encrypted.
    private var encrypted: StatusReport.Encrypted? {
        guard let certificate = service.certificate else { return nil }
        var report = StatusReport.Encrypted()
        let places = server.encryptedAddresses
        report.tls = places.filter { $0.transport == .tls }.map(\.address.description)
        report.https = places.filter { $0.transport == .https }.map(\.address.description)
        if let profile = Profile(composition.settings.listen) {
            report.name = profile.name
            report.tlsPort = profile.tls.map(Int.init) ?? 0
            (report.url, report.template) = (profile.https ?? "", profile.template ?? "")
            report.addresses = profile.addresses.map(\.description)
        }
        report.certificate = certificate.files.certificate
        report.expires = certificate.expires.map { UTCTime(milliseconds: $0 &* 1_000).description } ?? ""
        report.expiresAt = certificate.expires.map { Int(clamping: $0) } ?? 0
        report.problem = certificate.problem?.description ?? ""
        report.connections = server.load.encrypted
        let counts = server.tls.counts
        (report.full, report.resumed, report.failed) = (counts.full, counts.resumed, counts.failed)
        return report
    }

    private func fill(_ cache: inout StatusReport.Cache) {
        let memory = service.memory.statistics
        (cache.entries, cache.bytes, cache.limit) = (memory.entries, memory.bytes, memory.limit)
        (cache.hits, cache.misses) = (memory.hits, memory.misses)
        cache.stale = resolver.staleAnswers
        cache.refreshes = resolver.refreshes
        guard let disk = service.disk else { return }
        let status = disk.status
        (cache.file, cache.fileState, cache.fileError) = (disk.path, status.state.rawValue, status.reason)
        (cache.loaded, cache.written) = (status.loaded, status.written)
    }

    private func fill(_ report: inout StatusReport.SharedCache) {
        guard let store = composition.shared?.store else { return }
        report.address = store.name
        if let backoff = store.backoff {
            (report.state, report.retry) = state(backoffUntil: backoff.nextProbe)
            report.error = backoff.reason
        }
        let counters = store.counters
        (report.hits, report.misses) = (counters.hits, counters.misses)
        (report.timeouts, report.skipped) = (counters.timeouts, counters.skipped)
        (report.waits, report.served) = (counters.waits, counters.served)
        (report.written, report.refused, report.damaged) = (counters.written, counters.refused, counters.damaged)
        (report.refusedAge, report.damagedAge) = (age(counters.lastRefused), age(counters.lastDamaged))
    }

    private func provider(_ configured: Composition.ConfiguredProvider) -> StatusReport.Provider {
        var provider = StatusReport.Provider()
        provider.name = configured.entry.name
        provider.type = configured.entry.type.rawValue
        provider.url = configured.entry.url.shown
        provider.isAuthenticated = configured.entry.isAuthenticated
        if let until = configured.upstream.access.nextProbe, until > service.loop.now {
            (provider.state, provider.retry) = (.refused, (until - service.loop.now).wholeSeconds)
        }
        (provider.dailyLimit, provider.monthlyLimit) = (configured.entry.dailyLimit, configured.entry.monthlyLimit)
        let account = configured.upstream.account
        let (today, month) = (account.count(.day), account.count(.month))
        (provider.callsToday, provider.billedToday) = (today.calls, today.billed)
        (provider.callsThisMonth, provider.billedThisMonth) = (month.calls, month.billed)
        if let forecast = account.forecast {
            (provider.callsForecast, provider.billedForecast) = (forecast.calls, forecast.billed)
        }
        if let fleet = account.fleet {
            (provider.fleetServers, provider.fleetError) = (fleet.servers, fleet.failure)
            provider.fleetToday = fleet.total(.day)
            provider.fleetThisMonth = fleet.total(.month)
        }
        if let period = account.exhausted {
            (provider.state, provider.exhaustedUntil) = (.exhausted, period.end)
        }
        if let until = configured.upstream.disabledUntil {
            (provider.state, provider.retry) = (.disabled, max(0, (until - service.loop.now).wholeSeconds))
        }
        provider.clockOffset = Int(configured.upstream.clockOffset)
        provider.addresses = configured.upstream.knownEndpoints.map(address)
        return provider
    }

    private func address(_ endpoint: any Endpoint) -> StatusReport.Address {
        var address = StatusReport.Address()
        address.address = endpoint.name
        (address.state, address.retry) = state(backoffUntil: endpoint.health.backoff.nextProbe)
        let counters = endpoint.health.counters
        address.requests = counters.requests
        address.failures = counters.failures
        address.responseMilliseconds = endpoint.health.responseTime.map { Int($0 / .milliseconds(1)) }
        address.pace = endpoint.pace
        address.lastError = counters.lastFailure?.reason
        address.lastErrorAge = age(counters.lastFailure?.at)
        return address
    }

    private func servers(of localDNS: LocalDNS) -> [StatusReport.Server] {
        localDNS.servers.map { server in
            let group = localDNS.groups.count > 1 ? localDNS.group(of: server).map { $0 + 1 } : nil
            if localDNS.isLooping(server) {
                return .init(address: server.description, state: .loop, retry: nil, group: group)
            }
            let (state, retry) = state(backoffUntil: localDNS.backoffEnd(server))
            return .init(address: server.description, state: state, retry: retry, group: group)
        }
    }

    /// In seconds.
    private func age(_ event: Instant?) -> Int? { event.map { Int((service.loop.now - $0).components.seconds) } }

    private func state(backoffUntil end: Instant?) -> (StatusReport.State, Int?) {
        guard let end else { return (.used, nil) }
        return end > service.loop.now ? (.inBackoff, (end - service.loop.now).wholeSeconds) : (.probeDue, nil)
    }
}

extension Duration {
    /// In seconds, a part of one counting as one.
    var wholeSeconds: Int { Int(components.seconds) + (components.attoseconds > 0 ? 1 : 0) }
}

/// The metrics beside those of `status`, and where their values are. Documentation/Monitoring.md has a line for each.
struct ServiceMetrics {
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

    /// In order.
    static let all: [MetricFamily<ServiceMetrics>] = [
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
