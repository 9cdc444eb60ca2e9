package import DNSWire

/// A cached answer with the parts of its key, as returned by a walk.
package struct CachedAnswer: Sendable {
    /// In lower case.
    package let name: Name
    package let type: RecordType
    package let dnssecOK: Bool
    package let checkingDisabled: Bool
    /// The clients for which it is valid; nil for all.
    package let scope: ClientScope?
    package let entry: CacheEntry

    /// Nil unless `isWanted` accepts the name.
    ///
    /// - Parameter key: the bytes of a `QueryKey`.
    init?(key: [UInt8], entry: @autoclosure () -> CacheEntry?, where isWanted: (Name) -> Bool) {
        guard let parts = Self.parts(Array(key.dropLast(5))), isWanted(parts.name), let entry = entry() else {
            return nil
        }
        (name, scope) = parts
        let end = key.suffix(5)
        type = RecordType(rawValue: UInt16(end[end.startIndex]) << 8 | UInt16(end[end.startIndex + 1]))
        dnssecOK = key[key.count - 1] & 1 != 0
        checkingDisabled = key[key.count - 1] & 2 != 0
        self.entry = entry
    }

    /// The name at the beginning of a key, and the scope after it.
    private static func parts(_ bytes: [UInt8]) -> (name: Name, scope: ClientScope?)? {
        var end = 0
        while end < bytes.count, bytes[end] > 0 { end += 1 + Int(bytes[end]) }
        guard end < bytes.count, let name = try? Name(wire: Array(bytes[...end])) else { return nil }
        let rest = Array(bytes[(end + 1)...])
        if rest.isEmpty { return (name, nil) }
        return ClientScope(keyBytes: rest).map { (name, $0) }
    }

    /// Its key; with another type if `type` is given.
    package func key(type: RecordType? = nil) -> QueryKey {
        QueryKey(
            Question(name: name, type: type ?? self.type), dnssecOK: dnssecOK, checkingDisabled: checkingDisabled,
            scope: scope)
    }
}
