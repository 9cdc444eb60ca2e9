/// The rdata of an HTTPS or SVCB record (RFC 9460 section 2.2).
///
/// Parsed strictly, since a malformed record invalidates its whole RRset (section 2.2). Unchanged parts are written as
/// they were received, byte for byte.
package struct ServiceBinding: Hashable, Sendable {
    /// One SvcParam.
    private struct Parameter: Hashable {
        var key: UInt16
        var value: [UInt8]
    }

    /// Numbers of SvcParams (RFC 9460 section 14.3.2).
    private enum Key {
        static let mandatory: UInt16 = 0
        static let alpn: UInt16 = 1
        static let noDefaultALPN: UInt16 = 2
        static let port: UInt16 = 3
        static let ipv4Hint: UInt16 = 4
        static let ipv6Hint: UInt16 = 6
        static let invalid: UInt16 = 65_535
    }

    /// 0 makes the record an alias of `target`.
    package let priority: UInt16
    /// The root stands for the record's own name; in an alias, it means that the service does not exist.
    package let target: Name
    private var parameters: [Parameter]

    /// - Returns: nil for rdata that is malformed.
    package init?(rdata: [UInt8]) {
        var rest = rdata[...]
        guard let priority = Self.takeNumber(&rest), let target = Self.takeName(&rest) else { return nil }
        (self.priority, self.target, parameters) = (priority, target, [])
        while !rest.isEmpty {
            guard let key = Self.takeNumber(&rest), let length = Self.takeNumber(&rest), rest.count >= length,
                key != Key.invalid, parameters.last.map({ $0.key < key }) ?? true
            else { return nil }
            parameters.append(Parameter(key: key, value: Array(rest.prefix(Int(length)))))
            rest = rest.dropFirst(Int(length))
        }
        guard parameters.allSatisfy(isWellFormed) else { return nil }
    }

    /// Uncompressed (section 2.2).
    private static func takeName(_ rest: inout ArraySlice<UInt8>) -> Name? {
        var end = rest.startIndex
        while end < rest.endIndex, rest[end] != 0 {
            // A length beyond the end is caught by the loop's condition; one above 63 is refused below.
            end += 1 + Int(rest[end])
        }
        guard end < rest.endIndex, let name = try? Name(wire: Array(rest[...end])) else { return nil }
        rest = rest[(end + 1)...]
        return name
    }

    private static func takeNumber(_ rest: inout ArraySlice<UInt8>) -> UInt16? {
        guard rest.count >= 2 else { return nil }
        defer { rest = rest.dropFirst(2) }
        return rest.prefix(2).reduce(0) { $0 << 8 | UInt16($1) }
    }

    /// Whether a value is valid for its key (sections 7 and 8); the value of an unknown key may be anything.
    private func isWellFormed(_ parameter: Parameter) -> Bool {
        let value = parameter.value
        switch parameter.key {
        case Key.mandatory:
            let keys = Self.keys(value)
            return !value.isEmpty && value.count.isMultiple(of: 2) && keys == keys.sorted()
                && Set(keys).count == keys.count && !keys.contains(Key.mandatory) && keys.allSatisfy(has)
        case Key.alpn:
            var rest = value[...]
            while let length = rest.first {
                guard length > 0, rest.count > length else { return false }
                rest = rest.dropFirst(1 + Int(length))
            }
            return !value.isEmpty
        case Key.noDefaultALPN: return value.isEmpty && has(Key.alpn)
        case Key.port: return value.count == 2
        case Key.ipv4Hint: return !value.isEmpty && value.count.isMultiple(of: 4)
        case Key.ipv6Hint: return !value.isEmpty && value.count.isMultiple(of: 16)
        default: return true
        }
    }

    private static func keys(_ value: [UInt8]) -> [UInt16] {
        stride(from: 0, to: value.count - 1, by: 2).map { UInt16(value[$0]) << 8 | UInt16(value[$0 + 1]) }
    }

    private func has(_ key: UInt16) -> Bool { parameters.contains { $0.key == key } }

    /// The same record without address hints; nil when a client must not use it without (`mandatory`).
    package var withoutHints: ServiceBinding? {
        let hints = [Key.ipv4Hint, Key.ipv6Hint]
        var binding = self
        binding.parameters.removeAll { hints.contains($0.key) }
        let isDemanding = parameters.contains { parameter in
            parameter.key == Key.mandatory && Self.keys(parameter.value).contains(where: hints.contains)
        }
        return isDemanding ? nil : binding
    }

    /// The rdata in wire form.
    package var rdata: [UInt8] {
        func bytes(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)] }
        return bytes(priority) + target.wire
            + parameters.flatMap { bytes($0.key) + bytes(UInt16($0.value.count)) + $0.value }
    }
}
