/// An IPv4 or IPv6 address.
@frozen
package enum IPAddress: Hashable, Sendable {
    /// Four bytes, the first one most significant.
    case v4(UInt32)
    /// Sixteen bytes, the first one most significant.
    case v6(UInt128)

    /// The address in network byte order: 4 or 16 bytes.
    package var bytes: [UInt8] {
        switch self {
        case .v4(let value):
            [
                UInt8(truncatingIfNeeded: value >> 24), UInt8(truncatingIfNeeded: value >> 16),
                UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value),
            ]
        case .v6(let value): (0..<16).map { UInt8(truncatingIfNeeded: value >> UInt128(120 - 8 * $0)) }
        }
    }

    /// Converts 4 or 16 bytes in network byte order; nil for any other number of bytes.
    package init?(bytes: ArraySlice<UInt8>) { self.init(bytes: bytes.span) }

    /// Converts 4 or 16 bytes in network byte order; nil for any other number of bytes.
    package init?(bytes: Span<UInt8>) {
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

    /// The record type for this address: A or AAAA.
    package var recordType: RecordType {
        switch self {
        case .v4: .a
        case .v6: .aaaa
        }
    }
}

extension IPAddress: CustomStringConvertible {
    /// Dotted decimal, or IPv6 text in canonical form (RFC 5952).
    package var description: String {
        var text: [UInt8] = []
        text.reserveCapacity(Self.longestText)
        appendText(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the bytes of `description`, which are ASCII.
    package func appendText(to text: inout [UInt8]) {
        text.append(addingCapacity: Self.longestText) { output in
            switch self {
            case .v4(let value):
                for index in 0..<4 {
                    if index > 0 { output.append(UInt8(ascii: ".")) }
                    Self.writeDecimal(UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * index)), to: &output)
                }
            case .v6(let value): Self.writeGroups(value, to: &output)
            }
        }
    }

    /// Length in bytes of the longest text: eight groups of four digits.
    private static let longestText = 39

    /// Writes eight groups, of which the first longest run of zeros is left out.
    private static func writeGroups(_ value: UInt128, to output: inout OutputSpan<UInt8>) {
        let groups = InlineArray<8, UInt16> { UInt16(truncatingIfNeeded: value >> UInt128(112 - 16 * $0)) }
        let zeros = longestZeroRun(groups)
        var index = 0
        while index < 8 {
            if index > 0 || zeros?.lowerBound == 0 { output.append(UInt8(ascii: ":")) }
            guard index != zeros?.lowerBound else {
                index = zeros?.upperBound ?? 8
                if index == 8 { output.append(UInt8(ascii: ":")) }
                continue
            }
            writeHexadecimal(groups[index], to: &output)
            index += 1
        }
    }

    /// Writes a number without leading zeros.
    private static func writeDecimal(_ number: UInt8, to output: inout OutputSpan<UInt8>) {
        if number >= 100 { output.append(UInt8(ascii: "0") + number / 100) }
        if number >= 10 { output.append(UInt8(ascii: "0") + number / 10 % 10) }
        output.append(UInt8(ascii: "0") + number % 10)
    }

    /// Writes a number without leading zeros, with small letters.
    private static func writeHexadecimal(_ number: UInt16, to output: inout OutputSpan<UInt8>) {
        var place = number < 0x10 ? 0 : number < 0x100 ? 4 : number < 0x1000 ? 8 : 12
        while place >= 0 {
            let digit = UInt8(number >> UInt16(place) & 0xf)
            output.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            place -= 4
        }
    }

    /// The first longest run of at least two zero groups.
    private static func longestZeroRun(_ groups: [8 of UInt16]) -> Range<Int>? {
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
    package init?(_ text: some StringProtocol) {
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
