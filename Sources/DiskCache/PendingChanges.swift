import DNSCache
import DNSWire

/// The changes that wait to be written; bounded, so that they do not grow while the disk is slow or unavailable.
struct PendingChanges {
    /// The most answers, and the most removals, that wait.
    static let limit = 16_384
    /// The most bytes of answers that wait, but for the last one's.
    static let room = 16 << 20
    /// The most records that wait, but for those of kinds that are few: as many as the file keeps of one kind.
    static let recordLimit = 4_096

    /// They are written after `removals`.
    private(set) var answers = AnswerChanges()
    /// The keys of `answers`; nil until the first look-up, since mostly there is none.
    private var keys: Set<[UInt8]>?
    private(set) var removals: [AnswerRemoval] = []
    private(set) var states: [StateRecord.Key: StateRecord?] = [:]
    /// Kinds whose records are all removed, before `states` is written.
    private(set) var forgottenKinds: Set<StateRecord.Kind> = []
    /// Whether answers were left out; then all entries in memory must be written.
    var needsAll = false

    var isEmpty: Bool {
        answers.isEmpty && removals.isEmpty && states.isEmpty && forgottenKinds.isEmpty && !needsAll
    }

    /// Whether there are so many answers that they are written before the interval is over.
    var isLarge: Bool { answers.count > Self.limit / 2 || answers.size > Self.room / 2 }

    mutating func store(_ entry: CacheEntry, for key: borrowing QueryKey) {
        guard !needsAll else { return }
        guard answers.count - answers.removalCount < Self.limit, answers.size <= Self.room else {
            needsAll = true
            answers.leaveRemovals()
            return
        }
        answers.append(entry, for: key.storage.span.extracting(..<key.count))
        keys?.insert(key.array)
    }

    /// - Parameter key: the bytes of a `QueryKey`.
    mutating func remove(_ key: [UInt8]) {
        guard answers.removalCount < Self.limit else { return remove(.all, thenAll: true) }
        answers.append(nil, for: key.span)
        keys?.insert(key)
    }

    /// - Parameter thenAll: whether the entries in memory are to be written again afterwards.
    mutating func remove(_ removal: AnswerRemoval, thenAll: Bool = false) {
        if removal == .all || removals.count >= 64 {
            // Only a part was to be removed: the entries still in memory are valid.
            needsAll = needsAll || thenAll || removal != .all
            removals = [.all]
            answers = AnswerChanges()
            return
        }
        if !removals.contains(removal) { removals.append(removal) }
        // Removed instead of left out: the older answer in the file, which it was to replace, is no longer valid
        // either.
        for index in answers.indices {
            guard let subject = answers.subject(at: index), removal.covers(subject.name, subject.addresses) else {
                continue
            }
            answers.makeRemoval(at: index)
        }
    }

    /// Whether an answer that was read from the file may still be used.
    mutating func allows(_ key: [UInt8], _ answer: StoredAnswer) -> Bool {
        let changed = keys ?? Set(answers.indices.map(answers.key))
        keys = changed
        return !changed.contains(key) && !removals.contains { $0.covers(answer.question.name, answer.answer.addresses) }
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

    /// Removes and returns all changes.
    ///
    /// - Parameter room: no changes, but the room for some, which is left here.
    mutating func take(leaving room: inout AnswerChanges) -> PendingChanges {
        let all = self
        self = PendingChanges()
        swap(&answers, &room)
        return all
    }

    /// Restores changes that could not be written, as older than those added meanwhile. Answers are not restored:
    /// memory has them.
    mutating func putBack(_ older: PendingChanges) {
        var merged = PendingChanges()
        merged.removals = older.removals
        merged.states = older.states.filter { !forgottenKinds.contains($0.key.kind) }.merging(states) { $1 }
        merged.forgottenKinds = older.forgottenKinds.union(forgottenKinds)
        for changes in [older.answers, answers] {
            for index in changes.indices where changes.isRemoval(at: index) { merged.remove(changes.key(at: index)) }
        }
        for removal in removals { merged.remove(removal) }
        merged.needsAll = true
        self = merged
    }

    /// Empties the changes of answers, which were written, and hands their room over to be used again. To make it grow
    /// again would cost a page fault for every 4 KiB, on the thread that stores answers.
    mutating func giveBack(_ room: inout AnswerChanges) {
        swap(&answers, &room)
        room.removeAll()
    }
}
