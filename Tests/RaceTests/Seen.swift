import DNSResolver

/// What the oracle has seen of one type.
struct Seen: Hashable {
    /// What is known of a source.
    enum Source: UInt8, Hashable {
        case unasked
        /// Its turn has come while it is probed.
        case probed
        case asked, busy, empty, failed
        case records, denied
        case localRecords, localNoData, localNXDomain

        var isLocalDenial: Bool { self == .localNoData || self == .localNXDomain }
    }

    struct Client: Hashable {
        let number: Int
        let arrived: Int
    }

    struct Ask: Hashable {
        let place: Int
        let address: Int
    }

    struct Entry: Hashable {
        var rank: Int
        var kind: RaceAnswer.Kind?

        static let none = Entry(rank: 7, kind: nil)
    }

    /// Whether it was asked for.
    var isOpen = false
    var isOver = false
    var waiting: [Client] = []
    var last: Int?
    var sources: [Source]
    var asks: [Ask] = []
    /// Of each of LocalDNS's addresses; nil: none yet.
    var verdicts: [AddressVerdict?] = []
    /// The addresses whose checks are under way.
    var checking: Set<Int> = []
    var verifiedAt: Int?
    /// The first answer of rank 1.
    var one: RaceAnswer.Kind?
    var wasEmpty = false
    var stale: RaceRules.Stale?
    var cache: Entry

    init(sources: Int, stale: RaceRules.Stale?, cache: Entry) {
        self.sources = Array(repeating: .unasked, count: sources)
        self.stale = stale
        self.cache = cache
    }

    var isChecking: Bool { verdicts.contains { $0 == nil } }
    var isVerified: Bool { verdicts.contains(.verified) }
    var isForged: Bool { verdicts.contains(.forged) }
}
