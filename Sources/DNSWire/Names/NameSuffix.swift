/// A name, or a suffix of it without some labels at its left: the key of tables in which the closest ancestor of a name
/// is looked up. Refers to the name's bytes without copying them. Inlined where tables are walked: each question walks
/// several.
@usableFromInline
package struct NameSuffix: Sendable {
    @usableFromInline let wire: [UInt8]
    @usableFromInline var start: Int

    @inlinable
    init(wire: [UInt8], start: Int) {
        self.wire = wire
        self.start = start
    }

    /// The whole name.
    @inlinable
    package init(_ name: Name) { self.init(wire: name.wire, start: 0) }

    /// Length in bytes in wire form, 1 to 255.
    @inlinable
    package var length: Int { wire.count - start }

    /// The first byte of its leftmost label, in lower case; 0 for the root.
    @inlinable
    package var firstByte: UInt8 { isRoot ? 0 : asciiLowercased(wire[start + 1]) }

    /// Whether it is the name of the root zone.
    @inlinable
    package var isRoot: Bool { start == wire.count - 1 }

    /// The suffix without its leftmost label; nil for the root.
    package var parent: NameSuffix? {
        isRoot ? nil : NameSuffix(wire: wire, start: start + 1 + Int(wire[start]))
    }

    /// Removes its leftmost label; does nothing for the root.
    @inlinable
    package mutating func removeLabel() {
        if !isRoot { start += 1 + Int(wire[start]) }
    }

    /// Whether the name at offset `place` of these bytes equals this one. Both end with the root's zero byte, so
    /// neither is a prefix of the other.
    func begins(_ bytes: [UInt8], at place: Int) -> Bool {
        guard length <= bytes.count - place else { return false }
        let distance = place - start
        for index in start..<wire.count {
            let (one, other) = (wire[index], bytes[index + distance])
            if one != other, asciiLowercased(one) != asciiLowercased(other) { return false }
        }
        return true
    }

    /// The suffix as a name.
    package var name: Name { start == 0 ? Name(uncheckedWire: wire) : Name(uncheckedWire: Array(wire[start...])) }
}

extension NameSuffix: Hashable {
    @usableFromInline
    package static func == (left: NameSuffix, right: NameSuffix) -> Bool {
        Name.areEqual(left.wire, from: left.start, right.wire, from: right.start)
    }

    @usableFromInline
    package func hash(into hasher: inout Hasher) { Name.hash(wire, from: start, into: &hasher) }
}

/// Names in lower case, concatenated in one buffer: a long list costs its bytes and no overhead for each name.
package struct NameList: Sendable, Equatable {
    /// The names in wire form.
    private var bytes: [UInt8] = []
    package private(set) var count = 0

    package init() {}

    package init(_ names: [Name]) {
        reserveCapacity(bytes: names.reduce(0) { $0 + $1.wire.count })
        for name in names { append(name) }
    }

    /// Length in bytes of all names in wire form.
    package var byteCount: Int { bytes.count }

    /// Capacity of the buffer in bytes.
    package var capacity: Int { bytes.capacity }

    /// Reserves memory for this many bytes of names in all, so that none is copied while they are added.
    package mutating func reserveCapacity(bytes: Int) { self.bytes.reserveCapacity(bytes) }

    package mutating func append(_ name: Name) {
        bytes += name.lowercased.wire
        count += 1
    }

    /// Whether the name at `place` equals `suffix`.
    package func holds(_ suffix: NameSuffix, at place: Place) -> Bool { suffix.begins(bytes, at: Int(place.byte)) }
}

extension NameList: Collection {
    /// The position of a name: valid as long as names are only appended.
    package struct Place: Comparable, Sendable {
        /// Byte offset. Four bytes suffice for any list: a configuration file ends at 1 MiB.
        fileprivate let byte: UInt32

        package static func < (left: Place, right: Place) -> Bool { left.byte < right.byte }
    }

    package var startIndex: Place { Place(byte: 0) }

    package var endIndex: Place { Place(byte: UInt32(bytes.count)) }

    package func index(after place: Place) -> Place { Place(byte: UInt32(end(of: place))) }

    package subscript(place: Place) -> Name { Name(uncheckedWire: Array(bytes[Int(place.byte)..<end(of: place)])) }

    /// The offset after a name.
    private func end(of place: Place) -> Int {
        var at = Int(place.byte)
        while bytes[at] != 0 { at += 1 + Int(bytes[at]) }
        return at + 1
    }
}

extension NameList: ExpressibleByArrayLiteral {
    package init(arrayLiteral names: Name...) { self.init(names) }
}
