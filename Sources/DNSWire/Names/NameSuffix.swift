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
