public import DNSCache
public import DNSWire

/// The route of a stored answer. The servers of a `[[forward]]` entry are identified by the source.
public enum StoredRoute: UInt16, Hashable, Sendable {
    case protect = 0
    case protectListed = 1
    case bypass = 2
    case forward = 3

    /// Converts the number of a route in the memory cache: all `[[forward]]` entries are one. Nil for the highest numbers:
    /// the configuration itself, or perhaps a portal, gave the answer, or its addresses stand for others.
    init?(tag: UInt16) {
        guard tag < .max - 2 else { return nil }
        self = StoredRoute(rawValue: min(tag, 3)) ?? .forward
    }
}

/// The policy in force in terms that mean the same in the next process.
///
/// The memory cache keeps sources, routes and generations as numbers of this process. On the way to the disk they are
/// replaced by numbers made of these texts, and on the way back by today's numbers; what has none today is not used.
public struct PolicyIdentity: Sendable {
    /// The number of a source in the memory cache, and a text that changes with whatever makes it another source.
    let sources: [UInt16: String]
    /// Numbers of sources whose answers depend on the whole policy when they are for protected names: LocalDNS.
    let standIns: Set<UInt16>
    /// The number that the memory cache keeps for the policy.
    public let generation: UInt32
    /// When the present network began, on the boot clock: answers that were stored before are stale. Default: before
    /// everything.
    public var networkBegan: Instant
    /// A number that the memory cache takes for that of an earlier network. Default: 0.
    public var earlierNetwork: UInt32
    /// The number of the route that a question takes, with its name in lower case, and whether its client wants
    /// signatures or validates them; nil when it is answered here, and no stored answer counts.
    public let route: @Sendable (Question, _ isSigned: Bool) -> UInt16?

    /// How long answers are of use. Default: that of the defaults.
    public var freshness = FreshnessPolicy()
    /// How long a change may wait before it is written: so what a crash loses. Default: 1 s.
    public var flushInterval = Duration.seconds(1)

    /// The number of the policy in the file.
    let number: UInt64
    /// The numbers of sources in the file, and those of the memory cache for them.
    let numbers: [UInt16: UInt64]
    let tags: [UInt64: UInt16]

    /// - Parameter digest: of lists, mode and sources.
    public init(
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
        number = checksum(of: digest.utf8)
        numbers = sources.mapValues { checksum(of: $0.utf8) }
        tags = Dictionary(numbers.map { ($1, $0) }) { min($0, $1) }
    }
}
