import Admin
import DNSResolver
import DNSWire
import DiskCache
import Logging
import Platform
import Upstreams

extension LogMessage {
    /// What the log says of an event.
    init(_ event: ResolverEvent) {
        let text = event.description
        switch event {
        case .endpointInBackoff(let provider, let endpoint, let reason):
            self.init(.providerBackoff, text, of: provider, at: endpoint, ["reason": "\(reason)"])
        case .endpointPaced(let provider, let endpoint, let limit):
            self.init(.providerPace, text, of: provider, at: endpoint, ["limit": "\(limit ?? 0)"])
        case .endpointRecovered(let provider, let endpoint):
            self.init(.providerAddressBack, text, of: provider, at: endpoint)
        case .certificateRefused(let provider, let endpoint, let reason):
            self.init(.providerCertificateRefused, text, of: provider, at: endpoint, ["reason": "\(reason)"])
        case .certificateAccepted(let provider, let endpoint):
            self.init(.providerCertificateAccepted, text, of: provider, at: endpoint)
        case .clockCorrected(let provider, let seconds):
            self.init(.providerClock, text, of: provider, ["offset_seconds": .stringConvertible(seconds)])
        case .clockDoubted(let doubt):
            self.init(.clockDoubted, about: "", text, ["reason": "\(doubt)"])
        case .clockTrusted:
            self.init(.clockTrusted, about: "", text)
        case .callLimitNear(let provider, let period, let limit), .fleetLimitNear(let provider, let period, let limit):
            self.init(
                .providerLimitNear, text, of: provider, ["key": "\(period.key)", "limit": .stringConvertible(limit)])
        case .callLimitReached(let provider, let period, let limit),
            .fleetLimitReached(let provider, let period, let limit), .shareReached(let provider, let period, let limit):
            self.init(.providerLimit, text, of: provider, ["key": "\(period.key)", "limit": .stringConvertible(limit)])
        case .dayBilled(let provider, _, let counts):
            self.init(.providerBilled, text, of: provider, counts.mapValues { .stringConvertible($0) })
        case .fleetCountMissing(let provider, let reason):
            self.init(.providerFleetUncounted, text, of: provider, ["reason": "\(reason)"])
        case .fleetCountBack(let provider): self.init(.providerFleetCounted, text, of: provider)
        case .providerRefusedAccess(let provider, let reason):
            self.init(.providerRefused, text, of: provider, ["reason": "\(reason)"])
        case .providerAccepted(let provider): self.init(.providerAccepted, text, of: provider)
        case .addressesAnnounced(let provider, let addresses):
            let list = addresses.joined(separator: ", ")
            self.init(
                .providerAddresses, about: "\(provider) \(list)", text,
                ["provider": "\(provider)", "addresses": "\(list)"])
        case .addressesMissing(let provider, let reason):
            self.init(.providerAddressesUnavailable, text, of: provider, ["reason": "\(reason)"])
        case .serviceDisabled(let provider): self.init(.providerDisabled, text, of: provider)
        case .serviceEnabled(let provider): self.init(.providerEnabled, text, of: provider)
        case .serversMissing(let upstream, let reason):
            self.init(.localDNSNoServers, text, "upstream", of: upstream, ["reason": "\(reason)"])
        case .serverSilent(let upstream, let server, let reason):
            self.init(.localDNSServerSilent, text, "upstream", of: upstream, at: server, ["reason": "\(reason)"])
        case .serverRecovered(let upstream, let server):
            self.init(.localDNSServerBack, text, "upstream", of: upstream, at: server)
        case .serverLoops(let upstream, let server):
            self.init(.localDNSServerLoops, text, "upstream", of: upstream, at: server)
        case .serverLoopEnded(let upstream, let server):
            self.init(.localDNSServerLoopEnded, text, "upstream", of: upstream, at: server)
        case .answerFailed(let question, let route, let reason):
            self.init(.answerFailed, about: route.description, text, Self.fields(question, route, reason))
        case .answerStale(let question, let route, let reason):
            self.init(.answerStale, about: route.description, text, Self.fields(question, route, reason))
        case .addressForged(let entry): self.init(.localDNSForged, about: "", text, Self.fields(entry))
        case .connectionsIntercepted(let entry): self.init(.networkIntercepted, about: "", text, Self.fields(entry))
        case .answerPreset(let question, let route, let reason):
            self.init(.answerPreset, about: route.description, text, Self.fields(question, route, reason))
        case .overloaded(let reason):
            self.init(.limitQueries, about: "flights", text, ["reason": "\(reason)"])
        case .missesRefused(let network, let domain):
            self.init(
                .limitMisses, about: "\(network)", text, ["network": "\(network)", "suffix": "\(domain)"])
        case .callsRefused(let network):
            self.init(.limitMisses, about: "\(network)", text, ["network": "\(network)", "suffix": "."])
        }
    }

