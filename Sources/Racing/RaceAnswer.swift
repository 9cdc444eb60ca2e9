/// What a race knows, or has a client get, of one type: its rank, what it says, and where it is (Documentation/Strategy.md,
/// section 3). The records themselves are with what runs the race.
package struct RaceAnswer: Hashable, Sendable {
    /// The lower, the better.
    package enum Rank: UInt8, Hashable, Comparable, Sendable {
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

        package static func < (left: Rank, right: Rank) -> Bool { left.rawValue < right.rawValue }
    }

    package enum Kind: UInt8, Hashable, Sendable {
        /// Addresses, or records of another type.
        case records
        case noData, nxDomain
        case serverFailure
    }

    /// Addresses of LocalDNS's answer, by their place in it; those beyond the eighth are one member.
    package struct Addresses: OptionSet, Hashable, Sendable {
        package let rawValue: UInt16

        package init(rawValue: UInt16) { self.rawValue = rawValue }

        /// The first so many, eight at most, and the further ones together.
        package init(count: Int) {
            self.init(rawValue: count >= 9 ? 0x1FF : (1 << UInt16(max(0, count))) - 1)
        }

        /// All beyond the eighth, which are never checked.
        package static let further = Addresses(rawValue: 0x100)

        /// The one at a place, from 0.
        package static func at(_ place: Int) -> Addresses {
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
    package enum Origin: Hashable, Sendable {
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

    package var rank: Rank
    package var kind: Kind
    package var origin: Origin
    /// Seconds for which it lives at most; nil: its own TTL.
    package var life: UInt32?

    package init(_ rank: Rank, _ kind: Kind, _ origin: Origin, life: UInt32? = nil) {
        self.rank = rank
        self.kind = kind
        self.origin = origin
        self.life = life
    }
}
