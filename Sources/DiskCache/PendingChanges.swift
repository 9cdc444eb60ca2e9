import DNSCache

/// The changes that wait to be written; bounded, so that they do not grow while the disk is slow or unavailable.
struct PendingChanges {
    /// A change to the answer under one key.
    struct AnswerChange {
        /// The bytes of a `QueryKey`.
        let key: [UInt8]
        /// The new entry; nil: the answer is removed.
        let entry: CacheEntry?
    }

    /// The most answers, and the most removals, that wait.
    static let limit = 16_384

    /// In order of arrival; one key may have several. They are written after `removals`.
    private(set) var answers: [AnswerChange] = []
    /// How many of `answers` are removals.
    private var removalCount = 0
    /// The keys of `answers`; nil until the first look-up, since mostly there is none.
    private var keys: Set<[UInt8]>?
    private(set) var removals: [DiskRemoval] = []
    private(set) var states: [StateRecord.Key: StateRecord?] = [:]
    /// Kinds whose records are all removed, before `states` is written.
    private(set) var forgottenKinds: Set<StateRecord.Kind> = []
    /// Whether answers were left out; then all entries in memory must be written.
    var needsAll = false

    var isEmpty: Bool {
        answers.isEmpty && removals.isEmpty && states.isEmpty && forgottenKinds.isEmpty && !needsAll
    }

    /// Whether there are so many answers that they are written before the interval is over.
    var isLarge: Bool { answers.count > Self.limit / 2 }

    mutating func store(_ entry: CacheEntry, for key: [UInt8]) {
        guard !needsAll else { return }
        guard answers.count - removalCount < Self.limit else {
            needsAll = true
            answers.removeAll { $0.entry != nil }
            return
        }
        append(AnswerChange(key: key, entry: entry))
    }

    mutating func remove(_ key: [UInt8]) {
        guard removalCount < Self.limit else { return remove(.all, thenAll: true) }
        removalCount += 1
        append(AnswerChange(key: key, entry: nil))
    }

    private mutating func append(_ change: AnswerChange) {
        answers.append(change)
        keys?.insert(change.key)
    }

    /// - Parameter thenAll: whether the entries in memory are to be written again afterwards.
    mutating func remove(_ removal: DiskRemoval, thenAll: Bool = false) {
        if removal == .all || removals.count >= 64 {
            // Only a part was to be removed: the entries still in memory are valid.
            needsAll = needsAll || thenAll || removal != .all
            removals = [.all]
            answers = []
            removalCount = 0
            return
        }
        if !removals.contains(removal) { removals.append(removal) }
        // Removed instead of left out: the older answer in the file, which it was to replace, is no longer valid
        // either.
        for index in answers.indices {
            let change = answers[index]
            guard let entry = change.entry, let name = StoredAnswer.name(inKey: change.key),
                removal.covers(name, entry.answer.addresses)
            else { continue }
            answers[index] = AnswerChange(key: change.key, entry: nil)
            removalCount += 1
        }
    }

    /// Whether an answer that was read from the file may still be used.
    mutating func allows(_ key: [UInt8], _ answer: StoredAnswer) -> Bool {
        let changed = keys ?? Set(answers.lazy.map(\.key))
        keys = changed
        return !changed.contains(key) && !removals.contains { $0.covers(answer.name, answer.answer.addresses) }
    }

    mutating func keep(_ record: StateRecord) {
        guard states.count < StateRecord.limit || states[record.key] != nil else { return }
        states[record.key] = .some(record)
    }

    mutating func forget(_ key: StateRecord.Key) {
        guard states.count < StateRecord.limit || states[key] != nil else { return }
        states[key] = .some(nil)
    }

    mutating func forgetAll(_ kind: StateRecord.Kind) {
        states = states.filter { $0.key.kind != kind }
        forgottenKinds.insert(kind)
    }

    /// Removes and returns all changes.
    mutating func take() -> PendingChanges {
        defer { self = PendingChanges() }
        return self
    }

    /// Restores changes that could not be written, as older than those added meanwhile. Answers are not restored:
    /// memory has them.
    mutating func putBack(_ older: PendingChanges) {
        var merged = PendingChanges()
        merged.removals = older.removals
        merged.states = older.states.filter { !forgottenKinds.contains($0.key.kind) }.merging(states) { $1 }
        merged.forgottenKinds = older.forgottenKinds.union(forgottenKinds)
        for change in older.answers + answers where change.entry == nil { merged.remove(change.key) }
        for removal in removals { merged.remove(removal) }
        merged.needsAll = true
        self = merged
    }
}
