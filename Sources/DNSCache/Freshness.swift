/// What a kept answer is good for at one moment.
package enum Freshness: Hashable, Sendable {
    /// It may be used for `remaining` seconds, at least 1.
    case fresh(remaining: UInt32)
    /// It is past its lifetime: a client waits so long for a better one, then gets it after all.
    case stale(wait: Duration)
    /// It is not to be used any more.
    case dead
}

extension FreshnessPolicy {
    /// The longest that a short-lived answer keeps its short wait past expiry, in seconds.
    static let longestShortWait: UInt32 = 600
    /// How long a client waits before it gets an answer that is stale for longer (RFC 8767 section 5).
    package static let longWait = Duration.milliseconds(1_800)
    /// Past expiry an answer is kept at least so long, in seconds, unless serve-stale is off.
    static let shortestStale: UInt32 = 3_600
    /// And no longer than so many times its original TTL: an address that changes every minute is soon wrong.
    static let staleTTLFactor: UInt64 = 100

    /// An answer that lives for less is not refreshed ahead, in seconds: it would be asked for all the time.
    static let shortestRefreshed: UInt32 = 10
    /// At the end of its lifetime an answer is refreshed ahead: in the last tenth, which leaves time for one question.
    static let refreshShare: UInt32 = 10
    static let shortestMargin: UInt32 = 3

    /// Seconds at the end of a lifetime in which an answer is refreshed if it is asked for; 0 never.
    package func refreshMargin(lifetime: UInt32) -> UInt32 {
        guard prefetches, lifetime >= Self.shortestRefreshed else { return 0 }
        return min(max(Self.shortestMargin, lifetime / Self.refreshShare), UInt32(UInt16.max))
    }

    /// The state of an answer `age` seconds after it was stored.
    package func freshness(age: UInt32, lifetime: UInt32) -> Freshness {
        if age < lifetime { return .fresh(remaining: lifetime - age) }
        let past = age - lifetime
        guard staleMax > 0, past <= staleWindow(lifetime: lifetime) else { return .dead }
        return .stale(wait: past <= min(lifetime, Self.longestShortWait) ? staleWait : Self.longWait)
    }

    /// How many seconds past expiry an answer may be served: max(1 h, min(`staleMax`, 100 x original TTL)); 0 when off.
    package func staleWindow(lifetime: UInt32) -> UInt32 {
        guard staleMax > 0 else { return 0 }
        let relative = UInt64(lifetime) * Self.staleTTLFactor
        return max(Self.shortestStale, UInt32(truncatingIfNeeded: min(UInt64(staleMax), relative)))
    }

    /// Seconds from one reading of the boot clock to a later one, right also when 32 bits wrapped between them.
    ///
    /// 0 when the readings are the other way round: a thread's clock may be a batch behind that of the storing one.
    @inline(__always)
    static func age(from storedAt: UInt32, to now: UInt32) -> UInt32 {
        UInt32(max(0, Int32(truncatingIfNeeded: now &- storedAt)))
    }
}
