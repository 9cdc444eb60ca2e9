/// How many misses one client network may cause at the providers (`MissBrake`).
package struct MissLimits: Hashable, Sendable {
    /// Misses a second, 1 to 100,000.
    package let perSecond: Int
    /// Misses at once, 2 to 1,000,000.
    package let burst: Int
    /// Whether only names that do not exist count.
    package let countsDenialsAlone: Bool

    /// Where calls are billed or limited, and nothing else is configured: below one domain a client network may have 250 names
    /// that do not exist at once, and 25 a second: a mail server that looks up in lists has some 20. Names that exist do not count.
    package static let whereBilled = MissLimits(perSecond: 200, burst: 2_000, countsDenialsAlone: true)

    /// - Parameters: what is beyond the range of one is put into it.
    package init(perSecond: Int, burst: Int, countsDenialsAlone: Bool = false) {
        self.perSecond = min(max(1, perSecond), 100_000)
        self.burst = min(max(2, burst), 1_000_000)
        self.countsDenialsAlone = countsDenialsAlone
    }
}
