import DNSWire

/// Values by name, looked up for the nearest parent of a name.
///
/// Most tables are small, and most names have no parent of the same length and first byte as an entry: those cost no
/// hashing. Some tables have 100,000 entries on a host with little memory: so there is one buffer of names, and one of
/// slots that refer to them.
struct NameSuffixTable<Value: Equatable> {
    /// One entry, or a free slot.
    fileprivate struct Slot: Equatable {
        var name: NameList.Place
        /// Of the name: it distinguishes most others without a comparison, and places the slot when the table grows.
        var hash: UInt32
        /// Nil: the slot is free.
        var value: Value?
    }

    private var names = NameList()
    /// Open addressing: an entry is in the slot given by its hash, or behind it in the first that was free. The count
    /// is a power of two; at most three quarters are used.
    private var slots: [Slot] = []
    /// The `beginningMark` of the entries: in a small table it rules out most names; a large one has all of them.
    private var beginnings = ByteSet()
    /// The `endingMark` of the entries: most names end in another top-level domain than those of a small table.
    private var endings = ByteSet()
    /// Whether there is an entry for the root, which is a parent of every name.
    private var hasRoot = false

    init() {}

    /// Allocates the memory for that many entries at once, whose names have so many bytes in wire format.
    init(count: Int, bytes: Int) {
        names.reserveCapacity(bytes: bytes)
        resize(for: count)
    }

    /// Bytes allocated for its entries.
    var memory: Int { names.capacity + slots.capacity * MemoryLayout<Slot>.stride }

    /// Sets the value for exactly this name; it replaces an earlier one.
    mutating func set(_ value: Value, for name: Name) {
        if (names.count + 1) * 4 > slots.count * 3 { resize(for: names.count + 1) }
        let suffix = NameSuffix(name)
        let hash = Self.hash(suffix)
        let index = index(of: suffix, hash)
        if slots[index].value == nil {
            slots[index] = Slot(name: names.endIndex, hash: hash, value: value)
            names.append(name)
            beginnings.insert(suffix.beginningMark)
            if name.isRoot { hasRoot = true } else { endings.insert(name.endingMark) }
        } else {
            slots[index].value = value
        }
    }

    private mutating func resize(for count: Int) {
        var size = 4
        while count * 4 > size * 3 { size *= 2 }
        let old = slots
        slots = Array(repeating: Slot(name: names.startIndex, hash: 0, value: nil), count: size)
        for slot in old where slot.value != nil {
            var index = Int(slot.hash) & (size - 1)
            while slots[index].value != nil { index = (index + 1) & (size - 1) }
            slots[index] = slot
        }
    }

    /// The slot of a name, or the free one where it belongs. There must be slots, and there is always a free one.
    private func index(of suffix: NameSuffix, _ hash: UInt32) -> Int {
        let mask = slots.count - 1
        var index = Int(hash) & mask
        while slots[index].value != nil, slots[index].hash != hash || !names.holds(suffix, at: slots[index].name) {
            index = (index + 1) & mask
        }
        return index
    }

    private static func hash(_ suffix: NameSuffix) -> UInt32 {
        var hasher = Hasher()
        suffix.hash(into: &hasher)
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }

    private subscript(suffix: NameSuffix) -> Value? {
        guard beginnings.contains(suffix.beginningMark) else { return nil }
        return slots[index(of: suffix, Self.hash(suffix))].value
    }

    /// Whether there is an entry for exactly this name.
    func has(_ name: Name) -> Bool { self[NameSuffix(name)] != nil }

    /// The entry for the name itself or its nearest parent; `belowRoot` ignores one for the root, parent of every name.
    func nearest(to name: Name, belowRoot: Bool = false) -> (suffix: NameSuffix, value: Value)? {
        guard hasRoot || endings.contains(name.endingMark) else { return nil }
        var suffix = NameSuffix(name)
        while !(belowRoot && suffix.isRoot) {
            if let value = self[suffix] { return (suffix, value) }
            if suffix.isRoot { break }
            suffix.removeLabel()
        }
        return nil
    }
}

extension NameSuffixTable.Slot: Sendable where Value: Sendable {}

extension NameSuffixTable: Sendable where Value: Sendable {}

extension NameSuffixTable: Equatable {
    /// Whether both have the same values for the same names, in whatever order they were set.
    static func == (left: NameSuffixTable, right: NameSuffixTable) -> Bool {
        // When the same lists were read twice, even the layout is equal.
        if left.names == right.names, left.slots == right.slots { return true }
        guard left.names.count == right.names.count else { return false }
        for slot in left.slots where slot.value != nil {
            guard right[NameSuffix(left.names[slot.name])] == slot.value else { return false }
        }
        return true
    }
}

/// A set of numbers from 0 to 255.
private struct ByteSet {
    private var bits: [4 of UInt64] = .init(repeating: 0)

    mutating func insert(_ number: UInt8) { bits[Int(number >> 6)] |= 1 << UInt64(number & 63) }

    func contains(_ number: UInt8) -> Bool { bits[Int(number >> 6)] & (1 << UInt64(number & 63)) != 0 }
}

extension Name {
    /// A hash of the last two letters of its top-level domain, the same in any letter case; 0 for the root.
    fileprivate var endingMark: UInt8 {
        let count = wire.count
        guard count >= 3 else { return 0 }
        return wire[count - 2] | 0x20 &+ 37 &* (wire[count - 3] | 0x20)
    }

    /// Its last two labels: names that share them mostly have one owner.
    var owner: Name {
        var (owner, ahead) = (NameSuffix(self), NameSuffix(self))
        for _ in 0..<2 { ahead.removeLabel() }
        while !ahead.isRoot {
            owner.removeLabel()
            ahead.removeLabel()
        }
        return owner.name
    }
}

extension NameSuffix {
    /// A hash of its length and first byte, the same in any letter case.
    fileprivate var beginningMark: UInt8 { UInt8(truncatingIfNeeded: length) &+ 37 &* firstByte }
}
