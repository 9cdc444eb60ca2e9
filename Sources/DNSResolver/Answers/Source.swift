public import DNSWire

/// The source of an answer, by its index in the policy that asked.
public enum Source: Hashable, Sendable {
    case localDNS
    /// LocalDNS, for a protected name, with every address verified by its certificate.
    case verifiedLocalDNS
    /// The servers of `[[forward]]` entry `index`, counted from 0.
    case forward(index: Int)
    /// Provider `index`, counted from 0.
    case provider(index: Int)
    /// The shared cache, which has it of provider `index`.
    case shared(index: Int)
    /// Made here: NODATA by a local rule.
    case rule
    /// Made here: static addresses from the configuration.
    case preset
}

/// Where an answer came from: by these it is counted, and named wherever its source is.
public enum AnswerKind: Int, CaseIterable, Sendable {
    /// The memory cache had it, within its TTL.
    case cache
    /// The cache file had it, and memory did not.
    case disk
    /// It was cached and past its TTL, and no source had a newer one in time.
    case stale
    case provider
    /// The cache that servers share had it, as a provider gave it to one of them.
    case shared
    /// LocalDNS gave it for a protected name, and certificates verify its addresses.
    case verifiedLocalDNS
    /// LocalDNS gave it for a protected name, and nothing verifies it.
    case unverifiedLocalDNS
    /// LocalDNS gave it for a name that is not protected.
    case localDNS
    /// The servers of a `[[forward]]` entry.
    case forward
    /// The configuration has its addresses.
    case preset
    /// It was made here: by a local rule, or a refusal.
    case rule
    /// There was none: SERVFAIL.
    case failure

    /// That of a source's number, of this policy or an earlier one, which was asked by this route.
    init(_ tag: UInt16, route: Route) {
        if SourceTags.isProvider(tag) {
            self = SourceTags.isShared(tag) ? .shared : .provider
        } else if tag == SourceTags.rule {
            self = .rule
        } else if tag == SourceTags.preset {
            self = .preset
        } else if SourceTags.isTrusted(tag) {
            self = .verifiedLocalDNS
        } else {
            switch route {
            case .protect: self = .unverifiedLocalDNS
            case .bypass, .portal: self = .localDNS
            case .forward: self = .forward
            }
        }
    }

    /// The only word for it in `why`, traces, logs, metrics and on the page.
    public var word: String {
        switch self {
        case .cache: "cache"
        case .disk: "disk"
        case .stale: "stale"
        case .provider: "provider"
        case .shared: "shared"
        case .verifiedLocalDNS: "localdns_verified"
        case .unverifiedLocalDNS: "localdns_unverified"
        case .localDNS: "localdns"
        case .forward: "forward"
        case .preset: "preset"
        case .rule: "rule"
        case .failure: "none"
        }
    }
}

/// The source of an answer in output.
public struct SourceName: Hashable, Sendable {
    public var kind: AnswerKind
    /// The provider's name; empty where none gave the answer, or the configuration has it no more.
    public var provider: String

    public init(_ kind: AnswerKind, provider: String = "") {
        (self.kind, self.provider) = (kind, provider)
    }

    public var word: String { kind.word }

    /// Such as `provider aliyun`, or `cache`.
    public var text: String { provider.isEmpty ? word : "\(word) \(provider)" }

    /// The same as `key=value` words.
    var pairs: String { "source=\(word)" + (provider.isEmpty ? "" : " provider=\(provider)") }
}

/// The numbers that stand for the sources of one policy in cache entries.
///
/// A source that is unchanged after a reload retains its number, a changed one gets a new one, and the number of a
/// removed one becomes invalid: its answers are not used again.
public struct SourceTags: Hashable, Sendable {
    /// The bit that all providers' numbers have: their answers are trusted more.
    private static let providerBit: UInt16 = 0x8000
    /// The bit that distinguishes the number of LocalDNS's verified answers from that of its other ones, and that of a
    /// provider's answers from the shared cache from that of what it gave to this server.
    private static let verifiedBit: UInt16 = 0x4000
    /// The number of `Source.rule`, in every policy.
    static let rule: UInt16 = 0
    /// The number of `Source.preset`, in every policy.
    static let preset: UInt16 = verifiedBit - 1

