package import DNSWire
import Scheduling

/// An event for the operators of the server; the composition logs it.
package enum ResolverEvent: Hashable, Sendable {
    /// An address of a provider failed and is in backoff.
    case endpointInBackoff(provider: String, endpoint: String, reason: String)
    /// An address of a provider has said "not so fast": it is sent this many requests at once; nil: any number again.
    case endpointPaced(provider: String, endpoint: String, limit: Int?)
    /// An address that was in backoff answers again.
    case endpointRecovered(provider: String, endpoint: String)
    /// No certificate at an address identifies the service; reported once, until that changes.
    case certificateRefused(provider: String, endpoint: String, reason: String)
    /// An address whose certificate was refused has a valid one.
    case certificateAccepted(provider: String, endpoint: String)
    /// A service's clock is `seconds` ahead of this host's (behind, if negative): requests are signed by its time.
    case clockCorrected(provider: String, seconds: Int64)
    /// This host's time of day cannot be right.
    case clockDoubted(ClockDoubt)
    /// There is no longer a reason to doubt the time of day.
    case clockTrusted
    /// A provider has been sent four fifths of its limit of calls for this day or month.
    case callLimitNear(provider: String, CallQuota.Period, limit: Int)
    /// A provider has been sent its limit of calls, and is not asked until the next day or month (UTC).
    case callLimitReached(provider: String, CallQuota.Period, limit: Int)
    /// A day has ended: what it was billed for. Reported with the first call of the next one.
    case dayBilled(provider: String, CallQuota.EndedDay)
    /// The servers that count a provider's calls together have sent it four fifths of its limit.
    case fleetLimitNear(provider: String, CallQuota.Period, limit: Int)
    /// They have sent it its limit of calls, and none of them asks it until the next day or month (UTC).
    case fleetLimitReached(provider: String, CallQuota.Period, limit: Int)
    /// This server has sent a provider its own share of the limit, while the fleet's count cannot be had.
    case shareReached(provider: String, CallQuota.Period, limit: Int)
    /// The calls of the fleet to a provider cannot be counted: this server keeps to its own share.
    case fleetCountMissing(provider: String, reason: String)
    /// The calls of the fleet to a provider are counted again.
    case fleetCountBack(provider: String)
    /// A provider refuses the account, signature or token: it is in backoff.
    case providerRefusedAccess(provider: String, reason: String)
    /// A provider that refused access answers again.
    case providerAccepted(provider: String)
    /// A service announced the addresses at which it is asked from now on.
    case addressesAnnounced(provider: String, addresses: [String])
    /// No startup address of a service returned its addresses: those known stay in use.
    case addressesMissing(provider: String, reason: String)
    /// A service reported that its vendor has disabled it: it is not asked.
    case serviceDisabled(provider: String)
    /// A disabled service is asked again.
    case serviceEnabled(provider: String)
    /// The servers of LocalDNS are to be found on this machine, and none is there.
    case serversMissing(upstream: String, reason: String)
    /// A server of LocalDNS, or of a `forward` entry, did not answer a probe, and is in backoff: the others are
    /// asked before it.
    case serverSilent(upstream: String, server: String, reason: String)
    /// Such a server answers again.
    case serverRecovered(upstream: String, server: String)
    /// A server of LocalDNS, or of a `forward` entry, sends this server's queries back to it (a forwarding loop): it is
    /// not asked.
    case serverLoops(upstream: String, server: String)
    /// Such a server was probed again, and the query did not come back.
    case serverLoopEnded(upstream: String, server: String)
    /// No source had an answer, and none is cached: clients get SERVFAIL.
    case answerFailed(Question, Route, reason: String)
    /// No source had an answer in time, and clients get one that is past its TTL.
    case answerStale(Question, Route, reason: String)
    /// LocalDNS gave an address for a protected name whose certificate is not the name's.
    case addressForged(HijackedAddress)
    /// The same, but addresses of unrelated names show one certificate: the network intercepts connections, whatever
    /// LocalDNS answers.
    case connectionsIntercepted(HijackedAddress)
    /// No source had an answer, and clients get the configured addresses of last resort.
    case answerPreset(Question, Route, reason: String)
    /// A limit of the resolver is reached.
    case overloaded(reason: String)
    /// A client network asks for more names that share their last two labels than `limits.misses_per_second` allows.
    case missesRefused(ClientNetwork, domain: Name)
    /// A client network has had its share of the calls that the providers' limits leave.
    case callsRefused(ClientNetwork)
}

