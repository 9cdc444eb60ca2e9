import DNSCache
import DNSWire
import Scheduling

/// A change to the answer under one key.
struct AnswerChange {
    /// The bytes of a `QueryKey`.
    let keyBytes: ArraySlice<UInt8>
    /// The new entry, without what no file has of it (server, rotation, refresh margin); nil: the answer is removed.
    let entry: CacheEntry?

    var key: [UInt8] { Array(keyBytes) }
}

/// Changes to answers, in order of arrival; one key may have several.
///
/// The bytes of all stand in one buffer: so the loop that adds one allocates nothing for it, and what one thread
/// allocated is not freed by another, piece by piece.
struct AnswerChanges {
    /// What stands where, and what has a fixed size.
    private struct Place {
        /// Where the key begins in `bytes`, and behind it the body, which ends at `end`.
        let start: Int
        let end: Int
        /// Where the offsets of the TTLs stand in `offsets`.
        let offsets: Range<Int>
        let keyCount: UInt16
        let counts: PackedAnswer.SectionCounts
        let responseCode: UInt16
        let route: UInt16
        let source: UInt16
        let storedAt: Instant
        let lifetime: UInt32
        let generation: UInt32
        let isNegative: Bool
        var isRemoval: Bool
    }

    private var places: [Place] = []
    private var bytes: [UInt8] = []
    private var offsets: [UInt16] = []
    /// How many of them are removals.
    private(set) var removalCount = 0

    /// The size in bytes of all keys and answers.
    var size: Int { bytes.count }

    /// Appends a new entry.
    mutating func append(_ entry: CacheEntry, for key: Span<UInt8>) {
        append(
            Place(
                start: bytes.count, end: bytes.count + key.count + entry.answer.body.count,
                offsets: offsets.count..<(offsets.count + entry.answer.ttlOffsets.count),
                keyCount: UInt16(truncatingIfNeeded: key.count), counts: entry.answer.counts,
                responseCode: entry.answer.responseCode.rawValue, route: entry.route, source: entry.source,
                storedAt: entry.storedAt, lifetime: entry.lifetime, generation: entry.generation,
                isNegative: entry.isNegative, isRemoval: false),
            key: key)
        bytes += entry.answer.body
        offsets += entry.answer.ttlOffsets
    }

    /// Appends the removal of what is under a key.
    mutating func appendRemoval(of key: Span<UInt8>) {
        removalCount += 1
        append(
            Place(
                start: bytes.count, end: bytes.count + key.count, offsets: 0..<0,
                keyCount: UInt16(truncatingIfNeeded: key.count), counts: PackedAnswer.SectionCounts(), responseCode: 0,
                route: 0, source: 0, storedAt: Instant(nanoseconds: 0), lifetime: 0, generation: 0, isNegative: false,
                isRemoval: true),
            key: key)
    }

    private mutating func append(_ place: Place, key: Span<UInt8>) {
        places.append(place)
        bytes.append(addingCapacity: key.count) { output in
            for index in key.indices { output.append(key[index]) }
        }
    }

    /// The last change of each key, nearly in the order of the file's index, which begins with the name: so each of its
    /// pages is read and written once, and not for every answer that has its place there.
    var inOrderOfIndex: [Int] {
        let sorted = places.indices.map { (beginning: beginning(of: places[$0]), index: $0) }.sorted { left, right in
            guard left.beginning == right.beginning else { return left.beginning < right.beginning }
            let order = order(places[left.index], places[right.index])
            return order == 0 ? left.index < right.index : order < 0
        }
        return sorted.indices.compactMap { at in
            guard at + 1 < sorted.count, sorted[at].beginning == sorted[at + 1].beginning,
                order(places[sorted[at].index], places[sorted[at + 1].index]) == 0
            else { return sorted[at].index }
            return nil
        }
    }

