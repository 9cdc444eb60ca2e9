import DNSWire

/// Values by name, of which the one for the nearest parent of a name is looked up.
///
/// Most tables are small, and of most names no parent is as long as one of their entries: those cost no hashing.
struct NameSuffixTable<Value> {
    private var values: [NameSuffix: Value] = [:]
    /// A bit for each length in bytes that some entry has, 1 to 255.
    private var lengths: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    init() {}

    var isEmpty: Bool { values.isEmpty }

    /// What is kept for exactly this name.
    subscript(name: Name) -> Value? {
        get { self[NameSuffix(name)] }
        set {
            let suffix = NameSuffix(name)
            values[suffix] = newValue
            // Of an entry that goes, the bit stays: that costs time and nothing else.
            if newValue != nil { addLength(suffix.length) }
        }
    }

    private subscript(suffix: NameSuffix) -> Value? { hasLength(suffix.length) ? values[suffix] : nil }

    /// The entry for the name itself or its nearest parent.
    ///
    /// - Parameter belowRoot: leaves an entry for the root, which is a parent of everything, out of account.
    func nearest(to name: Name, belowRoot: Bool = false) -> (suffix: NameSuffix, value: Value)? {
        guard !values.isEmpty else { return nil }
        var suffix: NameSuffix? = NameSuffix(name)
        while let current = suffix, !(belowRoot && current.isRoot) {
            if let value = self[current] { return (current, value) }
            suffix = current.parent
        }
        return nil
    }

    private mutating func addLength(_ length: Int) {
        let bit: UInt64 = 1 << UInt64(length & 63)
        switch length >> 6 {
        case 0: lengths.0 |= bit
        case 1: lengths.1 |= bit
        case 2: lengths.2 |= bit
        default: lengths.3 |= bit
        }
    }

    private func hasLength(_ length: Int) -> Bool {
        let word =
            switch length >> 6 {
            case 0: lengths.0
            case 1: lengths.1
            case 2: lengths.2
            default: lengths.3
            }
        return word & (1 << UInt64(length & 63)) != 0
    }
}

extension NameSuffixTable: Sendable where Value: Sendable {}

extension NameSuffixTable: Equatable where Value: Equatable {
    static func == (left: NameSuffixTable, right: NameSuffixTable) -> Bool { left.values == right.values }
}

extension NameSuffixTable: Hashable where Value: Hashable {
    func hash(into hasher: inout Hasher) { hasher.combine(values) }
}
