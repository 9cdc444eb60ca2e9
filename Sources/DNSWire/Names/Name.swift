/// A domain name in uncompressed wire form, with its original letter case.
///
/// At most 255 bytes, labels of at most 63 (RFC 1035 section 2.3.4). Equality and hashing ignore the case of ASCII
/// letters and of nothing else (RFC 4343).
public struct Name: Sendable {
    /// The greatest length in bytes of a name in wire form, the root's zero byte included.
    public static var maximumLength: Int { 255 }
    /// The greatest length in bytes of one label.
    public static var maximumLabelLength: Int { 63 }
    /// The most labels of a name, the root's not counted: with one byte each.
    public static let maximumLabels = 127

    /// Length-prefixed labels and the root's zero byte: 1 to 255 bytes.
    public let wire: [UInt8]

    public static let root = Name(uncheckedWire: [0])

    /// Takes bytes known to be a well-formed name. For the parser and for names derived from names.
    init(uncheckedWire wire: [UInt8]) { self.wire = wire }

    /// Parses a name that must fill `wire` exactly, without compression.
    public init(wire: [UInt8]) throws(NameError) {
        var at = 0
        while true {
            guard at < wire.count else { throw .truncated }
            let length = Int(wire[at])
            guard length <= Self.maximumLabelLength else { throw .labelTooLong }
            at += length + 1
            if length == 0 { break }
        }
        guard at == wire.count else { throw .truncated }
        guard wire.count <= Self.maximumLength else { throw .tooLong }
        self.wire = wire
    }

    /// Whether this is the name of the root zone.
    public var isRoot: Bool { wire.count == 1 }

    /// The labels from left to right, without the root's.
    public var labels: [ArraySlice<UInt8>] {
        var labels: [ArraySlice<UInt8>] = []
        var at = 0
        while wire[at] != 0 {
            let end = at + 1 + Int(wire[at])
            labels.append(wire[(at + 1)..<end])
            at = end
        }
        return labels
    }

    /// The same name with ASCII letters in lower case: the form of every key.
    public var lowercased: Name {
        // All bytes are read, several at a time: mostly none is an upper-case letter.
        var changes: UInt8 = 0
        for byte in wire { changes |= byte ^ asciiLowercased(byte) }
        return changes == 0 ? self : Name(uncheckedWire: wire.map(asciiLowercased))
    }

    /// The name without its leftmost label; nil for the root.
    public var parent: Name? {
        isRoot ? nil : Name(uncheckedWire: Array(wire[(1 + Int(wire[0]))...]))
    }

    /// Whether this is `ancestor` or a subdomain of it, by whole labels.
    public func isWithin(_ ancestor: Name) -> Bool {
        let start = wire.count - ancestor.wire.count
        guard start >= 0 else { return false }
        var at = 0
        while at < start { at += 1 + Int(wire[at]) }
        guard at == start else { return false }
        return Self.areEqual(wire, from: start, ancestor.wire, from: 0)
    }

    /// This name with `label` prepended.
    public func prepending(label: some Collection<UInt8>) throws(NameError) -> Name {
        guard !label.isEmpty else { throw .emptyLabel }
        guard label.count <= Self.maximumLabelLength else { throw .labelTooLong }
        guard wire.count + label.count + 1 <= Self.maximumLength else { throw .tooLong }
        return Name(uncheckedWire: [UInt8(label.count)] + label + wire)
    }
}

extension Name {
    /// Reads a name as people write it for a command: of visible ASCII, and not empty, which would be the root.
    ///
    /// - Throws: as `init(_:)`, and `NameError.empty`, `NameError.notVisible`.
    public init(typed text: String) throws(NameError) {
        guard !text.isEmpty else { throw .empty }
        guard text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else { throw .notVisible }
        try self.init(text)
    }
}

/// The reason why bytes or text are not a domain name.
public enum NameError: Error, Hashable, Sendable {
    case truncated
    case emptyLabel
    case labelTooLong
    case tooLong
    case badEscape
    case empty
    case notVisible
}

extension NameError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .truncated: "the name ends inside a label"
        case .emptyLabel: "a label is empty (two dots in a row, or a dot at the start)"
        case .labelTooLong: "a label has more than 63 bytes"
        case .tooLong: "the name has more than 255 bytes"
        case .badEscape: "a backslash must be followed by three digits up to 255 or by a character"
        case .empty: "it is empty; the root is \".\""
        case .notVisible: "only visible ASCII is allowed: punycode (xn--...), or \\ and three digits for a byte"
        }
    }
}

/// Converts an ASCII letter to lower case; leaves every other byte unchanged (RFC 4343).
public func asciiLowercased(_ byte: UInt8) -> UInt8 {
    byte &- 0x41 < 26 ? byte | 0x20 : byte
}

extension UInt64 {
    /// Eight characters with the letters A to Z in lower case; bytes above 127 are unchanged.
    @inline(__always)
    public var asciiLowercased: UInt64 {
        let low = self & 0x7f7f_7f7f_7f7f_7f7f
        // A byte's top bit is set in `upper` if its lower seven are a letter from A to Z.
        let upper = (low &+ 0x3f3f_3f3f_3f3f_3f3f) ^ (low &+ 0x2525_2525_2525_2525)
        return self | (upper & ~self & 0x8080_8080_8080_8080) &>> 2
    }
}

