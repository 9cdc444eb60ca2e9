import DNSCache
import DNSWire
import Scheduling

extension StoredAnswer {
    /// The entry for a row; nil when the current policy does not let this source answer this name.
    ///
    /// - Parameter isClockSound: whether the time since it was written is known; if not, the entry is not fresh.
    func entry(_ identity: PolicyIdentity, _ reading: WallClock.Reading, isClockSound: Bool) -> CacheEntry? {
        guard let tag = identity.sources.first(where: { $0.value == source })?.key,
            let routeTag = identity.route(question, dnssecOK || checkingDisabled), StoredRoute(tag: routeTag) == route
        else { return nil }
        let isSamePolicy = policy == identity.digest
        let isStandIn = identity.standIns.contains(tag) && route != .bypass
        if isStandIn, !isSamePolicy { return nil }
        let storedAt = reading.now - .seconds(age(reading, isClockSound: isClockSound))
        // A generation other than the current one: the loop decides again before a thread serves it.
        let generation =
            storedAt <= identity.networkBegan
            ? identity.earlierNetwork : isSamePolicy ? identity.generation : identity.generation &- 1
        return CacheEntry(
            answer: answer, storedAt: storedAt, lifetime: lifetime, generation: generation, route: routeTag,
            source: tag,
            isNegative: isNegative)
    }

    /// Seconds since it was stored. An unknown age makes the answer stale, and not only by a little: a client waits
    /// longer for a better answer.
    private func age(_ reading: WallClock.Reading, isClockSound: Bool) -> Int64 {
        let age = reading.secondsSince1970 - storedAt
        guard isClockSound, storedAt >= WallClock.earliest, age >= 0 else {
            return 2 * Int64(lifetime) + 1
        }
        // Far beyond any use, and far below the overflow of 32 bits of seconds.
        return min(age, Int64(Int32.max / 2))
    }
}
