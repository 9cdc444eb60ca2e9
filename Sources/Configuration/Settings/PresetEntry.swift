package import DNSWire

/// Static addresses of one name, or of all names below it.
package struct PresetEntry: Hashable, Sendable {
    /// Lower-cased; for a wildcard the part after `*.`.
    package var name: Name
    /// Written `*.name`: every name below it, not itself.
    package var isWildcard: Bool
    /// At least one.
    package var addresses: [IPAddress]

    /// As it stands in the file.
    var writtenName: String { (isWildcard ? "*." : "") + name.description }
}
