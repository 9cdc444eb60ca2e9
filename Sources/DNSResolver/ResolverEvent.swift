/// What the people who run the server should hear of; the composition logs it.
package enum ResolverEvent: Hashable, Sendable {
    /// An address of a provider failed and is left alone for a while.
    case endpointSetAside(provider: String, endpoint: String, reason: String)
    /// An address that was set aside answers again.
    case endpointRecovered(provider: String, endpoint: String)
    /// A provider refuses the account, signature or token; it is left alone for `pause`.
    case providerRefusedAccess(provider: String, reason: String, pause: Duration)
}

extension ResolverEvent: CustomStringConvertible {
    package var description: String {
        switch self {
        case .endpointSetAside(let provider, let endpoint, let reason):
            "\(provider): \(endpoint) is set aside: \(reason)"
        case .endpointRecovered(let provider, let endpoint):
            "\(provider): \(endpoint) answers again"
        case .providerRefusedAccess(let provider, let reason, let pause):
            "\(provider): access refused: \(reason); not asked for \(pause.components.seconds) s. Check account, secret and the clock"
        }
    }
}
