import DNSCache
import DNSWire

/// The changes that wait to be written; bounded, so that they do not grow while the disk is slow or unavailable.
struct PendingChanges {
    /// An answer under the bytes of a `QueryKey` without a scope; nil: it is removed.
    typealias Change = (key: [UInt8], entry: CacheEntry?)

    /// The most answers that wait, and the most removals of many.
    static let limit = 16_384
    private static let removalLimit = 64
    /// The most bytes of answers that wait, but for the last one's.
    static let room = 16 << 20
    /// The most records that wait, but for those of kinds that are few: as many as the file keeps of one kind.
    static let recordLimit = 4_096

    /// In order of arrival; the last change of a key counts.
    private(set) var answers: [Change] = []
    /// The keys of `answers`; nil until the first look-up, since mostly there is none, and hashing costs the loop time.
    private var keys: Set<[UInt8]>?
    /// How many bytes they have.
    private var size = 0
    /// Removals of many answers, which come before `answers`.
    private(set) var removals: [AnswerRemoval] = []
    private(set) var states: [StateRecord.Key: StateRecord?] = [:]
    /// Kinds whose records are all removed, before `states` is written.
    private(set) var forgottenKinds: Set<StateRecord.Kind> = []
    /// Whether answers were left out; then all entries in memory must be written, after all else.
    var needsAll = false

    /// Whether there are so many answers that they are written before the interval is over.
    var isLarge: Bool { answers.count > Self.limit / 2 || size > Self.room / 2 }

    /// Adds a new answer under the key of a question without a scope.
    mutating func store(_ entry: CacheEntry, for key: borrowing QueryKey) {
        guard !needsAll else { return }
        guard answers.count < Self.limit, size <= Self.room else { return leaveAnswers() }
        append((key.array, entry))
    }

    mutating func remove(_ key: [UInt8]) {
        if answers.count == Self.limit { leaveAnswers() }
        // Where these alone are too many, the entries still in memory are valid.
        guard answers.count < Self.limit else { return removeAll(thenAll: true) }
        append((key, nil))
    }

    private mutating func append(_ change: Change) {
        size += change.entry?.answer.body.count ?? 0
        answers.append(change)
        keys?.insert(change.key)
    }

    mutating func remove(_ removal: AnswerRemoval) {
        let isKnown = removals.contains(removal)
        guard removal != .all, isKnown || removals.count < Self.removalLimit else {
            return removeAll(thenAll: removal != .all)
        }
        for index in answers.indices {
            guard let entry = answers[index].entry,
                let name = try? Name(wire: Array(answers[index].key.dropLast(5))),
                removal.covers(name, entry.answer.addresses)
            else { continue }
            size -= entry.answer.body.count
            answers[index].entry = nil
        }
        if !isKnown { removals.append(removal) }
    }

    /// - Parameter thenAll: whether the entries in memory are to be written again afterwards, since only a part of the
    ///   answers was to be removed.
    private mutating func removeAll(thenAll: Bool) {
        needsAll = needsAll || thenAll
        removeAnswers()
        // No answer of the file is allowed any more, whatever its key.
        removals = [.all]
    }

    /// Leaves out the new answers, which memory has.
    private mutating func leaveAnswers() {
        needsAll = true
        answers.removeAll { $0.entry != nil }
        (size, keys) = (0, nil)
    }

    /// Whether an answer that was read from the file under a key may still be used.
    mutating func allows(_ key: [UInt8], _ answer: StoredAnswer) -> Bool {
        let changed = keys ?? Set(answers.map(\.key))
        keys = changed
        return !changed.contains(key)
            && !removals.contains { $0.covers(answer.question.name, answer.answer.addresses) }
    }

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

    /// Restores changes that could not be written, as older than those added meanwhile; but for answers, which memory has.
    mutating func putBack(_ older: PendingChanges) {
        var merged = older
        merged.leaveAnswers()
        for change in answers where change.entry == nil { merged.remove(change.key) }
        for removal in removals { merged.remove(removal) }
        for kind in forgottenKinds { merged.forgetAll(kind) }
        merged.states.merge(states) { $1 }
        self = merged
    }

    /// Removes all, when they are written.
    mutating func removeAll() {
        removeAnswers()
        (removals, states, forgottenKinds, needsAll) = ([], [:], [], false)
    }

    /// The room remains, unless they had used only a small part of it: to make it grow again would cost a page fault for
    /// every 4 KiB, on the thread that stores answers.
    private mutating func removeAnswers() {
        answers.removeAll(keepingCapacity: answers.count >= answers.capacity / 8)
        (size, keys) = (0, nil)
    }
}
