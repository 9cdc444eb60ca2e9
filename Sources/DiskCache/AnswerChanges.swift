import DNSCache
import DNSWire
import Scheduling

/// Changes to answers, in order of arrival; one key may have several.
///
/// The bytes of all stand in one buffer: so the loop that adds one allocates nothing for it, and what one thread
/// allocated is not freed by another, piece by piece.
struct AnswerChanges {
    /// A new answer, or the removal of one.
    private struct Change {
        /// Where the question of its row begins in `bytes`, where its records do, and where these end.
        let start: Int
        let body: Int
        let end: Int
        /// Whether it is the answer of type AAAA in its row.
        let isSix: Bool
        var isRemoval: Bool
        let isNegative: Bool
        let counts: PackedAnswer.SectionCounts
        let responseCode: UInt16
        let route: UInt16
        let source: UInt16
        let storedAt: Instant
        let lifetime: UInt32
        let generation: UInt32
    }

    private var changes: [Change] = []
    private var bytes: [UInt8] = []
    /// How many of them are removals.
    private(set) var removalCount = 0

    var isEmpty: Bool { changes.isEmpty }
    var count: Int { changes.count }
    var indices: Range<Int> { changes.indices }
    /// The size in bytes of all questions and answers.
    var size: Int { bytes.count }

    /// Appends a new answer under the key of a question without a scope.
    mutating func append(_ entry: CacheEntry, for key: Span<UInt8>) {
        let (start, isSix) = appendQuestion(of: key)
        let body = bytes.count
        bytes += entry.answer.body
        changes.append(
            Change(
                start: start, body: body, end: bytes.count, isSix: isSix, isRemoval: false,
                isNegative: entry.isNegative, counts: entry.answer.counts,
                responseCode: entry.answer.responseCode.rawValue, route: entry.route, source: entry.source,
                storedAt: entry.storedAt, lifetime: entry.lifetime, generation: entry.generation))
    }

    /// Appends the removal of what is under a key without a scope.
    mutating func appendRemoval(of key: Span<UInt8>) {
        let (start, isSix) = appendQuestion(of: key)
        changes.append(
            Change(
                start: start, body: bytes.count, end: bytes.count, isSix: isSix, isRemoval: true, isNegative: false,
                counts: .init(), responseCode: 0, route: 0, source: 0, storedAt: Instant(nanoseconds: 0), lifetime: 0,
                generation: 0))
        removalCount += 1
    }

    /// A key is the question of its row, but that the row of AAAA is that of A.
    private mutating func appendQuestion(of key: Span<UInt8>) -> (start: Int, isSix: Bool) {
        let start = bytes.count
        bytes.append(addingCapacity: key.count) { output in
            for index in key.indices { output.append(key[index]) }
        }
        let type = bytes.count - 4
        guard type > start, bytes[type - 1] == 0, bytes[type] == UInt8(RecordType.aaaa.rawValue) else {
            return (start, false)
        }
        bytes[type] = UInt8(RecordType.a.rawValue)
        return (start, true)
    }

    func isRemoval(at index: Int) -> Bool { changes[index].isRemoval }

    /// Makes a change the removal of what is under its key.
    mutating func makeRemoval(at index: Int) {
        guard !changes[index].isRemoval else { return }
        changes[index].isRemoval = true
        removalCount += 1
    }

    func isSix(at index: Int) -> Bool { changes[index].isSix }

    /// The question of a change's row: a key of which AAAA is A.
    func question(at index: Int) -> [UInt8] { Array(bytes[changes[index].start..<changes[index].body]) }

    /// The bytes of a change's key.
    func key(at index: Int) -> [UInt8] {
        var key = question(at: index)
        if changes[index].isSix { key[key.count - 4] = UInt8(RecordType.aaaa.rawValue) }
        return key
    }