extension ResolverEvent: CustomStringConvertible {
    package var description: String {
        switch self {
        case .endpointInBackoff(let provider, let endpoint, let reason):
            "\(provider): \(endpoint) is in backoff: \(reason)"
        case .endpointPaced(let provider, let endpoint, let limit?):
            "\(provider): \(endpoint) says \"not so fast\": at most \(limit) requests at once are sent there for now"
        case .endpointPaced(let provider, let endpoint, nil):
            "\(provider): \(endpoint) takes any number of requests again"
        case .endpointRecovered(let provider, let endpoint):
            "\(provider): \(endpoint) answers again"
        case .certificateRefused(let provider, let endpoint, let reason):
            "\(provider): \(endpoint) is not asked: \(reason)"
        case .certificateAccepted(let provider, let endpoint):
            "\(provider): \(endpoint) has a good certificate again"
        case .clockCorrected(let provider, let seconds):
            "\(provider): the service's clock is \(seconds.magnitude) s \(seconds < 0 ? "behind" : "ahead of") ours; requests are signed by its time. Set this machine's clock"
        case .clockDoubted(let doubt):
            "this machine's clock \(doubt): certificates prove little until it is set"
        case .clockTrusted:
            "nothing speaks against this machine's clock any more"
        case .callLimitNear(let provider, let period, let limit):
            "\(provider): four fifths of its \(period.key) of \(limit) calls are used; beyond it the next source is asked, and what is cached is served stale"
        case .callLimitReached(let provider, let period, let limit):
            "\(provider): the \(period.key) of \(limit) calls is reached: not asked until \(period.end), the next source is"
        case .dayBilled(let provider, let ended): "\(provider): \(ended.text)"
        case .fleetLimitNear(let provider, let period, let limit):
            "\(provider): the fleet has used four fifths of its \(period.key) of \(limit) calls; beyond it the next source is asked, and what is cached is served stale"
        case .fleetLimitReached(let provider, let period, let limit):
            "\(provider): the fleet has reached its \(period.key) of \(limit) calls: not asked until \(period.end), the next source is"
        case .shareReached(let provider, let period, let limit):
            "\(provider): this server's share of the \(period.key) of \(limit) calls is reached, and the fleet's calls cannot be counted: not asked until they can, or \(period.end); the next source is"
        case .fleetCountMissing(let provider, let reason):
            "\(provider): the fleet's calls cannot be counted in the shared cache, and this server keeps to its own share of the limits: \(reason)"
        case .fleetCountBack(let provider): "\(provider): the fleet's calls are counted in the shared cache again"
        case .providerRefusedAccess(let provider, let reason):
            "\(provider): access refused: \(reason); not asked until a probe is accepted. Check account, secret and the clock"
        case .providerAccepted(let provider):
            "\(provider): access is granted again"
        case .addressesAnnounced(let provider, let addresses):
            "\(provider): the service is asked at \(addresses.joined(separator: ", "))"
        case .addressesMissing(let provider, let reason):
            "\(provider): the service does not return its addresses, those known stay in use: \(reason)"
        case .serviceDisabled(let provider):
            "\(provider): the vendor has disabled the service for this account: not asked, and looked at again in a day"
        case .serviceEnabled(let provider):
            "\(provider): the vendor has enabled the service again"
        case .serversMissing(_, let reason):
            "localdns.servers: \(reason)"
        case .serverSilent(let upstream, let server, let reason):
            "\(upstream): \(server) does not answer, others are asked before it: \(reason)"
        case .serverRecovered(let upstream, let server):
            "\(upstream): \(server) answers again"
        case .serverLoops(let upstream, let server):
            "\(upstream): \(server) sends our own questions back to us, and is not asked"
        case .serverLoopEnded(let upstream, let server):
            "\(upstream): \(server) does not send our own questions back to us any more"
        case .answerFailed(let question, let route, let reason):
            "\(question) (\(route)) has no answer: \(reason)"
        case .answerStale(let question, let route, let reason):
            "\(question) (\(route)) is answered from what is past its TTL: \(reason)"
        case .addressForged(let entry):
            "LocalDNS is hijacked: it answered \(entry.address) for \(entry.name), and \(entry.evidence)"
        case .connectionsIntercepted(let entry):
            "this network intercepts TLS: \(entry.address) for \(entry.name) shows a certificate that the addresses of unrelated names show too, and \(entry.evidence)"
        case .answerPreset(let question, let route, let reason):
            "\(question) (\(route)) is answered from preset.last_resort: \(reason)"
        case .overloaded(let reason):
            "\(reason): further clients get SERVFAIL"
        case .missesRefused(let network, let domain):
            "\(network) asks for more names that are not cached than limits.misses_per_second allows, now below \(domain): it gets what is past its TTL, or SERVFAIL"
        case .callsRefused(let network):
            "\(network) has had its share of the calls that daily_limit or monthly_limit leaves: for names that are not cached it gets SERVFAIL"
        }
    }
}

extension CallQuota.EndedDay {
    /// `2026-11-25`.
    private var dayText: String {
        let date = UTCDate(daysSince1970: day.period)
        return "\(date.year)-\(date.month < 10 ? "0" : "")\(date.month)-\(date.day < 10 ? "0" : "")\(date.day)"
    }

    fileprivate var text: String {
        let total = forecast.map { ", about \(Self.text($0)) by its end" } ?? ""
        return "\(dayText) (UTC) had \(Self.text(day)); its month until then \(Self.text(month))\(total)"
    }

    private static func text(_ count: CallCount) -> String {
        "\(count.calls) calls\(count.billed > 0 ? ", billed as \(count.billed)" : "")"
    }
}
