import Scheduling

/// One type's part of a race: what is known of it.
package struct RaceLane: Hashable, Sendable {
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
    /// LocalDNS's addresses, each in one of these at most; and all of them.
    var unchecked = RaceAnswer.Addresses()
    var checking = RaceAnswer.Addresses()
    var verified = RaceAnswer.Addresses()
    var anothers = RaceAnswer.Addresses()
    var addresses = RaceAnswer.Addresses()
    /// When the first of them was verified.
    var verifiedAt: Instant?
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

    /// Whether a check of an address has not ended.
    var isChecking: Bool { !unchecked.isEmpty || !checking.isEmpty }

    /// Whether the cache has an answer that may be given before anything is asked.
    var isFresh: Bool { cached.map { $0.rank <= .verified } ?? false }
}