extension Name: Hashable {
    public static func == (left: Name, right: Name) -> Bool {
        // Mostly they are the same bytes: copies of one name.
        left.wire == right.wire || areEqual(left.wire, from: 0, right.wire, from: 0)
    }

    public func hash(into hasher: inout Hasher) { Self.hash(wire, from: 0, into: &hasher) }

    /// Whether the name at the end of `left` is the one that begins at a place of `right`. Both end with the root's zero byte,
    /// so neither is a prefix of the other.
    static func areEqual(_ left: [UInt8], from leftStart: Int, _ right: [UInt8], from rightStart: Int) -> Bool {
        guard left.count - leftStart <= right.count - rightStart else { return false }
        let distance = rightStart - leftStart
        for index in leftStart..<left.count {
            let (one, other) = (left[index], right[index + distance])
            if one != other, asciiLowercased(one) != asciiLowercased(other) { return false }
        }
        return true
    }

    /// Hashes eight bytes at a time: a call of the hasher costs more than combining them.
    static func hash(_ wire: [UInt8], from start: Int, into hasher: inout Hasher) {
        for place in stride(from: start, to: wire.count, by: 8) {
            var word: UInt64 = 0
            for index in place..<min(place + 8, wire.count) { word = word << 8 | UInt64(wire[index]) }
            hasher.combine(word.asciiLowercased)
        }
    }
}

/// A name, or a suffix of it without some labels at its left: the key of tables in which the closest ancestor of a name
/// is looked up. Refers to the name's bytes without copying them. Inlined where tables are walked: each question walks
/// several.
public struct NameSuffix: Sendable {
    let wire: [UInt8]
    var start: Int

    init(wire: [UInt8], start: Int) {
        self.wire = wire
        self.start = start
    }

    /// The whole name.
    public init(_ name: Name) { self.init(wire: name.wire, start: 0) }

    /// Length in bytes in wire form, 1 to 255.
    public var length: Int { wire.count - start }

    /// The first byte of its leftmost label, in lower case; 0 for the root.
    public var firstByte: UInt8 { isRoot ? 0 : asciiLowercased(wire[start + 1]) }

    /// Whether it is the name of the root zone.
    public var isRoot: Bool { start == wire.count - 1 }

    /// The suffix without its leftmost label; nil for the root.
    public var parent: NameSuffix? {
        isRoot ? nil : NameSuffix(wire: wire, start: start + 1 + Int(wire[start]))
    }

    /// Removes its leftmost label; does nothing for the root.
    public mutating func removeLabel() {
        if !isRoot { start += 1 + Int(wire[start]) }
    }

    /// The suffix as a name.
    public var name: Name { start == 0 ? Name(uncheckedWire: wire) : Name(uncheckedWire: Array(wire[start...])) }
}

extension NameSuffix: Hashable {
    public static func == (left: NameSuffix, right: NameSuffix) -> Bool {
        Name.areEqual(left.wire, from: left.start, right.wire, from: right.start)
    }

    public func hash(into hasher: inout Hasher) { Name.hash(wire, from: start, into: &hasher) }
}

/// Names in lower case, concatenated in one buffer: a long list costs its bytes and no overhead for each name.
public struct NameList: Sendable, Equatable {
    /// The names in wire form.
    private var bytes: [UInt8] = []
    public private(set) var count = 0

    public init() {}

    public init(_ names: [Name]) {
        reserveCapacity(bytes: names.reduce(0) { $0 + $1.wire.count })
        for name in names { append(name) }
    }

    /// Length in bytes of all names in wire form.
    public var byteCount: Int { bytes.count }

    /// Capacity of the buffer in bytes.
    public var capacity: Int { bytes.capacity }

    /// Reserves memory for this many bytes of names in all, so that none is copied while they are added.
    public mutating func reserveCapacity(bytes: Int) { self.bytes.reserveCapacity(bytes) }

    public mutating func append(_ name: Name) {
        bytes += name.lowercased.wire
        count += 1
    }

    /// Whether the name at `place` equals `suffix`.
    public func holds(_ suffix: NameSuffix, at place: Place) -> Bool {
        Name.areEqual(suffix.wire, from: suffix.start, bytes, from: Int(place.byte))
    }
}

extension NameList: Collection {
    /// The position of a name: valid as long as names are only appended.
    public struct Place: Comparable, Sendable {
        /// Byte offset. Four bytes suffice for any list: a configuration file ends at 1 MiB.
        fileprivate let byte: UInt32

        public static func < (left: Place, right: Place) -> Bool { left.byte < right.byte }
    }

    public var startIndex: Place { Place(byte: 0) }

    public var endIndex: Place { Place(byte: UInt32(bytes.count)) }

    public func index(after place: Place) -> Place { Place(byte: UInt32(end(of: place))) }

    public subscript(place: Place) -> Name { Name(uncheckedWire: Array(bytes[Int(place.byte)..<end(of: place)])) }

    /// The offset after a name.
    private func end(of place: Place) -> Int {
        var at = Int(place.byte)
        while bytes[at] != 0 { at += 1 + Int(bytes[at]) }
        return at + 1
    }
}

extension NameList: ExpressibleByArrayLiteral {
    public init(arrayLiteral names: Name...) { self.init(names) }
}
