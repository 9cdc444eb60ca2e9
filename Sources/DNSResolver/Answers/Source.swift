package import DNSWire
import Scheduling

/// Where an answer came from, by its place in the policy that asked.
package enum Source: Hashable, Sendable {
    case localDNS
    /// LocalDNS, for a protected name, with every address verified by its certificate.
    case verifiedLocalDNS
    /// The servers of `[[forward]]` entry `index`, counted from 0.
    case forward(index: Int)
    /// Provider `index`, counted from 0.
    case provider(index: Int)
    /// Made here: NODATA by a local rule.
    case rule
    /// Made here: static addresses from the configuration.
    case preset
}

/// Receives one type's result as soon as it is final, the server of the source that answered, and with an answer of LocalDNS
/// the provider that called the type empty.
package typealias SettleType = @Loop (RecordType, UpstreamResult, Source, _ server: String, EmptyFamily?) -> Void
