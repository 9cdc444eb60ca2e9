import DNSWire

/// Values by name, of which the one for the nearest parent of a name is looked up.
///
/// Most tables are small, and of most names no parent is as long as one of their entries and begins alike: those cost no
/// hashing. Some have 100,000 entries on a machine with little memory: so there is one buffer of names, and one of slots that
/// refer to them.
struct NameSuffixTable<Value: Equatable> {
    /// One entry, or room for one.
    fileprivate struct Slot: Equatable {
        var name: NameList.Place
        /// Of the name: it tells most others apart, and moves the slot when there are more.
        var hash: UInt32
        /// Nil: nothing is here.
        var value: Value?
    }

    private var names = NameList()
    /// An entry is in the slot that its hash says, or behind it in the first that was free. As many as a power of two, of which
    /// at most three quarters are taken.
    private var slots: [Slot] = []
    /// The lengths that entries have.
    private var lengths = ByteSet()
    /// What entries have of `beginningMark`: a large table has them all, of a small one it keeps most names away.
    private var beginnings = ByteSet()
    /// What entries have of `endingMark`: most names end in another top-level domain than those of a small table.
    private var endings = ByteSet()
    /// Whether there is an entry for the root, which every name is within.
    private var hasRoot = false

    init() {}

    /// Takes the memory for that many entries at once.
    ///
    /// - Parameter bytes: of their names in wire form.
    init(count: Int, bytes: Int) {
        names.reserveCapacity(bytes: bytes)
        resize(for: count)
    }

    /// Bytes that its entries have taken.
    var memory: Int { names.capacity + slots.capacity * MemoryLayout<Slot>.stride }

    /// Keeps a value for exactly this name, in place of an earlier one.
    mutating func set(_ value: Value, for name: Name) {
        if (names.count + 1) * 4 > slots.count * 3 { resize(for: names.count + 1) }
        let suffix = NameSuffix(name)
        let hash = Self.hash(suffix)
        let index = index(of: suffix, hash)
        if slots[index].value == nil {
            slots[index] = Slot(name: names.endIndex, hash: hash, value: value)
            names.append(name)
            lengths.insert(suffix.lengthMark)
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
        guard lengths.contains(suffix.lengthMark), beginnings.contains(suffix.beginningMark) else { return nil }
        return slots[index(of: suffix, Self.hash(suffix))].value
    }

    /// The entry for the name itself or its nearest parent.
    ///
    /// - Parameter belowRoot: leaves an entry for the root, which is a parent of everything, out of account.
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
    /// Whether both have the same values for the same names, in whatever order they came.
    static func == (left: NameSuffixTable, right: NameSuffixTable) -> Bool {
        // Of the same lists read twice all is the same.
        if left.names == right.names, left.slots == right.slots { return true }
        guard left.names.count == right.names.count else { return false }
        for slot in left.slots where slot.value != nil {
            guard right[NameSuffix(left.names[slot.name])] == slot.value else { return false }
        }
        return true
    }
}

/// Some of the numbers 0 to 255.
private struct ByteSet {
    private var bits: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    mutating func insert(_ number: UInt8) {
        let bit: UInt64 = 1 << UInt64(number & 63)
        switch number >> 6 {
        case 0: bits.0 |= bit
        case 1: bits.1 |= bit
        case 2: bits.2 |= bit
        default: bits.3 |= bit
        }
    }

    func contains(_ number: UInt8) -> Bool {
        let word =
            switch number >> 6 {
            case 0: bits.0
            case 1: bits.1
            case 2: bits.2
            default: bits.3
            }
        return word & (1 << UInt64(number & 63)) != 0
    }
}

extension Name {
    /// Of the last two letters of its top-level domain, the same in any letter case; 0 for the root.
    fileprivate var endingMark: UInt8 {
        let count = wire.count
        guard count >= 3 else { return 0 }
        return wire[count - 2] | 0x20 &+ 37 &* (wire[count - 3] | 0x20)
    }
}

extension NameSuffix {
    /// Its length, 1 to 255.
    fileprivate var lengthMark: UInt8 { UInt8(truncatingIfNeeded: length) }

    /// Of its length and first byte, the same in any letter case.
    fileprivate var beginningMark: UInt8 { lengthMark &+ 37 &* firstByte }
}
