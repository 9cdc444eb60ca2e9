public import DNSWire

/// An event for the operators of the server; the composition logs it. What has happened: `description`.
public enum ResolverEvent: Hashable, Sendable {
    case endpointInBackoff(provider: String, endpoint: String, reason: String)
    /// Nil: any number again.
    case endpointPaced(provider: String, endpoint: String, limit: Int?)
    case endpointRecovered(provider: String, endpoint: String)
    /// Reported once, until that changes.
    case certificateRefused(provider: String, endpoint: String, reason: String)
    case certificateAccepted(provider: String, endpoint: String)
    /// The service's clock is `seconds` ahead of this host's; behind, if negative.
    case clockCorrected(provider: String, seconds: Int64)
    case clockDoubted(ClockDoubt)
    case clockTrusted
    case callLimitNear(provider: String, CallPeriod, limit: Int)
    case callLimitReached(provider: String, CallPeriod, limit: Int)
    /// What a day was billed for, as text and as numbers. Reported with the first call of the next one.
    case dayBilled(provider: String, text: String, counts: [String: Int])
    case fleetLimitNear(provider: String, CallPeriod, limit: Int)
    case fleetLimitReached(provider: String, CallPeriod, limit: Int)
    /// Its own share of the limit, while the fleet's count cannot be had.
    case shareReached(provider: String, CallPeriod, limit: Int)
    case fleetCountMissing(provider: String, reason: String)
    case fleetCountBack(provider: String)
    case providerRefusedAccess(provider: String, reason: String)
    case providerAccepted(provider: String)
    case addressesAnnounced(provider: String, addresses: [String])
    case addressesMissing(provider: String, reason: String)
    case serviceDisabled(provider: String)
    case serviceEnabled(provider: String)
    /// The servers of LocalDNS are to be found on this machine, and none is there.
    case serversMissing(upstream: String, reason: String)
    /// A server of LocalDNS, or of a `forward` entry, did not answer a probe, and is in backoff.
    case serverSilent(upstream: String, server: String, reason: String)
    case serverRecovered(upstream: String, server: String)
    /// A forwarding loop.
    case serverLoops(upstream: String, server: String)
    case serverLoopEnded(upstream: String, server: String)
    /// No source had an answer, and none is cached: clients get SERVFAIL.
    case answerFailed(Question, Route, reason: String)
    case answerStale(Question, Route, reason: String)
    /// Of a protected name.
    case addressForged(HijackedAddress)
    /// Whatever LocalDNS answers.
    case connectionsIntercepted(HijackedAddress)
    case answerPreset(Question, Route, reason: String)
    case overloaded(reason: String)
    /// A client network asks for more names that share their last two labels than `limits.misses_per_second` allows.
    case missesRefused(ClientNetwork, domain: Name)
    case callsRefused(ClientNetwork)
}

extension ResolverEvent: CustomStringConvertible {
    public var description: String {
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
        case .dayBilled(let provider, let text, _): "\(provider): \(text)"
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

/// The time for which a provider's calls are limited, in UTC.
public enum CallPeriod: CaseIterable, Hashable, Sendable {
    case day, month

    /// The key of its limit in the configuration.
    public var key: String { self == .day ? "daily_limit" : "monthly_limit" }

    /// When calls may be made again.
    public var end: String { self == .day ? "00:00 UTC" : "the first of the next month, 00:00 UTC" }
}
