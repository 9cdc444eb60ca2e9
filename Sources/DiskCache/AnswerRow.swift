import DNSCache
import DNSWire

/// What is known of one stored answer beside its records; stands before them in a row's value.
package struct AnswerHead: Equatable, Sendable {
    var isSix: Bool
    package var isNegative: Bool
    package var route: StoredRoute
    var responseCode: ResponseCode
    /// By which setting of the clock it was stored (`ClockMark.epoch`), and when, in seconds since 1970.
    var epoch: UInt16
    var storedAt: Int64
    /// Its original TTL, in seconds.
    package var lifetime: UInt32
    /// The source that gave the answer, and the policy under which it was stored, as `PolicyIdentity` numbers them.
    var source: UInt64
    var policy: UInt64
    var counts: PackedAnswer.SectionCounts

    /// Bytes of it, of which the last two are the length of the records.
    static let size = 35
    /// TTLs in seconds: up to the maximum of `cache.max_ttl`.
    static let lifetimes: ClosedRange<UInt32> = 1...7 * 86_400
    /// Times of storing are written as seconds since this one.
    private static let earliest = WallClock.times.lowerBound
    /// The last one that five bytes can say.
    private static let latest = earliest + (1 << 40) - 1

    /// Appends it, and then the records that it speaks of.
    func append(to bytes: inout [UInt8], _ records: ArraySlice<UInt8>) {
        bytes.append(addingCapacity: Self.size) { output in
            output.append(
                (isSix ? 1 : 0) | (isNegative ? 2 : 0) | route.rawValue << 2 | responseCode.rawValue << 4, bytes: 1)
            output.append(epoch, bytes: 2)
            output.append(min(max(storedAt, Self.earliest), Self.latest) - Self.earliest, bytes: 5)
            output.append(lifetime, bytes: 3)
            output.append(source, bytes: 8)
            output.append(policy, bytes: 8)
            for count in [counts.answer, counts.authority, counts.additional] { output.append(count, bytes: 2) }
            output.append(records.count, bytes: 2)
        }
        bytes += records
    }
}

extension AnswerHead {
    /// An answer in memory in terms that mean the same in the next process; nil for one that is not worth storing, since its
    /// source is not in the policy in force.
    init?(
        _ entry: CacheEntry, isSix: Bool, _ identity: PolicyIdentity, _ reading: WallClock.Reading, epoch: UInt16
    ) {
        guard let source = identity.numbers[entry.source], let route = StoredRoute(tag: entry.route) else { return nil }
        self.init(
            isSix: isSix, isNegative: entry.isNegative, route: route, responseCode: entry.answer.responseCode,
            epoch: epoch, storedAt: reading.secondsSince1970 - Int64(entry.age(at: reading.now)),
            lifetime: entry.lifetime, source: source,
            policy: entry.generation == identity.generation ? identity.number : 0, counts: entry.answer.counts)
    }

    /// Reads the bytes of one, which are as many as `size`.
    init(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        func next(_ count: Int) -> UInt64 {
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
        }
        let kind = UInt16(next(1))
        (isSix, isNegative) = (kind & 1 != 0, kind & 2 != 0)
        route = StoredRoute(rawValue: kind >> 2 & 3) ?? .forward
        responseCode = ResponseCode(rawValue: kind >> 4)
        epoch = UInt16(next(2))
        storedAt = Int64(next(5)) + Self.earliest
        lifetime = UInt32(next(3))
        (source, policy) = (next(8), next(8))
        counts = PackedAnswer.SectionCounts(
            answer: UInt16(next(2)), authority: UInt16(next(2)), additional: UInt16(next(2)))
    }
}

extension [UInt8] {
    mutating func append(_ part: Span<UInt8>) {
        append(addingCapacity: part.count) { output in
            for index in part.indices { output.append(part[index]) }
        }
    }

    /// Makes the key of a question without a scope, which stands at the end, the question of its row: AAAA has its place in
    /// the row of A.
    ///
    /// - Parameter start: where the key begins.
    /// - Returns: whether the type was AAAA.
    @discardableResult
    mutating func makeRowQuestion(from start: Int = 0) -> Bool {
        let type = count - 4
        guard type > start, self[type - 1] == 0, self[type] == UInt8(RecordType.aaaa.rawValue) else { return false }
        self[type] = UInt8(RecordType.a.rawValue)
        return true
    }
}

extension OutputSpan<UInt8> {
    /// Appends the lowest bytes of a number, the highest of them first.
    mutating func append(_ number: some FixedWidthInteger, bytes: Int) {
        for shift in stride(from: (bytes - 1) * 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}
