/// An IPv4 or IPv6 address.
@frozen
package enum IPAddress: Hashable, Sendable {
    /// Four bytes, the first one highest.
    case v4(UInt32)
    /// Sixteen bytes, the first one highest.
    case v6(UInt128)

    /// The address in network byte order: 4 or 16 bytes.
    package var bytes: [UInt8] {
        switch self {
        case .v4(let value): (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * $0)) }
        case .v6(let value): (0..<16).map { UInt8(truncatingIfNeeded: value >> UInt128(120 - 8 * $0)) }
        }
    }

    /// Takes 4 or 16 bytes in network byte order; nil for any other number of bytes.
    package init?(bytes: some Collection<UInt8>) {
        switch bytes.count {
        case 4: self = .v4(bytes.reduce(0) { $0 << 8 | UInt32($1) })
        case 16: self = .v6(bytes.reduce(0) { $0 << 8 | UInt128($1) })
        default: return nil
        }
    }

    /// The type of record that carries it: A or AAAA.
    package var recordType: RecordType {
        switch self {
        case .v4: .a
        case .v6: .aaaa
        }
    }

    /// Whether it is 127.0.0.0/8 or ::1.
    package var isLoopback: Bool {
        switch self {
        case .v4(let value): value >> 24 == 127
        case .v6(let value): value == 1
        }
    }
}

extension IPAddress: CustomStringConvertible {
    /// Dotted decimal, or IPv6 text in canonical form (RFC 5952).
    package var description: String {
        switch self {
        case .v4:
            return bytes.map { String($0) }.joined(separator: ".")
        case .v6(let value):
            let groups = (0..<8).map { UInt16(truncatingIfNeeded: value >> UInt128(112 - 16 * $0)) }
            let text = { (part: ArraySlice<UInt16>) in part.map { String($0, radix: 16) }.joined(separator: ":") }
            guard let zeros = Self.longestZeroRun(groups) else { return text(groups[...]) }
            return text(groups[..<zeros.lowerBound]) + "::" + text(groups[zeros.upperBound...])
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

    /// Reads dotted decimal or IPv6 text, canonical or not; nil for anything else, and for zone suffixes.
    package init?(_ text: some StringProtocol) {
        let text = String(text)
        self.init(text: text.utf8.span)
    }

    /// The same from UTF-8.
    package init?(text: Span<UInt8>) {
        for index in text.indices where text[index] == UInt8(ascii: ":") {
            guard let value = Self.parseV6(text) else { return nil }
            self = .v6(value)
            return
        }
        guard let value = Self.parseV4(text, from: 0) else { return nil }
        self = .v4(value)
    }

    /// Reads dotted decimal that goes on to the end.
    private static func parseV4(_ text: Span<UInt8>, from start: Int) -> UInt32? {
        var value: UInt32 = 0
        var at = start
        for part in 0..<4 {
            if part > 0 {
                guard at < text.count, text[at] == UInt8(ascii: ".") else { return nil }
                at += 1
            }
            let first = at
            var byte: UInt32 = 0
            while at < text.count, at - first < 3, let digit = digit(text[at], radix: 10) {
                byte = byte * 10 + digit
                at += 1
            }
            // A leading zero may mean octal to somebody else.
            guard at > first, byte <= 255, at - first == 1 || text[first] != UInt8(ascii: "0") else { return nil }
            value = value << 8 | byte
        }
        return at == text.count ? value : nil
    }

    private static func parseV6(_ text: Span<UInt8>) -> UInt128? {
        var value: UInt128 = 0
        var groups = 0
        /// How many groups stand before `::`.
        var gap: Int?
        var at = 0
        func isColon(_ index: Int) -> Bool { index < text.count && text[index] == UInt8(ascii: ":") }
        while at < text.count {
            if isColon(at), isColon(at + 1), gap == nil {
                gap = groups
                at += 2
                continue
            }
            if groups > 0, gap != groups {
                guard isColon(at) else { return nil }
                at += 1
            }
            let first = at
            var group: UInt32 = 0
            while at < text.count, at - first < 4, let digit = digit(text[at], radix: 16) {
                group = group << 4 | digit
                at += 1
            }
            if at < text.count, text[at] == UInt8(ascii: ".") {
                guard let last = parseV4(text, from: first) else { return nil }
                value = value << 32 | UInt128(last)
                groups += 2
                at = text.count
            } else {
                guard at > first else { return nil }
                value = value << 16 | UInt128(group)
                groups += 1
            }
            guard groups <= 8 else { return nil }
        }
        guard let gap else { return groups == 8 ? value : nil }
        guard groups <= 7 else { return nil }
        let tail = UInt128(16 * (groups - gap))
        let low = value & ((1 << tail) - 1)
        return (value >> tail) << UInt128(16 * (8 - gap)) | low
    }

    private static func digit(_ byte: UInt8, radix: UInt8) -> UInt32? {
        let value: UInt8 =
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
            default: .max
            }
        return value < radix ? UInt32(value) : nil
    }
}
