import DNSCache
import DNSWire
import Scheduling

// Addresses that stand for others, by the prefix of the policy in force (DNS64).

extension AnswerStore {
    /// The route under which they are cached: they are of no use by another prefix, or without one. No `[[forward]]` entry has it.
    private static let translatedRoute = UInt16.max - 2

    /// Whether the addresses were made of others, by the prefix of the policy of that time.
    func isTranslated(_ entry: CacheEntry) -> Bool { entry.route == Self.translatedRoute }

    /// The number of the route under which an answer is cached.
    func routeTag(of route: Route, isTranslated: Bool) -> UInt16 { isTranslated ? Self.translatedRoute : route.tag }

    /// Whether a provider's answer may be used only while the policy is in force by which it was decided.
    ///
    /// Service bindings lose their hints by one policy and keep them by another. Addresses that were made of others are wrong by
    /// another prefix, and "no IPv6 address" is wrong since there is one. So are addresses of a family that is suppressed now.
    func dependsOnPolicy(_ entry: CacheEntry, _ type: RecordType) -> Bool {
        type.isServiceBinding || isTranslated(entry) || isTranslating && type == .aaaa && entry.isNegative
            || type == suppressed && !entry.isNegative
    }
}
