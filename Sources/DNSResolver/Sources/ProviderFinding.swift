import Scheduling

/// What the providers found of a type whose result depends on LocalDNS too.
package enum ProviderFinding: Sendable {
    /// An indeterminate empty response.
    case empty(EmptyFamily)
    /// NXDOMAIN for a name that may be one of the local network: addresses of LocalDNS take precedence, and without a
    /// response of LocalDNS the denial is provisional.
    case denied
}

/// An indeterminate empty response of a provider for one address family, which may mean that it does not know the name.
///
/// An object: mostly there is none, and passing it on then copies one word.
package final class EmptyFamily: Sendable {
    /// Seconds for which "this name has no address of that family" is cached at most, when a service gives one TTL for
    /// both families or a long one for an empty family.
    private static let limit: UInt32 = 300

    /// The index of the provider, from 0.
    let provider: Int
    /// The server of the provider.
    let server: String
    /// The TTL as sent by the service; nil: none was.
    let sentTTL: UInt32?
    /// Until when answers of providers are awaited in that flight.
    let deadline: Instant

    init(provider: Int, server: String, sentTTL: UInt32?, deadline: Instant) {
        self.deadline = deadline
        self.provider = provider
        self.server = server
        self.sentTTL = sentTTL
    }

    /// Seconds for which it is cached as NODATA where the provider is known to know the name.
    var ttl: UInt32 { min(sentTTL ?? Self.limit, Self.limit) }
}
