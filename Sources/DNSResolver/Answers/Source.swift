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

/// Where an answer came from: by these it is counted, and named wherever its source is.
package enum AnswerKind: Int, CaseIterable, Sendable {
    /// The memory cache had it, within its TTL.
    case cache
    /// The cache file had it, and memory did not.
    case disk
    /// It was cached and past its TTL, and no source had a newer one in time.
    case stale
    case provider
    /// The cache that servers share had it, as a provider gave it to one of them.
    case shared
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
            self = SourceTags.isShared(tag) ? .shared : .provider
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

    /// The only word for it in `why`, traces, logs, metrics and on the page.
    package var word: String {
        switch self {
        case .cache: "cache"
        case .disk: "disk"
        case .stale: "stale"
        case .provider: "provider"
        case .shared: "shared"
        case .verifiedLocalDNS: "localdns_verified"
        case .unverifiedLocalDNS: "localdns_unverified"
        case .localDNS: "localdns"
        case .forward: "forward"
        case .preset: "preset"
        case .rule: "rule"
        case .failure: "none"
        }
    }
}

/// The source of an answer in output.
package struct SourceName: Hashable, Sendable {
    package var kind: AnswerKind
    /// The provider's name; empty where none gave the answer, or the configuration has it no more.
    package var provider: String

    package init(_ kind: AnswerKind, provider: String = "") {
        (self.kind, self.provider) = (kind, provider)
    }

    package var word: String { kind.word }

    /// Such as `provider aliyun`, or `cache`.
    package var text: String { provider.isEmpty ? word : "\(word) \(provider)" }

    /// The same as `key=value` words.
    var pairs: String { "source=\(word)" + (provider.isEmpty ? "" : " provider=\(provider)") }
}
