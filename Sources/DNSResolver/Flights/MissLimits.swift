/// How many misses one client network may cause at the providers (`MissBrake`).
package struct MissLimits: Hashable, Sendable {
    /// Misses a second, 1 to 100,000.
    package let perSecond: Int
    /// Misses at once, 2 to 1,000,000.
    package let burst: Int

    /// Where calls are billed or limited, and nothing else is configured: no person's browsing, and no mail server that looks
    /// 20 addresses a second up in lists, comes near; a flood of names that do not exist goes on at 20 a second.
    package static let whereBilled = MissLimits(perSecond: 200, burst: 2_000)

    /// - Parameters: what is beyond the range of one is put into it.
    package init(perSecond: Int, burst: Int) {
        self.perSecond = min(max(1, perSecond), 100_000)
        self.burst = min(max(2, burst), 1_000_000)
    }
}
