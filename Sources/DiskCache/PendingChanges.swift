import DNSCache
import DNSWire

/// The changes that wait to be written; bounded, so that they do not grow while the disk is slow or unavailable.
struct PendingChanges {
    /// The most changes of answers that wait.
    static let limit = 16_384
    /// The most bytes of answers that wait, but for the last one's.
    static let room = 16 << 20
    /// The most records that wait, but for those of kinds that are few: as many as the file keeps of one kind.
    static let recordLimit = 4_096
    /// The most removals of many answers that wait.
    private static let removalLimit = 64

    private(set) var answers = AnswerChanges()
    /// Removals of many answers, each with the number of `answers` that it comes after.
    private(set) var removals: [(removal: AnswerRemoval, place: Int)] = []
    /// The keys of `answers`; nil until the first look-up, since mostly there is none.
    private var keys: Set<[UInt8]>?
    private(set) var states: [StateRecord.Key: StateRecord?] = [:]
    /// Kinds whose records are all removed, before `states` is written.
    private(set) var forgottenKinds: Set<StateRecord.Kind> = []
    /// Whether answers were left out; then all entries in memory must be written, after all else.
    var needsAll = false

    /// Whether there are so many answers that they are written before the interval is over.
    var isLarge: Bool { answers.count > Self.limit / 2 || answers.bytes.count > Self.room / 2 }

    // MARK: Answers

    mutating func store(_ entry: CacheEntry, for key: borrowing QueryKey) {
        guard !needsAll else { return }
        guard answers.count < Self.limit, answers.bytes.count <= Self.room else { return leaveRemovals() }
        answers.append(entry, for: key.storage.span.extracting(..<key.count))
        keys?.insert(key.array)
    }

    /// - Parameter key: the bytes of a `QueryKey`.
    mutating func remove(_ key: [UInt8]) {
        if answers.count == Self.limit { leaveRemovals() }
        // Where these alone are too many, the entries still in memory are valid.
        guard answers.count < Self.limit else { return removeAll(thenAll: true) }
        answers.append(nil, for: key.span)
        keys?.insert(key)
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
        answers.removeAll()
        removals = [(.all, 0)]
    }

    /// Leaves out the answers, which memory has.
    private mutating func leaveRemovals() {
        needsAll = true
        let removed = answers.removedKeys
        answers.removeAll()
        for key in removed { answers.append(nil, for: key.span) }
        removals = removals.map { ($0.removal, 0) }
    }

    /// Whether an answer that was read from the file may still be used.
    mutating func allows(_ key: [UInt8], _ answer: StoredAnswer) -> Bool {
        let changed = keys ?? Set(answers.keys)
        keys = changed
        return !changed.contains(key)
            && !removals.contains { $0.removal.covers(answer.question.name, answer.answer.addresses) }
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
        for key in answers.removedKeys { merged.remove(key) }
        for (removal, _) in removals { merged.remove(removal) }
        for kind in forgottenKinds { merged.forgetAll(kind) }
        merged.states.merge(states) { $1 }
        self = merged
    }

    /// Removes all, when they are written.
    mutating func removeAll() {
        answers.removeAll()
        (removals, keys, states, forgottenKinds, needsAll) = ([], nil, [:], [], false)
    }
}
