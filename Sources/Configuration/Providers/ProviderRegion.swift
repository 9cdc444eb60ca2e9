/// Where a vendor has a service of its own.
package enum ProviderRegion: String, Hashable, Sendable, CaseIterable {
    /// Mainland China.
    case cn
    /// Hong Kong.
    case hk
    /// Singapore.
    case sg
    /// Germany.
    case de
    /// The United States.
    case us
    /// Tencent's service outside China.
    case intl
}
