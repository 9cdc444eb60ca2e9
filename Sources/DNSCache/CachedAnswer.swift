package import DNSWire

/// What the cache holds under one key, as a walk meets it.
package struct CachedAnswer: Sendable {
    /// Lower-cased.
    package let name: Name
    package let type: RecordType
    package let dnssecOK: Bool
    package let checkingDisabled: Bool
    package let entry: CacheEntry

    /// Nil unless the name is wanted.
    ///
    /// - Parameter key: the bytes of a `QueryKey`.
    init?(key: [UInt8], entry: @autoclosure () -> CacheEntry, where isWanted: (Name) -> Bool) {
        guard key.count > 5, let name = try? Name(wire: Array(key.dropLast(5))), isWanted(name) else { return nil }
        self.name = name
        let end = key.suffix(5)
        type = RecordType(rawValue: UInt16(end[end.startIndex]) << 8 | UInt16(end[end.startIndex + 1]))
        dnssecOK = key[key.count - 1] & 1 != 0
        checkingDisabled = key[key.count - 1] & 2 != 0
        self.entry = entry()
    }

    /// What it is found by; `type` stands in for its own.
    package func key(type: RecordType? = nil) -> QueryKey {
        QueryKey(
            Question(name: name, type: type ?? self.type), dnssecOK: dnssecOK, checkingDisabled: checkingDisabled)
    }
}
