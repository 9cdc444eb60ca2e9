/// An IPv4 or IPv6 address.
public enum IPAddress: Hashable, Sendable {
    /// Four bytes, the first one most significant.
    case v4(UInt32)
    /// Sixteen bytes, the first one most significant.
    case v6(UInt128)

    /// The address in network byte order: 4 or 16 bytes.
    public var bytes: [UInt8] {
        switch self {
        case .v4(let value): (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * $0)) }
        case .v6(let value): (0..<16).map { UInt8(truncatingIfNeeded: value >> UInt128(120 - 8 * $0)) }
        }
    }

    /// Converts 4 or 16 bytes in network byte order; nil for any other number of bytes.
    public init?(bytes: ArraySlice<UInt8>) { self.init(bytes: bytes.span) }

    /// Converts 4 or 16 bytes in network byte order; nil for any other number of bytes.
    public init?(bytes: Span<UInt8>) {
        switch bytes.count {
        case 4:
            var value: UInt32 = 0
            for index in bytes.indices { value = value << 8 | UInt32(bytes[index]) }
            self = .v4(value)
        case 16:
            var value: UInt128 = 0
            for index in bytes.indices { value = value << 8 | UInt128(bytes[index]) }
            self = .v6(value)
        default: return nil
        }
    }
}

extension IPAddress: CustomStringConvertible {
    /// Dotted decimal, or IPv6 text in canonical form (RFC 5952).
    public var description: String {
        switch self {
        case .v4: return bytes.map { String($0) }.joined(separator: ".")
        case .v6(let value):
            let groups = (0..<8).map { UInt16(truncatingIfNeeded: value >> UInt128(112 - 16 * $0)) }
            let texts = groups.map { String($0, radix: 16) }
            guard let zeros = Self.longestZeroRun(groups) else { return texts.joined(separator: ":") }
            return texts[..<zeros.lowerBound].joined(separator: ":") + "::"
                + texts[zeros.upperBound...].joined(separator: ":")
        }
    }

    /// The first longest run of at least two zero groups.
    private static func longestZeroRun(_ groups: [UInt16]) -> Range<Int>? {
        var best: Range<Int>?
        var start = 0
        for at in 0...groups.count {
            if at < groups.count, groups[at] == 0 { continue }
            if at - start >= 2, at - start > best?.count ?? 0 { best = start..<at }
            start = at + 1
        }
        return best
    }

    /// Parses dotted decimal or IPv6 text, canonical or not; nil for anything else, and for zone suffixes.
    public init?(_ text: some StringProtocol) {
        let text = String(text)
        let bytes = text.utf8.span
        if text.utf8.contains(UInt8(ascii: ":")) {
            guard let value = Self.parseV6(bytes) else { return nil }
            self = .v6(value)
        } else {
            guard let value = Self.parseV4(bytes, from: 0) else { return nil }
            self = .v4(value)
        }
    }

    /// Parses dotted decimal that extends to the end.
    private static func parseV4(_ bytes: Span<UInt8>, from start: Int) -> UInt32? {
        var (value, part, digits, dots): (UInt32, UInt32, Int, Int) = (0, 0, 0, 0)
        for index in start..<bytes.count {
            if bytes[index] == UInt8(ascii: ".") {
                guard digits > 0, dots < 3 else { return nil }
                value = value << 8 | part
                (part, digits, dots) = (0, 0, dots + 1)
            } else {
                // No leading zero: some parsers take that for octal.
                guard let digit = digit(bytes[index]), digit < 10, digits == 0 || part > 0 else { return nil }
                part = part * 10 + digit
                digits += 1
                guard part <= 255 else { return nil }
            }
        }
        return dots == 3 && digits > 0 ? value << 8 | part : nil
    }

    private static func parseV6(_ bytes: Span<UInt8>) -> UInt128? {
        // The groups before and after the gap of `::`, if there is one.
        var (head, tail): (UInt128, UInt128) = (0, 0)
        var (headCount, tailCount) = (0, 0)
        var hasGap = isGap(bytes, at: 0)
        var index = hasGap ? 2 : 0
        func take(_ group: UInt32) {
            if hasGap {
                (tail, tailCount) = (tail << 16 | UInt128(group), tailCount + 1)
            } else {
                (head, headCount) = (head << 16 | UInt128(group), headCount + 1)
            }
        }
        while index < bytes.count {
            let start = index
            var group: UInt32 = 0
            while index < bytes.count, index - start < 4, let digit = digit(bytes[index]) {
                group = group << 4 | digit
                index += 1
            }
            guard index > start, headCount + tailCount < 8 else { return nil }
            if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
                guard let value = parseV4(bytes, from: start) else { return nil }
                take(value >> 16)
                take(value & 0xffff)
                break
            }
            take(group)
            if index == bytes.count { break }
            if isGap(bytes, at: index) {
                guard !hasGap else { return nil }
                hasGap = true
                index += 2
            } else {
                index += 1
                guard bytes[index - 1] == UInt8(ascii: ":"), index < bytes.count else { return nil }
            }
        }
        guard hasGap ? headCount + tailCount < 8 : headCount == 8 else { return nil }
        return head << UInt128(16 * (8 - headCount)) | tail
    }

    private static func isGap(_ bytes: Span<UInt8>, at index: Int) -> Bool {
        index + 1 < bytes.count && bytes[index] == UInt8(ascii: ":") && bytes[index + 1] == UInt8(ascii: ":")
    }

    /// The value of a hexadecimal digit.
    private static func digit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A")) + 10
        default: nil
        }
    }
}

