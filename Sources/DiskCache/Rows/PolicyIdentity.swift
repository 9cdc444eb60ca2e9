package import DNSWire
package import Scheduling

/// The policy in force in terms that mean the same in the next process.
///
/// The memory cache keeps sources, routes and generations as numbers of this process. On the way to the disk they are
/// replaced by these texts, and on the way back by today's numbers; what has none today is not used.
package struct PolicyIdentity: Sendable {
    /// The number of a source in the memory cache, and a text that changes with whatever makes it another source.
    package var sources: [UInt16: String]
    /// Numbers of sources whose answers depend on the whole policy when they are for protected names: LocalDNS.
    package var standIns: Set<UInt16>
    /// A digest of lists, mode and sources.
    package var digest: String
    /// The number that the memory cache keeps for it.
    package var generation: UInt32
    /// When the present network began, on the boot clock: answers that were stored before are stale. Default: before
    /// everything.
    package var networkBegan: Instant
    /// A number that the memory cache takes for that of an earlier network. Default: 0.
    package var earlierNetwork: UInt32
    /// The number of the route that a question takes, with its name in lower case, and whether its client wants
    /// signatures or validates them; nil when it is answered here, and no stored answer counts.
    package var route: @Sendable (Question, _ isSigned: Bool) -> UInt16?

    package init(
        sources: [UInt16: String], standIns: Set<UInt16>, digest: String, generation: UInt32,
        networkBegan: Instant = Instant(nanoseconds: .min), earlierNetwork: UInt32 = 0,
        route: @escaping @Sendable (Question, _ isSigned: Bool) -> UInt16?
    ) {
        self.sources = sources
        self.standIns = standIns
        self.digest = digest
        self.generation = generation
        self.networkBegan = networkBegan
        self.earlierNetwork = earlierNetwork
        self.route = route
    }

    /// Longest text of a source or a policy, in bytes.
    static let longestText = 512
}
