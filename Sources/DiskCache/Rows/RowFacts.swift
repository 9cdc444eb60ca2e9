import DNSCache
import DNSWire
import Scheduling

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

    /// All but the counts, the time and the texts, as one number of the file: from the lowest bit on 20 bits of lifetime,
    /// 1 that it is negative, 4 of response code, 2 of route, 18 of the source's number and 18 of the policy's.
    func number(source: Int64, policy: Int64) -> Int64 {
        Int64(lifetime & 0xf_ffff) | (isNegative ? 1 : 0) << 20 | Int64(responseCode.rawValue & 15) << 21
            | Int64(route.rawValue & 3) << 25 | source << 27 | policy << 45
    }

    /// The checksum of an answer, which detects changes by the disk. A row has those of its answers, by exclusive or.
    ///
    /// - Parameters:
    ///   - name: the checksum of the name alone, in lower case, as in a message.
    ///   - flags: as in the row.
    ///   - body: the records.
    func checksum(
        name: Checksum, type: RecordType, class: RecordClass, flags: UInt8, body: Span<UInt8>
    ) -> UInt64 {
        var checksum = name
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

extension RowFacts {
    /// The facts of an entry in memory, in terms that mean the same in the next process; nil when its source is not in the
    /// policy in force, so that it is not worth storing.
    init?(
        responseCode: ResponseCode, counts: PackedAnswer.SectionCounts, isNegative: Bool, storedAt: Instant,
        lifetime: UInt32, source: UInt16, route: UInt16, generation: UInt32, _ identity: PolicyIdentity,
        _ reading: WallClock.Reading
    ) {
        guard let source = identity.sources[source], let route = StoredRoute(tag: route) else { return nil }
        let age = FreshnessPolicy.age(from: storedAt.seconds, to: reading.now.seconds)
        self.init(
            responseCode: responseCode, counts: counts, isNegative: isNegative,
            storedAt: reading.secondsSince1970 - Int64(age), lifetime: lifetime, source: source, route: route,
            policy: generation == identity.generation ? identity.digest : "")
    }
}
