package import DNSWire
import Scheduling

/// What became of one type of a flight: its result, and where that is from.
package struct SourcedResult: Sendable {
    package let type: RecordType
    package let result: UpstreamResult
    package let source: Source
    /// The address and port of the server that answered; empty when none did.
    package let server: String
    /// Whether the providers deny a name that may be of the local network: addresses of LocalDNS take precedence, and
    /// without a response of LocalDNS the denial is provisional.
    var isDenied = false
    /// The last indeterminate empty response of a provider, where none has answered or denied the name; nil: there was
    /// none.
    var empty: EmptyFamily?
    /// Seconds for which an answer from the shared cache may be used at most; nil: it is not from there.
    var sharedFor: UInt32?

    init(_ type: RecordType, _ result: UpstreamResult, _ source: Source, _ server: String) {
        self.type = type
        self.result = result
        self.source = source
        self.server = server
    }

    /// The same with another result in its place.
    func with(_ result: UpstreamResult, from source: Source? = nil) -> SourcedResult {
        var changed = SourcedResult(type, result, source ?? self.source, server)
        changed.isDenied = isDenied
        changed.empty = empty
        changed.sharedFor = sharedFor
        return changed
    }
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
