/// A name, or what is left of it without some labels at its left: the key of tables in which the nearest parent of a name is
/// looked up. Holds the name's bytes, and copies none. Inlined where tables are walked: each question walks several.
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

    /// Bytes of it in wire form, 1 to 255.
    @inlinable
    package var length: Int { wire.count - start }

    /// The first byte of its leftmost label, a letter in lower case; 0 for the root.
    @inlinable
    package var firstByte: UInt8 { isRoot ? 0 : asciiLowercased(wire[start + 1]) }

    /// Whether it is the name of the root zone.
    @inlinable
    package var isRoot: Bool { start == wire.count - 1 }

    /// It without its leftmost label; nil for the root.
    package var parent: NameSuffix? {
        isRoot ? nil : NameSuffix(wire: wire, start: start + 1 + Int(wire[start]))
    }

    /// Takes its leftmost label away; of the root nothing.
    @inlinable
    package mutating func removeLabel() {
        if !isRoot { start += 1 + Int(wire[start]) }
    }

    /// Whether the name that begins at `place` of these bytes is this one. Both end with the root's zero byte, so none is the
    /// beginning of another.
    func begins(_ bytes: [UInt8], at place: Int) -> Bool {
        guard length <= bytes.count - place else { return false }
        let distance = place - start
        for index in start..<wire.count {
            let (one, other) = (wire[index], bytes[index + distance])
            if one != other, asciiLowercased(one) != asciiLowercased(other) { return false }
        }
        return true
    }

    /// As a name of its own.
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
