// What happens to a race, and what is to be done then.

/// A or the one type that is asked for, and AAAA.
public enum RacePart: UInt8, CaseIterable, Hashable, Sendable {
    case a, aaaa

    public var other: RacePart { self == .a ? .aaaa : .a }
}

/// Some of the two.
public struct RaceParts: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public init(_ part: RacePart) { self.init(rawValue: 1 << part.rawValue) }

    public static let a = RaceParts(.a)
    public static let aaaa = RaceParts(.aaaa)
    public static let both: RaceParts = [.a, .aaaa]
}

/// What a source says of one type.
public enum RaceReply: Hashable, Sendable {
    /// How many addresses: of providers, and of records of another type, 1 will do.
    case records(Int)
    /// With a cause: an SOA, a vendor's code, an alias without the type. Of LocalDNS, also without.
    case noData
    case nxDomain
    /// Of a provider, without a cause.
    case empty
}

/// What it says of both types; nil: nothing yet.
public struct RaceReplies: Hashable, Sendable {
    private var a: RaceReply?
    private var aaaa: RaceReply?

    public init() {}

    /// What it says of one type.
    public init(_ part: RacePart, _ reply: RaceReply?) { self[part] = reply }

    public init(a: RaceReply?, aaaa: RaceReply?) { (self.a, self.aaaa) = (a, aaaa) }

    public var isEmpty: Bool { a == nil && aaaa == nil }

    public subscript(part: RacePart) -> RaceReply? {
        get { part == .a ? a : aaaa }
        set { if part == .a { a = newValue } else { aaaa = newValue } }
    }
}

/// What a TLS handshake says about whether an address belongs to a name (section 4).
public enum AddressVerdict: String, Hashable, Sendable {
    /// Its certificate is valid for the name.
    case verified
    /// It shows one for another name, or of an unknown authority.
    case forged
    /// Its certificate is valid for the name but for its time.
    case wrongTime
    /// It shows no certificate: no TLS, or silence.
    case unverified
    /// No route leads there from here: no verdict, and the address is of no use to programs on this host either.
    case unreachable
    /// There was no time or no room for a check: as if it showed no certificate.
    case unchecked
}

/// What happens to a race. A source is its place in the line, a client any number that is used once.
public enum RaceEvent: Hashable, Sendable {
    case joined(Int, RacePart)
    /// The same of a client that must have its answer by the end of the race, however soon that is.
    case joinedLate(Int, RacePart)
    /// The client's 2.3 s are over, and the race goes on: its query had waited (section 3).
    case timeUp(Int)
    case replied(Int, RaceReplies)
    case checked(RacePart, Int, AddressVerdict)
    /// The address that was asked has failed.
    case failed(Int, RaceParts)
    /// The account was refused: its other addresses will not answer either.
    case refused(Int, RaceParts)
    /// "Not so fast" (section 6).
    case busy(Int, RaceParts)
    /// A probe of the source has ended; whether it was answered.
    case probed(Int, isUp: Bool)
    case time
}

/// What is to be done, in this order.
public enum RaceEffect: Hashable, Sendable {
    /// Ask a source at one of its addresses, from 0.
    case ask(Int, RaceParts, address: Int)
    /// Check these of LocalDNS's addresses.
    case check(RacePart, RaceAnswer.Addresses)
    case reply(Int, RacePart, RaceAnswer)
    case store(RacePart, RaceAnswer)
    /// Remove what was stored.
    case drop(RacePart)
    /// The client belongs to another race: this one is too old.
    case again(Int, RacePart)
}

/// What a race knows, or has a client get, of one type: its rank, what it says, and where it is (Documentation/Strategy.md,
/// section 3). The records themselves are with what runs the race.
public struct RaceAnswer: Hashable, Sendable {
    /// The lower, the better.
    public enum Rank: UInt8, Hashable, Comparable, Sendable {
        /// A provider's.
        case provider = 1
        /// LocalDNS's, with a certificate.
        case verified
        /// What one of these said before.
        case stale
        /// The preset of last resort.
        case preset
        /// LocalDNS's, without.
        case unproved
        /// SERVFAIL, or what is made in place of it.
        case failure

        public static func < (left: Rank, right: Rank) -> Bool { left.rawValue < right.rawValue }
    }

    public enum Kind: UInt8, Hashable, Sendable {
        /// Addresses, or records of another type.
        case records
        case noData, nxDomain
        case serverFailure
    }

    /// Addresses of LocalDNS's answer, by their place in it; those beyond the eighth are one member.
    public struct Addresses: OptionSet, Hashable, Sendable {
        public let rawValue: UInt16

        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// The first so many, eight at most, and the further ones together.
        public init(count: Int) {
            self.init(rawValue: count >= 9 ? 0x1FF : (1 << UInt16(max(0, count))) - 1)
        }

        /// All beyond the eighth, which are never checked.
        public static let further = Addresses(rawValue: 0x100)

        /// The one at a place, from 0.
        public static func at(_ place: Int) -> Addresses {
            place >= 8 ? further : Addresses(rawValue: 1 << UInt16(max(0, place)))
        }

        /// How many members there are.
        var count: Int { rawValue.nonzeroBitCount }

        /// The first so many members.
        func first(_ count: Int) -> Addresses {
            var (left, found) = (self, Addresses())
            for _ in 0..<max(0, count) where !left.isEmpty {
                let lowest = Addresses(rawValue: left.rawValue & (~left.rawValue &+ 1))
                found.formUnion(lowest)
                left.subtract(lowest)
            }
            return found
        }
    }

    /// Where the records are.
    public enum Origin: Hashable, Sendable {
        /// What the source at this place of the line has said.
        case source(Int)
        /// LocalDNS's denial, or these of its addresses.
        case localDNS(Addresses)
        case stale, preset
        /// The cache, fresh.
        case cache
        /// Made of what is known of the other family (section 5).
        case family
        /// The other family's addresses, translated (section 5.5).
        case translation
        /// Nothing, since the other family has addresses and is preferred.
        case suppressed
        /// Nowhere; whether LocalDNS's answer was shown to be forged (EDE 4).
        case nowhere(isForged: Bool)
    }

    public var rank: Rank
    public var kind: Kind
    public var origin: Origin
    /// Seconds for which it lives at most; nil: its own TTL.
    public var life: UInt32?

    public init(_ rank: Rank, _ kind: Kind, _ origin: Origin, life: UInt32? = nil) {
        self.rank = rank
        self.kind = kind
        self.origin = origin
        self.life = life
    }
}
