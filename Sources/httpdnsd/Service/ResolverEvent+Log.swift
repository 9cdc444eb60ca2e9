import DNSResolver
import DNSWire
import Logging
import Logs

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
        case .dayBilled(let provider, let ended):
            self.init(
                .providerBilled, text, of: provider,
                [
                    "calls": .stringConvertible(ended.day.calls), "billed": .stringConvertible(ended.day.billed),
                    "month_calls": .stringConvertible(ended.month.calls),
                    "month_billed": .stringConvertible(ended.month.billed),
                ])
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
