package import DNSWire
package import Scheduling

/// The policy in force in terms that mean the same in the next process.
///
/// The memory cache keeps sources, routes and generations as numbers of this process. On the way to the disk they are
/// replaced by numbers made of these texts, and on the way back by today's numbers; what has none today is not used.
package struct PolicyIdentity: Sendable {
    /// The number of a source in the memory cache, and a text that changes with whatever makes it another source.
    let sources: [UInt16: String]
    /// Numbers of sources whose answers depend on the whole policy when they are for protected names: LocalDNS.
    let standIns: Set<UInt16>
    /// The number that the memory cache keeps for the policy.
    package let generation: UInt32
    /// When the present network began, on the boot clock: answers that were stored before are stale. Default: before
    /// everything.
    package var networkBegan: Instant
    /// A number that the memory cache takes for that of an earlier network. Default: 0.
    package var earlierNetwork: UInt32
    /// The number of the route that a question takes, with its name in lower case, and whether its client wants
    /// signatures or validates them; nil when it is answered here, and no stored answer counts.
    package let route: @Sendable (Question, _ isSigned: Bool) -> UInt16?

    /// The number of the policy in the file.
    let number: UInt64
    /// The numbers of sources in the file, and those of the memory cache for them.
    let numbers: [UInt16: UInt64]
    let tags: [UInt64: UInt16]

    /// - Parameters:
    ///   - sources: a number of the memory cache, and a text that changes with whatever makes it another source.
    ///   - standIns: numbers of sources whose answers depend on the whole policy when they are for protected names:
    ///     LocalDNS.
    ///   - digest: of lists, mode and sources.
    package init(
        sources: [UInt16: String], standIns: Set<UInt16>, digest: String, generation: UInt32,
        networkBegan: Instant = Instant(nanoseconds: .min), earlierNetwork: UInt32 = 0,
        route: @escaping @Sendable (Question, _ isSigned: Bool) -> UInt16?
    ) {
        self.sources = sources
        self.standIns = standIns
        self.generation = generation
        self.networkBegan = networkBegan
        self.earlierNetwork = earlierNetwork
        self.route = route
        number = Checksum.number(of: digest)
        numbers = sources.mapValues { Checksum.number(of: $0) }
        tags = Dictionary(numbers.map { ($1, $0) }) { min($0, $1) }
    }
}
