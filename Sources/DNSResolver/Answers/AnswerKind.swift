/// The kinds of answers by which they are counted: where each came from.
package enum AnswerKind: Int, CaseIterable, Sendable {
    /// The memory cache had it, within its TTL.
    case memory
    /// The cache file had it, and memory did not.
    case disk
    /// It was cached and past its TTL, and no source had a newer one in time.
    case stale
    case provider
    /// LocalDNS gave it for a protected name, and certificates verify its addresses.
    case verifiedLocalDNS
    /// LocalDNS gave it for a protected name, and nothing verifies it.
    case unverifiedLocalDNS
    /// LocalDNS gave it for a name that is not protected.
    case localDNS
    /// The servers of a `[[forward]]` entry.
    case forward
    /// The configuration has its addresses.
    case preset
    /// It was made here: by a local rule, or a refusal.
    case rule
    /// There was none: SERVFAIL.
    case failure

    /// - Parameters:
    ///   - tag: the number of the source, of this policy or an earlier one.
    ///   - route: by which the source was asked.
    init(_ tag: UInt16, route: Route) {
        if SourceTags.isProvider(tag) {
            self = .provider
        } else if tag == SourceTags.rule {
            self = .rule
        } else if tag == SourceTags.preset {
            self = .preset
        } else if SourceTags.isTrusted(tag) {
            self = .verifiedLocalDNS
        } else {
            switch route {
            case .protect: self = .unverifiedLocalDNS
            case .bypass, .portal: self = .localDNS
            case .forward: self = .forward
            }
        }
    }
}