    /// The name of a change, and the addresses of a new answer; nil for a removal.
    func subject(at index: Int) -> (name: Name, addresses: [IPAddress])? {
        let change = changes[index]
        let key = key(at: index)
        guard !change.isRemoval, let name = try? Name(wire: Array(key.dropLast(5))) else { return nil }
        let question = Question(
            name: name, type: RecordType(rawValue: UInt16(key[key.count - 5]) << 8 | UInt16(key[key.count - 4])))
        let checked = PackedAnswer.checked(
            Array(bytes[change.body..<change.end]), responseCode: ResponseCode(rawValue: change.responseCode),
            counts: change.counts, for: question)
        return (name, checked?.answer.addresses ?? [])
    }

    /// Calls `body` with the question of a change's row, and the records of its answer.
    func withBytes(
        at index: Int, _ body: (_ question: Span<UInt8>, _ records: Span<UInt8>) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        let (change, span) = (changes[index], bytes.span)
        try body(span.extracting(change.start..<change.body), span.extracting(change.body..<change.end))
    }

    /// A new answer in terms that mean the same in the next process; nil for a removal, and for an answer that is not worth
    /// storing, since its source is not in the policy in force.
    func head(
        at index: Int, _ identity: PolicyIdentity, _ reading: WallClock.Reading, epoch: UInt16
    ) -> AnswerHead? {
        let change = changes[index]
        guard !change.isRemoval, let source = identity.numbers[change.source],
            let route = StoredRoute(tag: change.route)
        else { return nil }
        let age = FreshnessPolicy.age(from: change.storedAt.seconds, to: reading.now.seconds)
        return AnswerHead(
            isSix: change.isSix, isNegative: change.isNegative, route: route,
            responseCode: ResponseCode(rawValue: change.responseCode), epoch: epoch,
            storedAt: reading.secondsSince1970 - Int64(age), lifetime: change.lifetime, source: source,
            policy: change.generation == identity.generation ? identity.number : 0, counts: change.counts)
    }

    /// Calls `body` with the changes of each row, in order of arrival; the rows in the order of the file's index: so each
    /// of its pages is read and written once, and not for every answer that has its place there.
    func forEachRow(_ body: (_ changes: ArraySlice<Int>) throws(SQLiteError) -> Void) throws(SQLiteError) {
        var places = changes.indices.map { (beginning: beginning(of: $0), index: $0) }
        places.sort { left, right in
            if left.beginning != right.beginning { return left.beginning < right.beginning }
            let order = self.order(left.index, right.index)
            return order == 0 ? left.index < right.index : order < 0
        }
        let sorted = places.map(\.index)
        guard !sorted.isEmpty else { return }
        var start = 0
        for end in 1...sorted.count where end == sorted.count || order(sorted[start], sorted[end]) != 0 {
            try body(sorted[start..<end])
            start = end
        }
    }

    /// The first 16 bytes of a change's question: mostly names differ there already.
    private func beginning(of index: Int) -> UInt128 {
        let change = changes[index]
        var beginning: UInt128 = 0
        for place in change.start..<(change.start + 16) {
            beginning = beginning << 8 | (place < change.body ? UInt128(bytes[place]) : 0)
        }
        return beginning
    }

    /// Below 0 when the left change's row comes first in the index, 0 when both are in the same row.
    private func order(_ left: Int, _ right: Int) -> Int {
        let (first, second) = (changes[left], changes[right])
        let counts = (first.body - first.start, second.body - second.start)
        for offset in 0..<min(counts.0, counts.1) {
            let difference = Int(bytes[first.start + offset]) - Int(bytes[second.start + offset])
            if difference != 0 { return difference }
        }
        return counts.0 - counts.1
    }

    /// Removes all; the room remains, unless they had used only a small part of it.
    mutating func removeAll() {
        guard changes.count >= changes.capacity / 8, bytes.count >= bytes.capacity / 8 else {
            self = AnswerChanges()
            return
        }
        changes.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
        removalCount = 0
    }

    /// Removes all but the removals.
    mutating func leaveRemovals() {
        let all = self
        self = AnswerChanges()
        for index in all.indices where all.isRemoval(at: index) { appendRemoval(of: all.key(at: index).span) }
    }
}
