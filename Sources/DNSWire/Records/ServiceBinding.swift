/// The rdata of an HTTPS or SVCB record (RFC 9460 section 2.2).
///
/// Parsed strictly, since a malformed record invalidates its whole RRset (section 2.2). Unchanged parts are written as
/// they were received, byte for byte.
package struct ServiceBinding: Hashable, Sendable {
    /// Numbers of SvcParams (RFC 9460 section 14.3.2, RFC 9461 section 5).
    package enum Key {
        static let mandatory: UInt16 = 0
        package static let alpn: UInt16 = 1
        static let noDefaultALPN: UInt16 = 2
        package static let port: UInt16 = 3
        package static let ipv4Hint: UInt16 = 4
        package static let ipv6Hint: UInt16 = 6
        package static let path: UInt16 = 7
        static let invalid: UInt16 = 65_535
    }

    /// Priority and target in wire form.
    private let head: [UInt8]
    /// The values of the SvcParams, by their numbers.
    private var parameters: [UInt16: [UInt8]] = [:]

    /// - Parameter parameters: the values of the SvcParams, each of 65,535 bytes at most.
    package init(priority: UInt16, target: Name, parameters: [UInt16: [UInt8]]) {
        head = Self.bytes(priority) + target.wire
        self.parameters = parameters
    }

    /// - Returns: nil for rdata that is malformed.
    package init?(rdata: [UInt8]) {
        var rest = rdata[...]
        guard Self.takeNumber(&rest) != nil, Self.takeName(&rest) else { return nil }
        head = Array(rdata[..<rest.startIndex])
        var last: UInt16?
        while !rest.isEmpty {
            guard let key = Self.takeNumber(&rest), let length = Self.takeNumber(&rest), rest.count >= length,
                key != Key.invalid, last.map({ $0 < key }) ?? true
            else { return nil }
            parameters[key] = Array(rest.prefix(Int(length)))
            rest = rest.dropFirst(Int(length))
            last = key
        }
        guard parameters.allSatisfy(isWellFormed) else { return nil }
    }

    /// Passes a name, which is uncompressed (section 2.2). Returns whether there is one.
    private static func takeName(_ rest: inout ArraySlice<UInt8>) -> Bool {
        var end = rest.startIndex
        while end < rest.endIndex, rest[end] != 0 {
            // A length beyond the end is caught by the loop's condition; one above 63 is refused below.
            end += 1 + Int(rest[end])
        }
        guard end < rest.endIndex, (try? Name(wire: Array(rest[...end]))) != nil else { return false }
        rest = rest[(end + 1)...]
        return true
    }

    private static func takeNumber(_ rest: inout ArraySlice<UInt8>) -> UInt16? {
        guard rest.count >= 2 else { return nil }
        defer { rest = rest.dropFirst(2) }
        return rest.prefix(2).reduce(0) { $0 << 8 | UInt16($1) }
    }

    /// Whether a value is valid for its key (sections 7 and 8); the value of an unknown key may be anything.
    private func isWellFormed(_ key: UInt16, _ value: [UInt8]) -> Bool {
        switch key {
        case Key.mandatory:
            let keys = Self.keys(value)
            return !value.isEmpty && value.count.isMultiple(of: 2) && keys == keys.sorted()
                && Set(keys).count == keys.count && !keys.contains(Key.mandatory)
                && keys.allSatisfy { parameters[$0] != nil }
        case Key.alpn:
            var rest = value[...]
            while let length = rest.first {
                guard length > 0, rest.count > length else { return false }
                rest = rest.dropFirst(1 + Int(length))
            }
            return !value.isEmpty
        case Key.noDefaultALPN: return value.isEmpty && parameters[Key.alpn] != nil
        case Key.port: return value.count == 2
        case Key.ipv4Hint: return !value.isEmpty && value.count.isMultiple(of: 4)
        case Key.ipv6Hint: return !value.isEmpty && value.count.isMultiple(of: 16)
        default: return true
        }
    }

    private static func keys(_ value: [UInt8]) -> [UInt16] {
        stride(from: 0, to: value.count - 1, by: 2).map { UInt16(value[$0]) << 8 | UInt16(value[$0 + 1]) }
    }

    /// The same record without address hints; nil when a client must not use it without (`mandatory`).
    package var withoutHints: ServiceBinding? {
        let hints = [Key.ipv4Hint, Key.ipv6Hint]
        guard !Self.keys(parameters[Key.mandatory] ?? []).contains(where: hints.contains) else { return nil }
        var binding = self
        for hint in hints { binding.parameters[hint] = nil }
        return binding
    }

    /// The rdata in wire form.
    package var rdata: [UInt8] {
        parameters.sorted { $0.key < $1.key }.reduce(into: head) { rdata, parameter in
            rdata += Self.bytes(parameter.key) + Self.bytes(UInt16(parameter.value.count)) + parameter.value
        }
    }

    private static func bytes(_ number: UInt16) -> [UInt8] {
        [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)]
    }
}