    /// Of a source, whose name has `key`, and of one of its addresses.
    private init(
        _ kind: LogKind, _ text: String, _ key: String = "provider", of source: String, at address: String? = nil,
        _ more: Logger.Metadata = [:]
    ) {
        var fields = more
        fields[key] = "\(source)"
        fields["address"] = address.map { "\($0)" }
        self.init(kind, about: source + (address.map { " \($0)" } ?? ""), text, fields)
    }

    private static func fields(_ entry: HijackedAddress) -> Logger.Metadata {
        [
            "name": "\(entry.name)", "address": "\(entry.address)", "reason": "\(entry.evidence.reason)",
            "subject": "\(entry.evidence.subject)", "issuer": "\(entry.evidence.issuer)",
        ]
    }

    /// Names may be any, so the subject is the route: else every name that fails would have a line.
    private static func fields(_ question: Question, _ route: Route, _ reason: String) -> Logger.Metadata {
        [
            "name": "\(question.name)", "type": "\(question.type)", "route": "\(route)", "reason": "\(reason)",
        ]
    }
}

extension DiskEvent {
    var kind: LogKind {
        switch self {
        case .unavailable: .diskUnavailable
        case .back: .diskBack
        case .quarantined: .diskQuarantined
        case .loaded: .diskLoaded
        }
    }

    var text: String {
        switch self {
        case .unavailable(let reason):
            "the cache on disk cannot be used, answers are cached in memory alone: \(reason); cache.disk.path names another file"
        case .back: "the cache on disk is used again"
        case .quarantined(let path?, let reason):
            "the cache on disk is damaged, or of another version (\(reason)): it is now \(path), and a new one is started"
        case .quarantined(nil, let reason):
            "the cache on disk is damaged, or of another version (\(reason)), and a new one is started"
        case .loaded(let count, true): "loaded \(counted(count, "answer")) of the last time from disk"
        case .loaded(let count, false):
            "loaded \(counted(count, "answer")) of the last time from disk; memory has no room for the others, which are read as they are asked for"
        }
    }
}

/// What to look at when Redis cannot be asked or refuses a command.
private func keyToCheck(_ reason: String) -> String {
    func says(_ texts: String...) -> Bool { texts.contains { reason.contains($0) } }
    if says("NOAUTH") { return "cache.shared.url: it has no password, and this Redis wants one" }
    if says("WRONGPASS", "AUTH") { return "user and password in cache.shared.url" }
    if says("NOPERM") { return "the rights of the user in cache.shared.url" }
    if says("OOM") { return "maxmemory-policy of Redis: allkeys-lru" }
    if says("READONLY", "MASTERDOWN", "LOADING") { return "that cache.shared.url leads to the master" }
    if says("MOVED", "CLUSTERDOWN") {
        return "cache.shared.url: it leads to a node of a Redis Cluster, which is not followed; give a proxy's address"
    }
    if says("certificate") { return "cache.shared.ca_file, and the host in cache.shared.url" }
    if says("no reply") { return "cache.shared.url, the network, and cache.shared.timeout" }
    if says("not Redis's protocol") { return "cache.shared.url: what answers is no Redis, or wants rediss://" }
    return "cache.shared.url"
}

extension LogMessage {
    init(_ event: SharedStoreEvent) {
        switch event {
        case .unavailable(let place, let reason):
            self.init(
                .sharedUnavailable, about: place,
                "the shared cache at \(place) is in backoff, and providers are asked instead: \(reason). Check \(keyToCheck(reason))",
                ["address": "\(place)", "reason": "\(reason)"])
        case .available(let place):
            self.init(
                .sharedBack, about: place, "the shared cache at \(place) answers again", ["address": "\(place)"])
        case .refused(let place, let reason):
            self.init(
                .sharedRefused, about: place,
                "the shared cache at \(place) takes no answers: \(reason). Check \(keyToCheck(reason))",
                ["address": "\(place)", "reason": "\(reason)"])
        case .damaged(let place):
            self.init(
                .sharedDamaged, about: place,
                "a value of the shared cache at \(place) is no answer: it was sealed under another cache.shared.key, or changed",
                ["address": "\(place)"])
        }
    }
}
