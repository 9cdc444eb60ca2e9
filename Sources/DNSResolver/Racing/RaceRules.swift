/// What is decided about a name before its race begins: the line of sources, and what of LocalDNS may be believed.
public struct RaceRules: Hashable, Sendable {
    /// Whether a source can be asked.
    public enum Health: UInt8, Hashable, Sendable {
        case usable
        /// It counts as failed.
        case backoff
        /// In backoff, and a probe of it is under way or may begin: it is asked as soon as that is answered.
        case probed
    }

    /// One source of the line.
    public struct Source: Hashable, Sendable {
        /// The number of the provider; nil: LocalDNS, or the servers of a `forward` entry.
        public var provider: Int?
        /// Whether one question brings A and AAAA.
        public var answersBoth: Bool
        /// Whether it is asked beside others; false where calls are billed.
        public var mayHedge: Bool
        public var health: Health
        /// The first of its usable addresses that is this source's, and how many are.
        public var firstAddress = 0
        public var addresses: Int
        /// The most that one question asks, one after another.
        private static let addressLimit = 256

        public init(
            provider: Int?, answersBoth: Bool = false, mayHedge: Bool = true, health: Health = .usable,
            addresses: Int = 1
        ) {
            self.provider = provider
            self.answersBoth = answersBoth
            self.mayHedge = mayHedge
            self.health = health
            self.addresses = min(addresses, Self.addressLimit)
        }

        var isLocal: Bool { provider == nil }
    }

    /// Which line a name has.
    public enum Mode: UInt8, Hashable, Sendable {
        case httpdnsFirst, localDNSFirst, httpdnsOnly
        /// A portal check: LocalDNS first, and whatever it says is of rank 1, for 10 s at most.
        case portal
        /// LocalDNS's names, and those of `forward`: what it says is of rank 1.
        case localDNSOnly
    }

    /// `localdns.certificate_check`.
    public enum CertificateCheck: String, CaseIterable, Hashable, Sendable {
        /// Strict for names in a list, lenient for the rest. The default.
        case auto
        case strict, lenient, off
    }

    /// An answer of rank 1 or 2 that has expired.
    public struct Stale: Hashable, Sendable {
        public var kind: RaceAnswer.Kind
        /// Whether it expired no longer ago than its TTL.
        public var isYoung: Bool

        public init(_ kind: RaceAnswer.Kind, isYoung: Bool) {
            self.kind = kind
            self.isYoung = isYoung
        }
    }

    /// An answer that is cached and fresh.
    public struct Cached: Hashable, Sendable {
        public var rank: RaceAnswer.Rank
        public var kind: RaceAnswer.Kind
        /// Whether it is in the last tenth of its life: then a question for it begins a race.
        public var isEnding: Bool

        public init(_ rank: RaceAnswer.Rank, _ kind: RaceAnswer.Kind, isEnding: Bool = false) {
            self.rank = rank
            self.kind = kind
            self.isEnding = isEnding
        }
    }

    /// What is known of one type when the race begins.
    public struct Known: Hashable, Sendable {
        public var stale: Stale?
        public var cached: Cached?
        /// What the preset of last resort says; nil: there is none for the name.
        public var preset: RaceAnswer.Kind?

        public init(stale: Stale? = nil, cached: Cached? = nil, preset: RaceAnswer.Kind? = nil) {
            self.stale = stale
            self.cached = cached
            self.preset = preset
        }
    }

    public let mode: Mode
    /// Section 1.
    public internal(set) var line: [Source]
    /// Whether LocalDNS's unproved answers may be given when all else fails.
    public let isUnlisted: Bool
    /// Whether LocalDNS's addresses are checked; other records cannot be.
    public var checksAddresses: Bool
    /// Whether LocalDNS's answers count as verified: below `localdns.unverified`, with `localdns-first`.
    let isVerifiedUnchecked: Bool
    /// Section 4: the clock cannot be right.
    public var isClockWrong = false
    /// Whether the name is within a search domain of the network, and has two labels or more.
    public var isInSearchDomain = false
    /// Whether the race is for A and AAAA; else for one other type, which is `.a` here.
    public var hasFamilies = true
    /// Section 5.4: HTTPS and SVCB of a protected name, which nothing but providers over https may answer.
    public var isGuarded = false
    /// Section 5.5: AAAA is made of A where there is none.
    public var translates = false
    /// The family that clients get only where the other one has no addresses (section 5, `answers.prefer`).
    public var yielding: RacePart?
    /// Whether clients check signatures: no family is made to fit the other one then.
    public var isSigned = false
    /// Nanoseconds after which a stale answer is given (`cache.stale.wait`).
    public var staleWait: Int64 = 200_000_000
    public var a = Known()
    public var aaaa = Known()

    /// - Parameters:
    ///   - providers: that may be asked for the name, in their order; of a lone one, the second address is a source of
    ///     its own.
    ///   - isListed: section 1.
    ///   - isUnverified: whether the name is below `localdns.unverified`.
    public init(
        _ mode: Mode, _ providers: consuming [Source], localDNS: Source? = Source(provider: nil, answersBoth: true),
        check: CertificateCheck = .auto, isListed: Bool = false, isUnverified: Bool = false
    ) {
        self.mode = mode
        isUnlisted = isUnverified || check == .lenient || check == .off || check == .auto && !isListed
        isVerifiedUnchecked = mode == .localDNSFirst && isUnverified
        checksAddresses = check != .off && !isVerifiedUnchecked
        var line = providers
        if mode == .localDNSOnly { line = [] }
        if line.count == 1, line[0].addresses > 1 {
            line.append(line[0])
            (line[0].addresses, line[1].firstAddress, line[1].addresses) = (1, 1, line[1].addresses - 1)
        }
        if let localDNS, mode != .httpdnsOnly {
            line.insert(localDNS, at: mode == .httpdnsFirst ? min(2, line.count) : 0)
        }
        self.line = line
    }

    /// Whether a source is asked as soon as its probe is answered.
    public var awaitsProbe: Bool { line.contains { $0.health == .probed } }

    /// Whether whatever LocalDNS says is of rank 1.
    public var trustsLocalDNS: Bool { mode == .portal || mode == .localDNSOnly }

    /// What a check has shown, while the clock may be wrong (section 4).
    func judged(_ verdict: AddressVerdict) -> AddressVerdict {
        switch verdict {
        case .wrongTime: isClockWrong ? .verified : .unverified
        case .forged where isClockWrong && isUnlisted: .unverified
        default: verdict
        }
    }
}

/// The numbers of Documentation/Strategy.md.
enum Strategy {
    // Nanoseconds; sections 2 to 5.
    static let step = milliseconds(300)
    static let reserve = milliseconds(900)
    static let lastAsk = milliseconds(1_900)
    static let end = milliseconds(2_300)
    static let otherAddresses = milliseconds(300)
    // Seconds; section 3.
    static let localLife: UInt32 = 30
    static let localFirstLife: UInt32 = 600
    static let presetLife: UInt32 = 30
    static let shortLife: UInt32 = 5
    static let portalLife: UInt32 = 10
    // Addresses; section 4. `RaceAnswer.Addresses` has as many members.
    static let checksAtOnce = 3

    static func milliseconds(_ count: Int64) -> Int64 { count * 1_000_000 }
}
