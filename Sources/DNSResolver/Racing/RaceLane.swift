import DNSWire

/// One type's part of a race: what is known of it.
public struct RaceLane: Hashable, Sendable {
    /// Where a source stands.
    enum Status: UInt8, Hashable, Sendable {
        case unasked
        /// To be asked as soon as its probe is answered.
        case probed
        case asked
        /// It has the question, and has said "not so fast": it may answer, and is not awaited.
        case busy
        /// It is empty without a cause; what it says of the other family decides.
        case empty
        case failed
        case records
        /// NODATA or NXDOMAIN, of rank 1.
        case denied
        /// LocalDNS's, which are of no rank by themselves.
        case localNoData, localNXDomain

        /// Whether it can be asked.
        var isOpen: Bool { self == .unasked || self == .probed }

        /// Whether it has the question.
        var isThere: Bool { self == .asked || self == .busy }
    }

    /// One source, and this type's question there.
    struct Place: Hashable, Sendable {
        var status = Status.unasked
        /// Which of its addresses is asked.
        var address: UInt8 = 0
    }

    /// One source, and the questions for both types there.
    struct Places: Hashable, Sendable {
        private var a = Place()
        private var aaaa = Place()

        subscript(part: RacePart) -> Place {
            get { part == .a ? a : aaaa }
            set { if part == .a { a = newValue } else { aaaa = newValue } }
        }
    }

    /// Whether a client or the other family wants it.
    var isWanted = false
    /// Whether nothing that comes can change it.
    var isOver = false
    /// Whether a provider was empty without a cause.
    var wasEmpty = false
    var lastAsk: Instant?
    /// LocalDNS's addresses.
    var proof = RaceProof()
    /// What is known of rank 1: its kind, and the source.
    var first: (kind: RaceAnswer.Kind, place: Int)? {
        get { firstKind.map { ($0, firstPlace) } }
        set { (firstKind, firstPlace) = (newValue?.kind, newValue?.place ?? 0) }
    }
    private var firstKind: RaceAnswer.Kind?
    private var firstPlace = 0
    var stale: RaceRules.Stale?
    var preset: RaceAnswer.Kind?
    /// What the cache has.
    var cached: RaceAnswer?
    /// Whether that is about to expire.
    var isEnding: Bool

    init(_ known: RaceRules.Known) {
        stale = known.stale
        preset = known.preset
        cached = known.cached.map { RaceAnswer($0.rank, $0.kind, .cache) }
        isEnding = known.cached?.isEnding ?? false
    }

    /// Whether the cache has an answer that may be given before anything is asked.
    var isFresh: Bool { cached.map { $0.rank <= .verified } ?? false }
}

/// LocalDNS's addresses of one type, and what their checks have shown (Documentation/Strategy.md, section 4).
struct RaceProof: Hashable, Sendable {
    /// Each address in one of these at most.
    private var unchecked = RaceAnswer.Addresses()
    private var checking = RaceAnswer.Addresses()
    private(set) var verified = RaceAnswer.Addresses()
    private(set) var forged = RaceAnswer.Addresses()
    /// All but those to which no route leads.
    private(set) var addresses = RaceAnswer.Addresses()
    /// When the first of them was verified.
    private(set) var verifiedAt: Instant?

    /// Before LocalDNS has answered.
    init() {}

    /// Of an answer with so many addresses: up to eight are checked.
    init(of count: Int, by rules: RaceRules, _ now: Instant) {
        addresses = RaceAnswer.Addresses(count: count)
        if rules.isVerifiedUnchecked { (verified, verifiedAt) = (addresses, now) }
        if rules.checksAddresses { unchecked = addresses.subtracting(.further) }
    }

    /// Whether a check of an address has not ended.
    var isUnderWay: Bool { !unchecked.isEmpty || !checking.isEmpty }

    /// Whether the check of an address has begun and not ended.
    func isChecking(_ address: RaceAnswer.Addresses) -> Bool { checking.contains(address) }

    /// The addresses whose checks begin now: three are under way at a time.
    mutating func startNext() -> RaceAnswer.Addresses {
        let next = unchecked.first(Strategy.checksAtOnce - checking.count)
        unchecked.subtract(next)
        checking.formUnion(next)
        return next
    }

    /// Notes what the check of an address has shown.
    mutating func note(_ verdict: AddressVerdict, on address: RaceAnswer.Addresses, _ now: Instant) {
        checking.subtract(address)
        switch verdict {
        case .verified:
            verified.formUnion(address)
            if verifiedAt == nil { verifiedAt = now }
        case .forged: forged.formUnion(address)
        case .unreachable: addresses.subtract(address)
        case .unverified, .wrongTime, .unchecked: break
        }
    }
}
