package import DNSWire

/// Static addresses of one name, or of all names below it.
package struct PresetEntry: Sendable {
    /// Lower-cased; for a wildcard the part after `*.`.
    package var name: Name
    /// Written `*.name`: every name below it, not itself.
    package var isWildcard: Bool
    /// Where it stands in its file, counted from 1; no part of it.
    package var line: UInt32
    /// At least one.
    package var addresses: [IPAddress]

    /// As it stands in the file.
    var writtenName: String { (isWildcard ? "*." : "") + name.description }
}

extension PresetEntry: Hashable {
    package static func == (left: PresetEntry, right: PresetEntry) -> Bool {
        left.name == right.name && left.isWildcard == right.isWildcard && left.addresses == right.addresses
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(isWildcard)
    }
}
