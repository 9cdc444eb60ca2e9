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
        if text.utf8.contains(UInt8(ascii: ":")) {
            guard let value = Self.parseV6(text) else { return nil }
            self = .v6(value)
        } else {
            guard let value = Self.parseV4(text) else { return nil }
            self = .v4(value)
        }
    }

    private static func parseV4(_ text: some StringProtocol) -> UInt32? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var value: UInt32 = 0
        for part in parts {
            guard (1...3).contains(part.utf8.count), part.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                part == "0" || !part.hasPrefix("0"), let byte = UInt8(part)
            else { return nil }
            value = value << 8 | UInt32(byte)
        }
        return value
    }

    private static func parseV6(_ text: some StringProtocol) -> UInt128? {
        guard text.utf8.count <= 45 else { return nil }
        let halves = text.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false)
        guard let head = groups(halves[0], last: halves.count == 1) else { return nil }
        var all = head
        if halves.count == 2 {
            guard let tail = groups(halves[1], last: true), head.count + tail.count <= 7 else { return nil }
            all += Array(repeating: 0, count: 8 - head.count - tail.count) + tail
        }
        guard all.count == 8 else { return nil }
        return all.reduce(0) { $0 << 16 | UInt128($1) }
    }

    /// The 16-bit groups of one side of `::`; the last may be dotted decimal if it ends the text.
    private static func groups(_ text: some StringProtocol, last: Bool) -> [UInt16]? {
        if text.isEmpty { return [] }
        var groups: [UInt16] = []
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if last, index == parts.count - 1, part.utf8.contains(UInt8(ascii: ".")) {
                guard let value = parseV4(part) else { return nil }
                groups += [UInt16(value >> 16), UInt16(truncatingIfNeeded: value)]
            } else {
                guard (1...4).contains(part.utf8.count), !part.hasPrefix("+"), !part.hasPrefix("-"),
                    let group = UInt16(part, radix: 16)
                else { return nil }
                groups.append(group)
            }
        }
        return groups
    }
}
