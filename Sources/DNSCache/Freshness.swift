/// The freshness of a cached answer at one moment.
package enum Freshness: Hashable, Sendable {
    /// It may be used for `remaining` seconds, at least 1.
    case fresh(remaining: UInt32)
    /// Its TTL has expired, no longer ago than it is long where it is young.
    case stale(isYoung: Bool)
    /// It must not be used any more.
    case dead
}

extension FreshnessPolicy {
    /// The least time past expiry for which an answer may be served, in seconds, unless serve-stale is off.
    static let shortestStale: UInt32 = 3_600
    /// The greatest one, as a multiple of its original TTL: an address that changes every minute is soon wrong.
    static let staleTTLFactor: UInt64 = 100

    /// An answer with a shorter lifetime, in seconds, is not prefetched: it would be queried constantly.
    static let shortestRefreshed: UInt32 = 10
    /// Part of a lifetime, at its end, in which an answer is prefetched: a tenth, which leaves time for one query.
    static let refreshShare: UInt32 = 10
    static let shortestMargin: UInt32 = 3

    /// Seconds at the end of a lifetime in which a query for the answer causes a prefetch; 0: never.
    package func refreshMargin(lifetime: UInt32) -> UInt32 {
        guard prefetches, lifetime >= Self.shortestRefreshed else { return 0 }
        return min(max(Self.shortestMargin, lifetime / Self.refreshShare), UInt32(UInt16.max))
    }

    /// The freshness of an answer `age` seconds after it was stored.
    package func freshness(age: UInt32, lifetime: UInt32) -> Freshness {
        if age < lifetime { return .fresh(remaining: lifetime - age) }
        let past = age - lifetime
        guard staleMax > 0, past <= staleWindow(lifetime: lifetime) else { return .dead }
        return .stale(isYoung: past <= lifetime)
    }

    /// How many seconds past expiry an answer may be served: max(1 h, min(`staleMax`, 100 x original TTL)); 0 when off.
    package func staleWindow(lifetime: UInt32) -> UInt32 {
        guard staleMax > 0 else { return 0 }
        let relative = UInt64(lifetime) * Self.staleTTLFactor
        return max(Self.shortestStale, UInt32(truncatingIfNeeded: min(UInt64(staleMax), relative)))
    }

    /// Seconds from one reading of the boot clock to a later one, correct also when 32 bits wrapped between them.
    ///
    /// 0 when the readings are in reverse order: a thread's clock may be a batch behind that of the thread that stored
    /// the answer.
    @inline(__always)
    package static func age(from storedAt: UInt32, to now: UInt32) -> UInt32 {
        UInt32(max(0, Int32(truncatingIfNeeded: now &- storedAt)))
    }
}
