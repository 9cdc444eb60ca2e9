/// What a provider called empty without saying why, which may mean that it does not know the name.
///
/// An object: mostly there is none, and what hands it on then copies one word.
package final class EmptyFamily: Sendable {
    /// Seconds for which "this name has no address of that family" is kept at most, when a service gives one TTL for
    /// both families or a long one for an empty family.
    private static let limit: UInt32 = 300

    /// Counted from 0.
    let provider: Int
    /// The server of the provider.
    let server: String
    /// As told; nil: none was.
    let told: UInt32?

    init(provider: Int, server: String, told: UInt32?) {
        self.provider = provider
        self.server = server
        self.told = told
    }

    /// Seconds for which it is kept as NODATA where the provider is known to know the name.
    var ttl: UInt32 { min(told ?? Self.limit, Self.limit) }
}
