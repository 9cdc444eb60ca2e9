import DNSCache
import DNSWire

/// What a row has of an answer besides its key and its records.
struct RowFacts {
    let responseCode: ResponseCode
    let counts: PackedAnswer.SectionCounts
    let isNegative: Bool
    /// When it was stored, in seconds since 1970.
    let storedAt: Int64
    /// Its original TTL, in seconds.
    let lifetime: UInt32
    /// The source that gave the answer, as named by `PolicyIdentity`.
    let source: String
    let route: StoredRoute
    /// The digest of the policy under which it was stored.
    let policy: String

    /// The checksum of a row, which detects changes by the disk.
    ///
    /// - Parameters:
    ///   - name: in lower case, as in a message.
    ///   - flags: as in the row.
    ///   - body: the records.
    func checksum(
        name: Span<UInt8>, type: RecordType, class: RecordClass, flags: UInt16, body: Span<UInt8>
    ) -> UInt64 {
        var checksum = Checksum()
        checksum.add(name)
        checksum.add(type.rawValue)
        checksum.add(`class`.rawValue)
        checksum.add(flags)
        checksum.add(route.rawValue)
        checksum.add(responseCode.rawValue)
        checksum.add(isNegative ? 1 : 0)
        checksum.add(storedAt)
        checksum.add(lifetime)
        checksum.add(source)
        checksum.add(policy)
        checksum.add(counts.answer)
        checksum.add(counts.authority)
        checksum.add(counts.additional)
        checksum.add(body)
        return checksum.value
    }
}
