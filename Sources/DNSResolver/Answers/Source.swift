/// The source of an answer, by its index in the policy that asked.
package enum Source: Hashable, Sendable {
    case localDNS
    /// LocalDNS, for a protected name, with every address verified by its certificate.
    case verifiedLocalDNS
    /// The servers of `[[forward]]` entry `index`, counted from 0.
    case forward(index: Int)
    /// Provider `index`, counted from 0.
    case provider(index: Int)
    /// The shared cache, which has it of provider `index`.
    case shared(index: Int)
    /// Made here: NODATA by a local rule.
    case rule
    /// Made here: static addresses from the configuration.
    case preset
}
