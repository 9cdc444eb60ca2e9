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

        /// The bytes of the key before type, class and flags.
        var nameCount: Int { Int(keyCount) - 5 }
    }

    private var places: [Place] = []
    private var bytes: [UInt8] = []
    private var offsets: [UInt16] = []
    /// How many of them are removals.
    private(set) var removalCount = 0

    /// The size in bytes of all keys and answers.
    var size: Int { bytes.count }
    /// The bytes for keys and answers that are reserved.
    var room: Int { bytes.capacity }

    /// Appends a new entry.
    mutating func append(_ entry: CacheEntry, for key: Span<UInt8>) {
        guard key.count > 5 else { return }
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
        guard key.count > 5 else { return }
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

    /// The last change of one key.
    struct Last: Equatable {
        let index: Int
        /// Whether any change of the key was a removal: then the answer of the file is no longer valid, whatever followed.
        let removes: Bool
    }

    /// A row to be written: the last changes of its answers, of which there are two where both address families changed.
    struct Row: Equatable {
        let first: Last
        let second: Last?
    }

    /// The rows to be written, nearly in the order of the file's index, which begins with the name: so each of its pages is
    /// read and written once, and not for every answer that has its place there.
    var rowsInOrderOfIndex: [Row] {
        var runs: [Range<Int>] = []
        runs.reserveCapacity(places.count)
        for index in places.indices {
            // Mostly both address families come at once.
            if let last = runs.indices.last, isInSameRow(index - 1, index) {
                runs[last] = runs[last].lowerBound..<(index + 1)
            } else {
                runs.append(index..<(index + 1))
            }
        }
        var order = runs.indices.map { place($0, of: runs[$0].lowerBound) }
        order.sort()
        var rows: [Row] = []
        rows.reserveCapacity(order.count)
        var start = 0
        while start < order.count {
            var end = start + 1
            while end < order.count, order[end] >> 32 == order[start] >> 32 { end += 1 }
            if end - start == 1 {
                rows.append(row(of: runs[Self.run(order[start])]))
            } else {
                var changes = order[start..<end].flatMap { runs[Self.run($0)] }
                changes.sort { left, right in
                    let order = self.order(left, right)
                    return order == 0 ? left < right : order < 0
                }
                var first = 0
                for at in changes.indices where at + 1 == changes.count || !isInSameRow(changes[at], changes[at + 1]) {
                    rows.append(row(of: changes[first...at]))
                    first = at + 1
                }
            }
            start = end
        }
        return rows
    }

    /// - Parameter changes: those of one row, in order of arrival.
    private func row(of changes: some BidirectionalCollection<Int>) -> Row {
        let last = changes[changes.index(before: changes.endIndex)]
        // Mostly one change of each address family.
        guard changes.count > 1 else { return Row(first: Last(index: last, removes: isRemoval(at: last)), second: nil) }
        let type = type(of: last)
        var (other, removes, removesOther): (Int?, Bool, Bool) = (nil, false, false)
        for change in changes {
            if self.type(of: change) == type {
                removes = removes || isRemoval(at: change)
            } else {
                other = change
                removesOther = removesOther || isRemoval(at: change)
            }
        }
        return Row(
            first: Last(index: last, removes: removes), second: other.map { Last(index: $0, removes: removesOther) })
    }

    /// The first twelve bytes of a name behind the length of its first label, in the upper 96 bits, and the number of a run:
    /// mostly names differ there already.
    private func place(_ run: Int, of change: Int) -> UInt128 {
        let place = places[change]
        let name = bytes.span.extracting(place.start..<(place.start + place.nameCount))
        var beginning: UInt128 = 0
        for index in 1...12 { beginning = beginning << 8 | (index < name.count ? UInt128(name[index]) : 0) }
        return beginning << 32 | UInt128(truncatingIfNeeded: run)
    }

    private static func run(_ place: UInt128) -> Int { Int(UInt32(truncatingIfNeeded: place)) }

    /// Below 0 when the row of the left change comes first, 0 when both are in the same row.
    private func order(_ left: Int, _ right: Int) -> Int {
        let (first, second) = (places[left], places[right])
        for index in 1..<Swift.max(1, Swift.min(first.nameCount, second.nameCount)) {
            let difference = Int(bytes[first.start + index]) - Int(bytes[second.start + index])
            if difference != 0 { return difference }
        }
        guard first.nameCount == second.nameCount else { return first.nameCount - second.nameCount }
        let difference = Int(bytes[first.start]) - Int(bytes[second.start])
        return difference == 0 ? Int(kind(of: left).number - kind(of: right).number) : difference
    }

    private func isInSameRow(_ left: Int, _ right: Int) -> Bool {
        let (first, second) = (places[left], places[right])
        guard first.nameCount == second.nameCount else { return false }
        for index in 0..<first.nameCount where bytes[first.start + index] != bytes[second.start + index] {
            return false
        }
        return kind(of: left) == kind(of: right)
    }

    private func kind(of index: Int) -> RowKind {
        let place = places[index]
        return RowKind(
            tail: bytes.span.extracting((place.start + place.nameCount)..<(place.start + Int(place.keyCount))))
    }

    /// The bytes of a change's key.
    func key(at index: Int) -> [UInt8] {
        let place = places[index]
        return Array(bytes[place.start..<(place.start + Int(place.keyCount))])
    }

    /// The record type in a change's key.
    func type(of index: Int) -> RecordType {
        let at = places[index].start + places[index].nameCount
        return RecordType(rawValue: UInt16(bytes[at]) << 8 | UInt16(bytes[at + 1]))
    }

    /// Makes a change the removal of what is under its key.
    mutating func makeRemoval(at index: Int) {
        guard !places[index].isRemoval else { return }
        places[index].isRemoval = true
        removalCount += 1
    }

    /// Removes all; the room remains, unless they had used only a small part of it.
    mutating func removeAll() {
        guard places.count >= places.capacity / 8, bytes.count >= bytes.capacity / 8 else {
            self = AnswerChanges()
            return
        }
        places.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
        offsets.removeAll(keepingCapacity: true)
        removalCount = 0
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

    /// What the row of a change has besides key and records; nil for a removal, and for an answer that is not worth
    /// storing.
    func facts(at index: Int, _ identity: PolicyIdentity, _ reading: WallClock.Reading) -> RowFacts? {
        let place = places[index]
        guard !place.isRemoval else { return nil }
        return RowFacts(
            responseCode: ResponseCode(rawValue: place.responseCode), counts: place.counts,
            isNegative: place.isNegative, storedAt: place.storedAt, lifetime: place.lifetime, source: place.source,
            route: place.route, generation: place.generation, identity, reading)
    }

    /// Whether the key is a name, type, class and flags, and nothing else.
    func isPlain(at index: Int) -> Bool {
        let place = places[index]
        let end = place.start + place.nameCount
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
