/// The rdata of an HTTPS or SVCB record (RFC 9460 section 2.2).
///
/// Parsed strictly, since a malformed record invalidates its whole RRset (section 2.2). Unchanged parts are written as
/// they were received, byte for byte.
public struct ServiceBinding: Hashable, Sendable {
    /// Numbers of SvcParams (RFC 9460 section 14.3.2, RFC 9461 section 5).
    public enum Key {
        static let mandatory: UInt16 = 0
        public static let alpn: UInt16 = 1
        static let noDefaultALPN: UInt16 = 2
        public static let port: UInt16 = 3
        public static let ipv4Hint: UInt16 = 4
        public static let ipv6Hint: UInt16 = 6
        public static let path: UInt16 = 7
        static let invalid: UInt16 = 65_535
    }

    /// Priority and target in wire form.
    private let head: [UInt8]
    /// The values of the SvcParams, by their numbers.
    private var parameters: [UInt16: [UInt8]] = [:]

    /// - Parameter parameters: the values of the SvcParams, each of 65,535 bytes at most.
    public init(priority: UInt16, target: Name, parameters: [UInt16: [UInt8]]) {
        var head: [UInt8] = []
        head.append(priority, bytes: 2)
        self.head = head + target.wire
        self.parameters = parameters
    }

    /// - Returns: nil for rdata that is malformed.
    public init?(rdata: [UInt8]) {
        var rest = ByteReader(rdata)
        guard rest.number(2) != nil, Self.takeName(&rest) else { return nil }
        head = Array(rdata[..<rest.rest.startIndex])
        var last = -1
        while !rest.isAtEnd {
            guard let number = rest.number(2), let key = UInt16(exactly: number), let value = rest.string(behind: 2),
                key != Key.invalid, number > last
            else { return nil }
            parameters[key] = Array(value)
            last = number
        }
        guard parameters.allSatisfy(isWellFormed) else { return nil }
    }

    /// Passes a name, which is uncompressed (section 2.2). Returns whether there is one.
    private static func takeName(_ rest: inout ByteReader) -> Bool {
        let bytes = rest.rest
        while let length = rest.number(1), length > 0 {
            // One above 63 is refused below.
            guard rest.bytes(length) != nil else { return false }
        }
        return (try? Name(wire: Array(bytes[..<rest.rest.startIndex]))) != nil
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
            var rest = ByteReader(value)
            while !rest.isAtEnd { guard rest.string(behind: 1)?.isEmpty == false else { return false } }
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
    public var withoutHints: ServiceBinding? {
        let hints = [Key.ipv4Hint, Key.ipv6Hint]
        guard !Self.keys(parameters[Key.mandatory] ?? []).contains(where: hints.contains) else { return nil }
        var binding = self
        for hint in hints { binding.parameters[hint] = nil }
        return binding
    }

    /// The rdata in wire form.
    public var rdata: [UInt8] {
        parameters.sorted { $0.key < $1.key }.reduce(into: head) { rdata, parameter in
            rdata.append(parameter.key, bytes: 2)
            rdata.append(parameter.value.count, bytes: 2)
            rdata += parameter.value
        }
    }
}
