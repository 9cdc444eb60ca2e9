import Scheduling

/// How the sources of one protected name are asked.
struct SourceRules: Sendable {
    /// One of the two sources of a protected name.
    enum Contender {
        case httpdns, localDNS
    }

    /// Seconds for which "no service binding" is cached when the providers that could answer have failed.
    static let failedServiceBindingTTL: UInt32 = 5

    /// The source that is asked at once; the other one is asked when it is due or the first has failed.
    let first: Contender
    /// Whether a provider may be asked.
    let hasProviders: Bool
    let mayUseLocalDNS: Bool
    /// Whether the records may only come from authenticated providers.
    let isServiceBinding: Bool
    /// Whether the name may be one of the local network, so that LocalDNS is asked when HTTPDNS denies it.
    let mayBeLocal: Bool
    /// Whether that needs a certificate, too: a network adds no host to a domain that a list has.
    let needsProof: Bool
    /// When the question was asked.
    let began: Instant

    /// When HTTPDNS is no longer waited for, and LocalDNS is no longer asked.
    var lastStart: Instant { began + Budget.lastStart }
}
