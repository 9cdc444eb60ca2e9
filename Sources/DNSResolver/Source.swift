/// Where an answer came from; the cache keeps its `tag`.
package enum Source: Hashable, Sendable {
    case localDNS
    /// The servers of `[[route.forward]]` entry `index`, counted from 0.
    case forward(index: Int)
    /// Provider `index`, counted from 0.
    case provider(index: Int)
    /// Made here: NODATA by a rule of ours.
    case rule

    package var tag: UInt16 {
        switch self {
        case .localDNS: 0
        case .rule: 1
        case .forward(let index): 0x4000 | UInt16(truncatingIfNeeded: index) & 0x3fff
        case .provider(let index): 0x8000 | UInt16(truncatingIfNeeded: index) & 0x3fff
        }
    }
}
