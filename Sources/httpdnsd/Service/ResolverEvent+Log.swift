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
            self.init(
                .providerBackoff, about: "\(provider) \(endpoint)", text,
                ["provider": "\(provider)", "address": "\(endpoint)", "reason": "\(reason)"])
        case .endpointPaced(let provider, let endpoint, let limit):
            self.init(
                .providerPace, about: "\(provider) \(endpoint)", text,
                ["provider": "\(provider)", "address": "\(endpoint)", "limit": "\(limit ?? 0)"])
        case .endpointRecovered(let provider, let endpoint):
            self.init(
                .providerAddressBack, about: "\(provider) \(endpoint)", text,
                ["provider": "\(provider)", "address": "\(endpoint)"])
        case .certificateRefused(let provider, let endpoint, let reason):
            self.init(
                .providerCertificateRefused, about: "\(provider) \(endpoint)", text,
                ["provider": "\(provider)", "address": "\(endpoint)", "reason": "\(reason)"])
        case .certificateAccepted(let provider, let endpoint):
            self.init(
                .providerCertificateAccepted, about: "\(provider) \(endpoint)", text,
                ["provider": "\(provider)", "address": "\(endpoint)"])
        case .clockCorrected(let provider, let seconds):
            self.init(
                .providerClock, about: provider, text,
                ["provider": "\(provider)", "offset_seconds": .stringConvertible(seconds)])
        case .clockDoubted(let doubt):
            self.init(.clockDoubted, about: "", text, ["reason": "\(doubt)"])
        case .clockTrusted:
            self.init(.clockTrusted, about: "", text)
        case .callLimitNear(let provider, let period, let limit), .fleetLimitNear(let provider, let period, let limit):
            self.init(
                .providerLimitNear, about: provider, text,
                ["provider": "\(provider)", "key": "\(period.key)", "limit": .stringConvertible(limit)])
        case .callLimitReached(let provider, let period, let limit),
            .fleetLimitReached(let provider, let period, let limit), .shareReached(let provider, let period, let limit):
            self.init(
                .providerLimit, about: provider, text,
                ["provider": "\(provider)", "key": "\(period.key)", "limit": .stringConvertible(limit)])
        case .dayBilled(let provider, let ended):
            self.init(
                .providerBilled, about: provider, text,
                [
                    "provider": "\(provider)", "calls": .stringConvertible(ended.day.calls),
                    "billed": .stringConvertible(ended.day.billed),
                    "month_calls": .stringConvertible(ended.month.calls),
                    "month_billed": .stringConvertible(ended.month.billed),
                ])
        case .fleetCountMissing(let provider, let reason):
            self.init(
                .providerFleetUncounted, about: provider, text, ["provider": "\(provider)", "reason": "\(reason)"])
        case .fleetCountBack(let provider):
            self.init(.providerFleetCounted, about: provider, text, ["provider": "\(provider)"])
        case .providerRefusedAccess(let provider, let reason):
            self.init(.providerRefused, about: provider, text, ["provider": "\(provider)", "reason": "\(reason)"])
        case .providerAccepted(let provider):
            self.init(.providerAccepted, about: provider, text, ["provider": "\(provider)"])
        case .addressesAnnounced(let provider, let addresses):
            let list = addresses.joined(separator: ", ")
            self.init(
                .providerAddresses, about: "\(provider) \(list)", text,
                ["provider": "\(provider)", "addresses": "\(list)"])
        case .addressesMissing(let provider, let reason):
            self.init(
                .providerAddressesUnavailable, about: provider, text,
                ["provider": "\(provider)", "reason": "\(reason)"])
        case .serviceDisabled(let provider):
            self.init(.providerDisabled, about: provider, text, ["provider": "\(provider)"])
        case .serviceEnabled(let provider):
            self.init(.providerEnabled, about: provider, text, ["provider": "\(provider)"])
        case .serversMissing(let upstream, let reason):
            self.init(
                .localDNSNoServers, about: upstream, text, ["upstream": "\(upstream)", "reason": "\(reason)"])
        case .serverSilent(let upstream, let server, let reason):
            self.init(
                .localDNSServerSilent, about: "\(upstream) \(server)", text,
                ["upstream": "\(upstream)", "address": "\(server)", "reason": "\(reason)"])
        case .serverRecovered(let upstream, let server):
            self.init(
                .localDNSServerBack, about: "\(upstream) \(server)", text,
                ["upstream": "\(upstream)", "address": "\(server)"])
        case .serverLoops(let upstream, let server):
            self.init(
                .localDNSServerLoops, about: "\(upstream) \(server)", text,
                ["upstream": "\(upstream)", "address": "\(server)"])
        case .serverLoopEnded(let upstream, let server):
            self.init(
                .localDNSServerLoopEnded, about: "\(upstream) \(server)", text,
                ["upstream": "\(upstream)", "address": "\(server)"])
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
