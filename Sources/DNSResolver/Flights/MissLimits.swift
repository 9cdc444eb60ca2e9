/// How many misses one client network may cause at the providers (`MissBrake`).
package struct MissLimits: Hashable, Sendable {
    /// Misses a second, 1 to 100,000.
    package let perSecond: Int
    /// Misses at once, 2 to 1,000,000.
    package let burst: Int

    /// - Parameters: what is beyond the range of one is put into it.
    package init(perSecond: Int, burst: Int) {
        self.perSecond = min(max(1, perSecond), 100_000)
        self.burst = min(max(2, burst), 1_000_000)
    }
}
