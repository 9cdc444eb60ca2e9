import DNSCache
import DNSWire
import Synchronization

/// Which cached answers may be used: under the policy in force, on the present network, for a question that takes a
/// route.
@Loop
struct AnswerRules {
    /// The route under which answers from the configuration are cached, which no question takes: the UDP threads serve
    /// them in the present generation, and on the loop they are made again.
    static let localRoute = UInt16.max
    /// The route under which addresses are cached that stand for others (DNS64): they are of no use by another prefix, or
    /// without one. No `[[forward]]` entry has it.
    private static let translatedRoute = UInt16.max - 2

    var policy: ResolverPolicy
    let generations: Generations

    func tag(of source: Source) -> UInt16 { policy.sources.tag(of: source) }

    func isOfLocalDNS(_ tag: UInt16) -> Bool {
        tag == self.tag(of: .localDNS) || tag == self.tag(of: .verifiedLocalDNS)
    }

    /// Whether the UDP threads serve it although no question takes its route.
    func isLocal(_ entry: CacheEntry) -> Bool {
        entry.route == Self.localRoute && entry.generation == generations.current
    }

    /// Whether the addresses were made of others, by the prefix of the policy of that time.
    func isTranslated(_ entry: CacheEntry) -> Bool { entry.route == Self.translatedRoute }

    /// The number of the route under which an answer is cached.
    func routeTag(of route: Route, isTranslated: Bool) -> UInt16 { isTranslated ? Self.translatedRoute : route.tag }

    /// The route by which an entry was obtained: that of its question now, where what was made of others has none.
    func obtained(_ entry: CacheEntry, by route: Route) -> Route {
        isTranslated(entry) ? route : Route(tag: entry.route)
    }

    /// Whether an entry of this or an older policy may be used for a question that takes `route` now.
    ///
    /// LocalDNS's answer for a protected name was right only under the mode of its time, and so was a local rule.
    func isUsable(_ entry: CacheEntry, _ type: RecordType, by route: Route) -> Bool {
        guard entry.route == route.tag || isTranslated(entry),
            let source = policy.sources.source(of: entry.source)
        else { return false }
        switch (source, route) {
        case (.provider, _), (.shared, _):
            return !dependsOnPolicy(entry, type) || generations.isOfPolicy(entry.generation)
        case (.localDNS, .bypass), (.localDNS, .portal): return true
        case (.forward, .forward(let index)): return entry.source == tag(of: .forward(index: index))
        case (.forward, _): return false
        case (.localDNS, _), (.verifiedLocalDNS, _), (.rule, _), (.preset, _):
            return generations.isOfPolicy(entry.generation)
        }
    }

    /// Whether a provider's answer may be used only while the policy is in force by which it was decided.
    ///
    /// Service bindings lose their hints by one policy and keep them by another. Addresses that were made of others are wrong by
    /// another prefix, and "no IPv6 address" is wrong since there is one. So are addresses of a family that is suppressed now.
    private func dependsOnPolicy(_ entry: CacheEntry, _ type: RecordType) -> Bool {
        type.isServiceBinding || isTranslated(entry) || policy.isTranslating && type == .aaaa && entry.isNegative
            || type == policy.localAnswers.families.yielding && !entry.isNegative
    }

    /// Whether it is not served stale: what was made here, an answer for a portal check, and LocalDNS's for a protected name,
    /// which nothing verifies.
    func endsFresh(_ entry: CacheEntry, by route: Route) -> Bool {
        guard SourceTags.isSource(entry.source) else { return true }
        return switch route {
        case .portal: true
        case .protect: entry.source == tag(of: .localDNS)
        case .bypass, .forward: false
        }
    }
}

/// Which of the generations that cached answers carry belong to the policy in force, and which to the present network.
///
/// Both kinds of change increment one number, so a UDP thread compares one value: an answer of an older generation is
/// decided again on the loop, and there the two marks say how it may be used. An answer that an older policy allowed
/// may be wrong now; one from another network is only stale.
@Loop
final class Generations {
    private let number: PolicyGeneration
    /// The number with which the policy in force began, and that with which the present network did.
    private var policyBegan: UInt32
    private var networkBegan: UInt32

    nonisolated init(_ number: PolicyGeneration) {
        self.number = number
        policyBegan = number.current
        networkBegan = number.current
    }

    /// The number for what is stored now.
    var current: UInt32 { number.current }

    /// Called after the policy was replaced.
    func beginPolicy() {
        number.advance()
        policyBegan = number.current
    }

    /// Called after the network has changed.
    func beginNetwork() {
        number.advance()
        networkBegan = number.current
    }

    /// Whether an answer of this number was stored under the policy in force.
    func isOfPolicy(_ stored: UInt32) -> Bool { hasBegun(stored, since: policyBegan) }

    /// Whether an answer of this number was stored since the network last changed.
    func isOfNetwork(_ stored: UInt32) -> Bool { hasBegun(stored, since: networkBegan) }

    /// Also correct after the number has wrapped.
    private func hasBegun(_ stored: UInt32, since began: UInt32) -> Bool { current &- stored <= current &- began }
}

/// The generation of the state on which answers depend: routes, lists, switch, providers and the network, as one
/// number.
///
/// An answer in the cache carries the generation in which it was stored. The UDP threads compare the two with one load;
/// the loop increments the generation when the policy or the network changes, which makes every older answer a miss at
/// once. `Generations` records which of the two changed.
public final class PolicyGeneration: Sendable {
    let number = Atomic<UInt32>(1)

    public init() {}

    /// The present number. From any thread.
    public var current: UInt32 { number.load(ordering: .acquiring) }

    /// Begins a new generation, after policy or network have changed. Wraps after 4,294,967,295.
    public func advance() { number.wrappingAdd(1, ordering: .releasing) }
}
