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
        /// The new answer, of which `bytes` has the records; nil: what is there is removed.
        var entry: CacheEntry?

        var question: Range<Int> { start..<body }
        var records: Range<Int> { body..<end }
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

    /// Appends a new answer under the key of a question without a scope, or, if it is nil, the removal of what is there.
    mutating func append(_ entry: CacheEntry?, for key: Span<UInt8>) {
        let start = bytes.count
        bytes.append(key)
        let isSix = bytes.makeRowQuestion(from: start)
        let body = bytes.count
        var entry = entry
        if let answer = entry?.answer {
            bytes += answer.body
            entry?.answer = PackedAnswer(
                responseCode: answer.responseCode, counts: answer.counts, body: [], ttlOffsets: [])
        } else {
            removalCount += 1
        }
        changes.append(Change(start: start, body: body, end: bytes.count, isSix: isSix, entry: entry))
    }

    func isRemoval(at index: Int) -> Bool { changes[index].entry == nil }

    /// Makes a change the removal of what is under its key.
    mutating func makeRemoval(at index: Int) {
        guard !isRemoval(at: index) else { return }
        changes[index].entry = nil
        removalCount += 1
    }

    func isSix(at index: Int) -> Bool { changes[index].isSix }

    /// The question of a change's row: a key of which AAAA is A.
    func question(at index: Int) -> [UInt8] { Array(bytes[changes[index].question]) }

    /// The bytes of a change's key.
    func key(at index: Int) -> [UInt8] {
        var key = question(at: index)
        if changes[index].isSix { key[key.count - 4] = UInt8(RecordType.aaaa.rawValue) }
        return key
    }

    /// The name of a change, and the addresses of a new answer; nil for a removal.
    func subject(at index: Int) -> (name: Name, addresses: [IPAddress])? {
        let key = key(at: index)
        guard let answer = changes[index].entry?.answer, let name = try? Name(wire: Array(key.dropLast(5))) else {
            return nil
        }
        let question = Question(
            name: name, type: RecordType(rawValue: UInt16(key[key.count - 5]) << 8 | UInt16(key[key.count - 4])))
        let checked = PackedAnswer.checked(
            Array(bytes[changes[index].records]), responseCode: answer.responseCode, counts: answer.counts,
            for: question)
        return (name, checked?.answer.addresses ?? [])
    }

    /// Calls `body` with the question of a change's row, and the records of its answer.
    func withBytes(
        at index: Int, _ body: (_ question: Span<UInt8>, _ records: Span<UInt8>) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        let (change, span) = (changes[index], bytes.span)
        try body(span.extracting(change.question), span.extracting(change.records))
    }

    /// A new answer in terms that mean the same in the next process; nil for a removal, and for an answer that is not worth
    /// storing, since its source is not in the policy in force.
    func head(
        at index: Int, _ identity: PolicyIdentity, _ reading: WallClock.Reading, epoch: UInt16
    ) -> AnswerHead? {
        guard let entry = changes[index].entry, let source = identity.numbers[entry.source],
            let route = StoredRoute(tag: entry.route)
        else { return nil }
        return AnswerHead(
            isSix: changes[index].isSix, isNegative: entry.isNegative, route: route,
            responseCode: entry.answer.responseCode, epoch: epoch,
            storedAt: reading.secondsSince1970 - Int64(entry.age(at: reading.now)), lifetime: entry.lifetime,
            source: source, policy: entry.generation == identity.generation ? identity.number : 0,
            counts: entry.answer.counts)
    }

    /// Calls `body` with the changes of each row, in order of arrival; the rows in the order of the file's index: so each
    /// of its pages is read and written once, and not for every answer that has its place there.
    func forEachRow(_ body: (_ changes: ArraySlice<Int>) throws(SQLiteError) -> Void) throws(SQLiteError) {
        var places = changes.indices.map { (beginning: beginning(of: $0), index: $0) }
        places.sort { left, right in
            if left.beginning != right.beginning { return left.beginning < right.beginning }
            let (first, second) = (bytes[changes[left.index].question], bytes[changes[right.index].question])
            return first == second ? left.index < right.index : first.lexicographicallyPrecedes(second)
        }
        var rest = places.map(\.index)[...]
        while let first = rest.first {
            let question = bytes[changes[first].question]
            let row = rest.prefix(while: { bytes[changes[$0].question] == question })
            try body(row)
            rest = rest.dropFirst(row.count)
        }
    }

    /// The first 16 bytes of a change's question: mostly names differ there already.
    private func beginning(of index: Int) -> UInt128 {
        let question = bytes[changes[index].question].prefix(16)
        return question.reduce(0) { $0 << 8 | UInt128($1) } << (8 * (16 - question.count))
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
        for index in all.indices where all.isRemoval(at: index) { append(nil, for: all.key(at: index).span) }
    }
}
