import DNSCache
import DNSWire

/// Changes to answers, in order of arrival; one key may have several.
///
/// The bytes of all stand in one buffer: so the loop that adds one allocates nothing for it, and what one thread
/// allocated is not freed by another, piece by piece.
struct AnswerChanges {
    /// A new answer, or the removal of one.
    struct Change {
        /// Where the question of its row stands in `bytes`, a key of which AAAA is A, and where its records do.
        let question: Range<Int>
        let records: Range<Int>
        /// Whether it is the answer of type AAAA in its row.
        let isSix: Bool
        /// The new answer, of which `bytes` has the records; nil: what is there is removed.
        let entry: CacheEntry?
    }

    private var changes: [Change] = []
    private(set) var bytes: [UInt8] = []

    var count: Int { changes.count }

    subscript(index: Int) -> Change { changes[index] }

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
        }
        changes.append(Change(question: start..<body, records: body..<bytes.count, isSix: isSix, entry: entry))
    }

    /// The keys of all.
    var keys: [[UInt8]] { changes.map(key) }

    /// The keys of those that are removals.
    var removedKeys: [[UInt8]] { changes.filter { $0.entry == nil }.map(key) }

    private func key(of change: Change) -> [UInt8] {
        var key = Array(bytes[change.question])
        if change.isSix { key[key.count - 4] = UInt8(RecordType.aaaa.rawValue) }
        return key
    }

    /// Calls `body` with the index of the last change of either address family in each row; one of them may be nil. The rows
    /// come in the order of the file's index: so each of its pages is read and written once, and not for every answer that
    /// has its place there.
    func forEachRow(
        of part: Range<Int>, _ body: (_ other: Int?, _ six: Int?) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        var places = part.map { (beginning: beginning(of: changes[$0].question), index: $0) }
        places.sort { left, right in
            if left.beginning != right.beginning { return left.beginning < right.beginning }
            let (first, second) = (bytes[changes[left.index].question], bytes[changes[right.index].question])
            return first == second ? left.index < right.index : first.lexicographicallyPrecedes(second)
        }
        var rest = places[...]
        while let first = rest.first {
            let question = bytes[changes[first.index].question]
            var (other, six): (Int?, Int?)
            while let index = rest.first?.index, bytes[changes[index].question] == question {
                if changes[index].isSix { six = index } else { other = index }
                rest.removeFirst()
            }
            try body(other, six)
        }
    }

    /// The first 16 bytes of a question: mostly names differ there already.
    private func beginning(of question: Range<Int>) -> UInt128 {
        let question = bytes[question].prefix(16)
        return question.reduce(0) { $0 << 8 | UInt128($1) } << (8 * (16 - question.count))
    }

    /// Removes all; the room remains, unless they had used only a small part of it: to make it grow again would cost a page
    /// fault for every 4 KiB, on the thread that stores answers.
    mutating func removeAll() {
        let isUsed = changes.count >= changes.capacity / 8 && bytes.count >= bytes.capacity / 8
        changes.removeAll(keepingCapacity: isUsed)
        bytes.removeAll(keepingCapacity: isUsed)
    }
}