// The kind of an address, by special-purpose ranges.

extension IPAddress {
    /// Whether it is 0.0.0.0 or ::, which stands for every address of the machine.
    public var isWildcard: Bool { self == .v4(0) || self == .v6(0) }

    /// Whether it is 127.0.0.0/8 or ::1.
    public var isLoopback: Bool {
        switch self {
        case .v4(let value): value >> 24 == 127
        case .v6(let value): value == 1
        }
    }

    /// The IPv4 address for which an address of ::ffff:0:0/96 stands (RFC 4291 section 2.5.5.2); nil for all others.
    public var mapped: IPAddress? {
        guard case .v6(let value) = self, value >> 32 == 0xffff else { return nil }
        return .v4(UInt32(truncatingIfNeeded: value))
    }

    /// Whether it is valid on one link only: 169.254.0.0/16 (RFC 3927) or fe80::/10 (RFC 4291 section 2.5.6).
    public var isLinkLocal: Bool {
        switch self {
        case .v4(let value): value >> 16 == 0xa9fe
        case .v6(let value): value >> 118 == 0x3fa
        }
    }

    /// Whether it is 224.0.0.0/4 or ff00::/8.
    public var isMulticast: Bool {
        switch self {
        case .v4(let value): value >> 28 == 0xe
        case .v6(let value): value >> 120 == 0xff
        }
    }

    /// Whether it is in a private, shared or unique local range: RFC 1918, RFC 6598, RFC 4193.
    public var isPrivate: Bool {
        switch self {
        case .v4(let value):
            value >> 24 == 10 || value >> 20 == 0xac1 || value >> 16 == 0xc0a8 || value >> 22 == 0x6440_0000 >> 22
        case .v6(let value): value >> 121 == 0xfc >> 1
        }
    }

    /// Whether it is globally routed: not loopback, private, shared, link-local or multicast.
    public var isRouted: Bool {
        switch self {
        case .v4(let value): (1..<224).contains(value >> 24) && !isLoopback && !isPrivate && !isLinkLocal
        case .v6(let value):
            // Of the ranges in use, only 2000::/3 is routed (RFC 4291 section 2.4); NAT64's prefix (RFC 6052) maps
            // other addresses.
            value >> 125 == 1
        }
    }
}

/// The unit of clients that share a bounded resource: an IPv4 address, an IPv6 /64, ::1, a program of this machine, or the
/// daemon itself.
///
/// A client can choose any address within its IPv6 /64 (RFC 4291 section 2.5.1, RFC 7217), so counting addresses would
/// bound nothing. An IPv4 address may be shared by many clients behind a NAT, which cannot be distinguished; an address
/// of 127.0.0.0/8 counts like any other. Queries of the daemon itself count separately, so that no client displaces
/// them.
public struct ClientNetwork: Hashable, Sendable {
    /// The first 64 bits of an IPv6 address, or an IPv4 address: no client has an IPv6 address below ::/32 (RFC 4291
    /// section 2.5.5), so that the two never collide.
    private let number: UInt64

    /// This machine: ::1, and clients without an address.
    public static let machine = ClientNetwork(number: .max)
    /// The daemon itself: its queries that are for no client, such as those for the addresses of its services.
    public static let daemon = ClientNetwork(number: .max - 1)

    /// All clients that the access list leaves out, where they are answered at all.
    public static let strangers = ClientNetwork(number: .max - 2)

    /// The first bits of a program's: as an address those of multicast, which no client has.
    private static let programs: UInt64 = 0xff << 56

    /// The programs of one user and one control group of this machine, where these are known: of its number 24 bits count.
    public init(user: UInt32, group: UInt64) { number = Self.programs | (group & 0xff_ffff) << 32 | UInt64(user) }

    /// The user of a program, and the last 24 bits of the number of its control group; nil for any other client.
    public var program: (user: UInt32, group: UInt64)? {
        guard number >= Self.programs, number < Self.strangers.number else { return nil }
        return (UInt32(truncatingIfNeeded: number), number >> 32 & 0xff_ffff)
    }

    private init(number: UInt64) { self.number = number }

    /// The network of an address; an IPv4-mapped one counts as IPv4.
    public init(_ address: IPAddress) {
        switch address {
        case .v4(let value): self = ClientNetwork(number: UInt64(value))
        case .v6(1): self = .machine
        case .v6(let value) where value >> 32 == 0xffff: self.init(.v4(UInt32(truncatingIfNeeded: value)))
        case .v6(let value): self = ClientNetwork(number: UInt64(truncatingIfNeeded: value >> 64))
        }
    }
}

extension ClientNetwork {
    /// The larger IPv6 network of a length of 32 to 64 that this one is in, by its first /64; nil for any other, of which
    /// no address says how large a site is.
    public func site(_ size: Int) -> ClientNetwork? {
        guard number > UInt64(UInt32.max), number < Self.programs else { return nil }
        return ClientNetwork(number: number & ~0 << UInt64(64 - size))
    }
}

extension ClientNetwork: CustomStringConvertible {
    /// `192.0.2.1`, `2001:db8::/64`, `this machine`, `the daemon itself`, `clients that are not allowed`,
    /// `user 1000 of this machine`.
    public var description: String {
        if self == .machine { return "this machine" }
        if self == .daemon { return "the daemon itself" }
        if self == .strangers { return "clients that are not allowed" }
        if let program { return "user \(program.user) of this machine" }
        if let address = UInt32(exactly: number) { return "\(IPAddress.v4(address))" }
        return "\(IPAddress.v6(UInt128(number) << 64))/64"
    }
}