    /// The first eight bytes of a name behind the length of its first label: mostly names differ there already.
    private func beginning(of place: Place) -> UInt64 {
        var beginning: UInt64 = 0
        for index in 1...8 {
            beginning = beginning << 8 | (index < place.keyCount ? UInt64(bytes[place.start + index]) : 0)
        }
        return beginning
    }

    /// Below 0 when the left key comes first, 0 when they are equal.
    private func order(_ left: Place, _ right: Place) -> Int {
        let common = Int(Swift.min(left.keyCount, right.keyCount))
        for index in 1..<Swift.max(1, common) {
            let difference = Int(bytes[left.start + index]) - Int(bytes[right.start + index])
            if difference != 0 { return difference }
        }
        guard left.keyCount == right.keyCount else { return Int(left.keyCount) - Int(right.keyCount) }
        return Int(bytes[left.start]) - Int(bytes[right.start])
    }

    /// Makes a change the removal of what is under its key.
    mutating func makeRemoval(at index: Int) {
        guard !places[index].isRemoval else { return }
        places[index].isRemoval = true
        removalCount += 1
    }

    /// Removes all but the removals.
    mutating func leaveRemovals() {
        let all = self
        self = AnswerChanges()
        for change in all where change.entry == nil { appendRemoval(of: change.key.span) }
    }
}

// As rows of the file. Whatever is written passes here, so nothing is copied on the way.
extension AnswerChanges {
    func isRemoval(at index: Int) -> Bool { places[index].isRemoval }

    /// What the row of a change has besides key and records; nil when its source is not in the policy in force, so that
    /// it is not worth storing, or for a key with a client's scope.
    func facts(at index: Int, _ identity: PolicyIdentity, _ reading: WallClock.Reading) -> RowFacts? {
        let place = places[index]
        guard let source = identity.sources[place.source], let route = StoredRoute(tag: place.route), isPlain(place)
        else { return nil }
        let age = FreshnessPolicy.age(from: place.storedAt.seconds, to: reading.now.seconds)
        return RowFacts(
            responseCode: ResponseCode(rawValue: place.responseCode), counts: place.counts,
            isNegative: place.isNegative, storedAt: reading.secondsSince1970 - Int64(age), lifetime: place.lifetime,
            source: source, route: route,
            policy: place.generation == identity.generation ? identity.digest : "")
    }

    /// Whether the key is a name, type, class and flags, and nothing else.
    private func isPlain(_ place: Place) -> Bool {
        let end = place.start + Int(place.keyCount) - 5
        var at = place.start
        while at < end, bytes[at] != 0 { at += 1 + Int(bytes[at]) }
        return at + 1 == end
    }

    /// Calls `body` with the key of a change, the records of its answer, and where the TTLs of these begin.
    func withParts(
        at index: Int, _ body: (Span<UInt8>, Span<UInt8>, Span<UInt16>) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        let place = places[index]
        let (bytes, offsets, key) = (bytes.span, offsets.span, place.start + Int(place.keyCount))
        try body(
            bytes.extracting(place.start..<key), bytes.extracting(key..<place.end), offsets.extracting(place.offsets))
    }
}

extension AnswerChanges: RandomAccessCollection {
    var startIndex: Int { 0 }
    var endIndex: Int { places.count }

    subscript(index: Int) -> AnswerChange {
        let place = places[index]
        let key = place.start + Int(place.keyCount)
        return AnswerChange(
            keyBytes: bytes[place.start..<key], entry: place.isRemoval ? nil : entry(place, behind: key))
    }

    private func entry(_ place: Place, behind start: Int) -> CacheEntry {
        CacheEntry(
            answer: PackedAnswer(
                responseCode: ResponseCode(rawValue: place.responseCode), counts: place.counts,
                body: Array(bytes[start..<place.end]),
                ttlOffsets: Array(offsets[place.offsets])),
            storedAt: place.storedAt, lifetime: place.lifetime, generation: place.generation, route: place.route,
            source: place.source, isNegative: place.isNegative)
    }
}
