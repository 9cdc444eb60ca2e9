// What happens to a race, and what is to be done then.

extension Race {
    /// A or the one type that is asked for, and AAAA.
    package enum Part: UInt8, Hashable, Strideable, Sendable {
        case a, aaaa

        package var other: Part { self == .a ? .aaaa : .a }

        package func distance(to other: Part) -> Int { Int(other.rawValue) - Int(rawValue) }

        package func advanced(by count: Int) -> Part { count == 0 ? self : other }
    }

    /// Some of the two.
    package struct Parts: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package init(_ part: Part) { self.init(rawValue: 1 << part.rawValue) }

        package static let a = Parts(.a)
        package static let aaaa = Parts(.aaaa)
        package static let both: Parts = [.a, .aaaa]
    }

    /// What a source says of one type.
    package enum Reply: Hashable, Sendable {
        /// How many addresses: of providers, and of records of another type, 1 will do.
        case records(Int)
        /// With a cause: an SOA, a vendor's code, an alias without the type. Of LocalDNS, also without.
        case noData
        case nxDomain
        /// Of a provider, without a cause.
        case empty
    }

    /// What it says of both types; nil: nothing yet.
    package struct Replies: Hashable, Sendable {
        private var a: Reply?
        private var aaaa: Reply?

        package init() {}

        /// What it says of one type.
        package init(_ part: Part, _ reply: Reply?) { self[part] = reply }

        package init(a: Reply?, aaaa: Reply?) { (self.a, self.aaaa) = (a, aaaa) }

        package var isEmpty: Bool { a == nil && aaaa == nil }

        package subscript(part: Part) -> Reply? {
            get { part == .a ? a : aaaa }
            set { if part == .a { a = newValue } else { aaaa = newValue } }
        }
    }

    /// What the check of an address has shown.
    package enum Verdict: UInt8, Hashable, Sendable {
        case verified
        /// A certificate for another name, or of an unknown authority.
        case anothers
        /// No TLS, silence, no room or time for a check.
        case unproved
        /// A certificate that is wrong only in its time.
        case wrongTime
        /// No route leads there from here: the address is left out.
        case unreachable
    }

    /// What happens to a race. A source is its place in the line, a client any number that is used once.
    package enum Event: Hashable, Sendable {
        case joined(Int, Part)
        /// The same of a client that must have its answer by the end of the race, however soon that is.
        case joinedLate(Int, Part)
        /// The client lost at a door (section 8).
        case lost(Int)
        case replied(Int, Replies)
        case checked(Part, Int, Verdict)
        /// The address that was asked has failed.
        case failed(Int, Parts)
        /// The account was refused: its other addresses will not answer either.
        case refused(Int, Parts)
        /// "Not so fast" (section 6).
        case busy(Int, Parts)
        /// A probe of the source has ended; whether it was answered.
        case probed(Int, isUp: Bool)
        case time
    }

    /// What is to be done, in this order.
    package enum Effect: Hashable, Sendable {
        /// Ask a source at one of its addresses, from 0.
        case ask(Int, Parts, address: Int)
        /// Check these of LocalDNS's addresses.
        case check(Part, RaceAnswer.Addresses)
        case reply(Int, Part, RaceAnswer)
        case store(Part, RaceAnswer)
        /// Remove what was stored.
        case drop(Part)
        /// The client belongs to another race: this one is too old.
        case again(Int, Part)
    }
}
