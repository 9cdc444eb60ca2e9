// The kind of an address, by special-purpose ranges.

extension IPAddress {
    /// Whether it is 0.0.0.0 or ::, which stands for every address of the machine.
    package var isWildcard: Bool { self == .v4(0) || self == .v6(0) }

    /// Whether it is 127.0.0.0/8 or ::1.
    package var isLoopback: Bool {
        switch self {
        case .v4(let value): value >> 24 == 127
        case .v6(let value): value == 1
        }
    }

    /// Whether it is valid on one link only: 169.254.0.0/16 (RFC 3927) or fe80::/10 (RFC 4291 section 2.5.6).
    package var isLinkLocal: Bool {
        switch self {
        case .v4(let value): value >> 16 == 0xa9fe
        case .v6(let value): value >> 118 == 0x3fa
        }
    }

    /// Whether it is 224.0.0.0/4 or ff00::/8.
    package var isMulticast: Bool {
        switch self {
        case .v4(let value): value >> 28 == 0xe
        case .v6(let value): value >> 120 == 0xff
        }
    }

    /// Whether it is in a private, shared or unique local range: RFC 1918, RFC 6598, RFC 4193.
    package var isPrivate: Bool {
        switch self {
        case .v4(let value):
            value >> 24 == 10 || value >> 20 == 0xac1 || value >> 16 == 0xc0a8 || value >> 22 == 0x6440_0000 >> 22
        case .v6(let value): value >> 121 == 0xfc >> 1
        }
    }

    /// Whether it is globally routed: not loopback, private, shared, link-local or multicast.
    package var isRouted: Bool {
        switch self {
        case .v4(let value):
            switch value >> 24 {
            case 0, 10, 127, 224...: false
            case 100: value >> 22 != 0x6440_0000 >> 22
            case 169: value >> 16 != 0xa9fe
            case 172: value >> 20 != 0xac1
            case 192: value >> 16 != 0xc0a8
            default: true
            }
        case .v6(let value):
            // Of the ranges in use, only 2000::/3 is routed (RFC 4291 section 2.4); NAT64's prefix (RFC 6052) maps
            // other addresses.
            value >> 125 == 1
        }
    }
}