    public let localDNS: UInt16
    /// One for each `[[forward]]` entry, in order.
    public let forwards: [UInt16]
    /// One for each provider, in order.
    public let providers: [UInt16]

    /// Takes numbers from `Numbers`.
    public init(localDNS: UInt16, forwards: [UInt16], providers: [UInt16]) {
        self.localDNS = localDNS
        self.forwards = forwards
        self.providers = providers
    }

    /// The number of a source; that of LocalDNS for an index that the policy does not have.
    public func tag(of source: Source) -> UInt16 {
        switch source {
        case .rule: Self.rule
        case .preset: Self.preset
        case .localDNS: localDNS
        case .verifiedLocalDNS: localDNS | Self.verifiedBit
        case .forward(let index): forwards.indices.contains(index) ? forwards[index] : localDNS
        case .provider(let index): providers.indices.contains(index) ? providers[index] : localDNS
        case .shared(let index): providers.indices.contains(index) ? providers[index] | Self.verifiedBit : localDNS
        }
    }

    /// The source that has this number; nil when it no longer exists.
    public func source(of tag: UInt16) -> Source? {
        if tag == Self.rule { return .rule }
        if tag == Self.preset { return .preset }
        if tag == localDNS { return .localDNS }
        if tag == localDNS | Self.verifiedBit { return .verifiedLocalDNS }
        if Self.isProvider(tag) {
            return providers.firstIndex(of: tag & ~Self.verifiedBit).map {
                Self.isShared(tag) ? .shared(index: $0) : .provider(index: $0)
            }
        }
        return forwards.firstIndex(of: tag).map { .forward(index: $0) }
    }

    /// Whether the number is that of a source: the answer comes neither from a local rule nor from the configuration.
    static func isSource(_ tag: UInt16) -> Bool { tag != rule && tag != preset }

    /// Whether the number is a provider's, of this policy or an earlier one.
    static func isProvider(_ tag: UInt16) -> Bool { tag & providerBit != 0 }

    /// Whether the number is that of a provider's answers from the shared cache.
    static func isShared(_ tag: UInt16) -> Bool { tag & providerBit != 0 && tag & verifiedBit != 0 }

    /// Whether answers under the number are known not to be forged: a provider gave them, or certificates verify them.
    static func isTrusted(_ tag: UInt16) -> Bool { tag & (providerBit | verifiedBit) != 0 }

    /// How much an answer is worth that was got by a route: what is made here never takes the place of a source's.
    static func rank(_ tag: UInt16, by route: Route) -> RaceAnswer.Rank {
        guard isSource(tag) else { return .failure }
        guard !isProvider(tag), case .protect = route else { return .provider }
        return isTrusted(tag) ? .verified : .unproved
    }

    /// Allocates numbers, none twice.
    public struct Numbers: Sendable {
        /// The highest number there is.
        private static let last = SourceTags.preset - 1
        private var given = SourceTags.rule

        public init() {}

        /// How many numbers are left, 16,382 at first; then the last one is reused.
        public var left: Int { Int(Self.last - given) }

        /// For LocalDNS or a `[[forward]]` entry.
        public mutating func next() -> UInt16 {
            given = min(given + 1, Self.last)
            return given
        }

        public mutating func nextProvider() -> UInt16 { next() | SourceTags.providerBit }
    }
}

/// The numbers that stand for answering servers in cache entries: addresses of services and of LocalDNS.
///
/// Allocated once, for the life of the process; at most 65,535, which no configuration comes near.
@Loop
public final class ServerNames {
    private var numbers = ["": UInt16(0)]
    /// By number; the first stands for all unknown servers.
    private var names = [""]

    public nonisolated init() {}

    /// The number of a server, a new one the first time; 0 for no name, and once there are too many.
    public func number(of name: String) -> UInt16 {
        if let number = numbers[name] { return number }
        guard let number = UInt16(exactly: names.count) else { return 0 }
        numbers[name] = number
        names.append(name)
        return number
    }

    /// The server that has this number; empty when it is not known.
    public func name(of number: UInt16) -> String {
        names.indices.contains(Int(number)) ? names[Int(number)] : ""
    }
}
