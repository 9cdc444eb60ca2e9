package import Scheduling

/// A copy of a cache entry.
package struct CacheEntry: Equatable, Sendable {
    package var answer: PackedAnswer
    /// When it was stored, in whole seconds.
    package var storedAt: Instant
    /// Its original TTL: seconds for which it is fresh, counted from `storedAt`.
    package var lifetime: UInt32
    /// The policy generation under which it was stored or last confirmed.
    package var generation: UInt32
    /// The route by which it was resolved, as a number assigned by the resolver.
    package var route: UInt16
    /// The source of the answer, as a number assigned by the resolver.
    package var source: UInt16
    /// The server of the source, as a number assigned by the resolver.
    package var server: UInt16
    /// Whether it is NXDOMAIN or NODATA.
    package var isNegative: Bool
    /// Seconds at the end of its lifetime in which the UDP threads pass queries to the loop, which can refresh it
    /// before it expires; 0: never. At most 65,535.
    package var refreshMargin: UInt32

    package init(
        answer: PackedAnswer, storedAt: Instant, lifetime: UInt32, generation: UInt32, route: UInt16 = 0,
        source: UInt16 = 0, server: UInt16 = 0, isNegative: Bool = false, refreshMargin: UInt32 = 0
    ) {
        self.answer = answer
        self.storedAt = storedAt
        self.lifetime = lifetime
        self.generation = generation
        self.route = route
        self.source = source
        self.server = server
        self.isNegative = isNegative
        self.refreshMargin = refreshMargin
    }

    /// Seconds since it was stored.
    package func age(at now: Instant) -> UInt32 { FreshnessPolicy.age(from: storedAt.seconds, to: now.seconds) }

    /// Whether the UDP threads answer from it at `now`, if its generation is current.
    package func isHit(at now: Instant) -> Bool { age(at: now) < lifetime - min(refreshMargin, lifetime) }

    /// Its freshness at `now`.
    package func freshness(at now: Instant, _ policy: FreshnessPolicy) -> Freshness {
        policy.freshness(age: age(at: now), lifetime: lifetime)
    }
}
