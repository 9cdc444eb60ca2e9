import DNSCache
import DNSWire

/// The changes that wait to be written; bounded, so that they do not grow while the disk is slow or unavailable.
///
/// Answers are in order of arrival; one key may have several. The bytes of all stand in one buffer: so the loop that adds
/// one allocates nothing for it, and what one thread allocated is not freed by another, piece by piece.
struct PendingChanges {
    /// A new answer, or the removal of one.
    struct Answer {
        /// Where the question of its row stands in `bytes`, a key of which AAAA is A, and where its records do.
        let question: Range<Int>
        let records: Range<Int>
        /// Whether it is the answer of type AAAA in its row.
        let isSix: Bool
        /// The new answer, of which `bytes` has the records; nil: what is there is removed.
        let entry: CacheEntry?
    }

    /// The most answers that wait, and the most removals of many.
    static let limit = 16_384
    private static let removalLimit = 64
    /// The most bytes of answers that wait, but for the last one's.
    static let room = 16 << 20
    /// The most records that wait, but for those of kinds that are few: as many as the file keeps of one kind.
    static let recordLimit = 4_096

    private(set) var answers: [Answer] = []
    private(set) var bytes: [UInt8] = []
    /// Removals of many answers, each with the number of `answers` that it comes after.
    private(set) var removals: [(removal: AnswerRemoval, place: Int)] = []
    /// The keys of `answers`; nil until the first look-up, since mostly there is none.
    private(set) var keys: Set<[UInt8]>?
    private(set) var states: [StateRecord.Key: StateRecord?] = [:]
    /// Kinds whose records are all removed, before `states` is written.
    private(set) var forgottenKinds: Set<StateRecord.Kind> = []
    /// Whether answers were left out; then all entries in memory must be written, after all else.
    var needsAll = false

    /// Whether there are so many answers that they are written before the interval is over.
    var isLarge: Bool { answers.count > Self.limit / 2 || bytes.count > Self.room / 2 }

    // MARK: Answers

    /// Adds a new answer under the key of a question without a scope.
    mutating func store(_ entry: CacheEntry, for key: borrowing QueryKey) {
        guard !needsAll else { return }
        guard answers.count < Self.limit, bytes.count <= Self.room else { return leaveRemovals() }
        append(entry, for: key.storage.span.extracting(..<key.count))
        keys?.insert(key.array)
    }

    /// Removes the answer under a key: the bytes of a `QueryKey` without a scope.
    mutating func remove(_ key: [UInt8]) {
        if answers.count == Self.limit { leaveRemovals() }
        // Where these alone are too many, the entries still in memory are valid.
        guard answers.count < Self.limit else { return removeAll(thenAll: true) }
        append(nil, for: key.span)
        keys?.insert(key)
    }

    private mutating func append(_ entry: CacheEntry?, for key: Span<UInt8>) {
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
        answers.append(Answer(question: start..<body, records: body..<bytes.count, isSix: isSix, entry: entry))
    }

    mutating func remove(_ removal: AnswerRemoval) {
        // What was removed before is removed by the later one, too.
        removals.removeAll { $0.removal == removal }
        guard removal != .all, removals.count < Self.removalLimit else { return removeAll(thenAll: removal != .all) }
        removals.append((removal, answers.count))
    }

    /// - Parameter thenAll: whether the entries in memory are to be written again afterwards, since only a part of the
    ///   answers was to be removed.
    private mutating func removeAll(thenAll: Bool) {
        needsAll = needsAll || thenAll
        removeAnswers()
        // No answer of the file is allowed any more, whatever its key.
        (removals, keys) = ([(.all, 0)], nil)
    }

    /// Leaves out the new answers, which memory has.
    private mutating func leaveRemovals() {
        needsAll = true
        let removed = removedKeys
        removeAnswers()
        for key in removed { append(nil, for: key.span) }
        removals = removals.map { ($0.removal, 0) }
    }

    private var removedKeys: [[UInt8]] { answers.filter { $0.entry == nil }.map(key) }

    func key(of answer: Answer) -> [UInt8] {
        var key = Array(bytes[answer.question])
        if answer.isSix { key[key.count - 4] = UInt8(RecordType.aaaa.rawValue) }
        return key
    }

    /// Whether an answer that was read from the file may still be used.
    mutating func allows(_ key: [UInt8], _ answer: StoredAnswer) -> Bool {
        let changed = keys ?? Set(answers.map(self.key))
        keys = changed
        return !changed.contains(key)
            && !removals.contains { $0.removal.covers(answer.question.name, answer.answer.addresses) }
    }

    /// By index the last change of either address family in each row. The rows are in the order of the file's index: so each
    /// of its pages is read and written once, and not for every answer that has its place there.
    ///
    /// - Parameter part: of the answers.
    func rows(of part: Range<Int>) -> [(other: Int?, six: Int?)] {
        var places = part.map { (beginning: beginning(of: answers[$0].question), index: $0) }
        places.sort { left, right in
            if left.beginning != right.beginning { return left.beginning < right.beginning }
            let (first, second) = (bytes[answers[left.index].question], bytes[answers[right.index].question])
            return first == second ? left.index < right.index : first.lexicographicallyPrecedes(second)
        }
        var rows: [(other: Int?, six: Int?)] = []
        var question: ArraySlice<UInt8> = []
        for (_, index) in places {
            if bytes[answers[index].question] != question {
                question = bytes[answers[index].question]
                rows.append((nil, nil))
            }
            if answers[index].isSix { rows[rows.count - 1].six = index } else { rows[rows.count - 1].other = index }
        }
        return rows
    }

    /// The first 16 bytes of a question: mostly names differ there already.
    private func beginning(of question: Range<Int>) -> UInt128 {
        let question = bytes[question].prefix(16)
        return question.reduce(0) { $0 << 8 | UInt128($1) } << (8 * (16 - question.count))
    }

    // MARK: Records

    mutating func keep(_ record: StateRecord) { change(record.key, to: record) }

    mutating func forget(_ key: StateRecord.Key) { change(key, to: nil) }

    private mutating func change(_ key: StateRecord.Key, to record: StateRecord?) {
        guard !key.kind.isOfNames || states.count < Self.recordLimit || states[key] != nil else { return }
        states[key] = .some(record)
    }

    mutating func forgetAll(_ kind: StateRecord.Kind) {
        states = states.filter { $0.key.kind != kind }
        forgottenKinds.insert(kind)
    }

    // MARK: Written or not

    /// Restores changes that could not be written, as older than those added meanwhile; but for answers, which memory has.
    mutating func putBack(_ older: PendingChanges) {
        var merged = older
        merged.keys = nil
        merged.leaveRemovals()
        for key in removedKeys { merged.remove(key) }
        for (removal, _) in removals { merged.remove(removal) }
        for kind in forgottenKinds { merged.forgetAll(kind) }
        merged.states.merge(states) { $1 }
        self = merged
    }

    /// Removes all, when they are written.
    mutating func removeAll() {
        removeAnswers()
        (removals, keys, states, forgottenKinds, needsAll) = ([], nil, [:], [], false)
    }

    /// The room remains, unless they had used only a small part of it: to make it grow again would cost a page fault for
    /// every 4 KiB, on the thread that stores answers.
    private mutating func removeAnswers() {
        let isUsed = answers.count >= answers.capacity / 8 && bytes.count >= bytes.capacity / 8
        answers.removeAll(keepingCapacity: isUsed)
        bytes.removeAll(keepingCapacity: isUsed)
    }
}
