import DNSCache
import DNSWire

/// The changes that wait to be written; bounded, so that they do not grow while the disk is slow or unavailable.
struct PendingChanges {
    /// The last change of an answer.
    enum Change {
        case stored(CacheEntry)
        case removed

        /// Bytes of the answer.
        fileprivate var size: Int { if case .stored(let entry) = self { entry.answer.body.count } else { 0 } }
    }

    /// The last changes of the answers of one row; nil: none.
    struct Row {
        /// Of type AAAA, and of the type of the row's question.
        private var (six, other): (Change?, Change?)

        subscript(isSix isSix: Bool) -> Change? {
            get { isSix ? six : other }
            set { if isSix { six = newValue } else { other = newValue } }
        }

        fileprivate var count: Int { (six == nil ? 0 : 1) + (other == nil ? 0 : 1) }

        /// The same without new answers; nil where nothing is left.
        fileprivate var withoutAnswers: Row? {
            var row = self
            if case .stored? = six { row.six = nil }
            if case .stored? = other { row.other = nil }
            return row.count == 0 ? nil : row
        }

        fileprivate func isCovered(by removal: AnswerRemoval, _ question: [UInt8]) -> Bool {
            guard let name = try? Name(wire: Array(question.dropLast(5))) else { return false }
            return [six, other].contains { change in
                guard case .stored(let entry)? = change else { return false }
                return removal.covers(name, entry.answer.addresses)
            }
        }
    }

    /// The most answers that wait, and the most removals of many.
    static let limit = 16_384
    private static let removalLimit = 64
    /// The most bytes of answers that wait, but for the last one's.
    static let room = 16 << 20
    /// The most records that wait, but for those of kinds that are few: as many as the file keeps of one kind.
    static let recordLimit = 4_096

    /// Answers, by the questions of their rows.
    private(set) var rows: [[UInt8]: Row] = [:]
    /// How many answers there are, and how many bytes these have.
    private(set) var count = 0
    private var size = 0
    /// Removals of many answers, which come before `rows`.
    private(set) var removals: [AnswerRemoval] = []
    private(set) var states: [StateRecord.Key: StateRecord?] = [:]
    /// Kinds whose records are all removed, before `states` is written.
    private(set) var forgottenKinds: Set<StateRecord.Kind> = []
    /// Whether answers were left out; then all entries in memory must be written, after all else.
    var needsAll = false

    /// Whether there are so many answers that they are written before the interval is over.
    var isLarge: Bool { count > Self.limit / 2 || size > Self.room / 2 }

    // MARK: Answers

    /// Adds a new answer under the key of a question without a scope.
    mutating func store(_ entry: CacheEntry, for key: borrowing QueryKey) {
        guard !needsAll else { return }
        guard count < Self.limit, size <= Self.room else { return leaveAnswers() }
        var question = key.array
        let isSix = question.makeRowQuestion()
        set(.stored(entry), question, isSix: isSix)
    }

    /// Removes the answer under a key: the bytes of a `QueryKey` without a scope.
    mutating func remove(_ key: [UInt8]) {
        var question = key
        let isSix = question.makeRowQuestion()
        remove(question, isSix: isSix)
    }

    private mutating func remove(_ question: [UInt8], isSix: Bool) {
        if count == Self.limit { leaveAnswers() }
        // Where these alone are too many, the entries still in memory are valid.
        guard count < Self.limit else { return removeAll(thenAll: true) }
        set(.removed, question, isSix: isSix)
    }

    private mutating func set(_ change: Change, _ question: [UInt8], isSix: Bool) {
        let old = rows[question]?[isSix: isSix]
        rows[question, default: Row()][isSix: isSix] = change
        count += old == nil ? 1 : 0
        size += change.size - (old?.size ?? 0)
    }

    mutating func remove(_ removal: AnswerRemoval) {
        let isKnown = removals.contains(removal)
        guard removal != .all, isKnown || removals.count < Self.removalLimit else {
            return removeAll(thenAll: removal != .all)
        }
        for (question, row) in rows where row.isCovered(by: removal, question) {
            for isSix in [false, true] where row[isSix: isSix] != nil { set(.removed, question, isSix: isSix) }
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
        rows = rows.compactMapValues(\.withoutAnswers)
        count = rows.values.reduce(0) { $0 + $1.count }
        size = 0
    }

    /// Whether an answer that was read from the file may still be used.
    ///
    /// - Parameter key: the answer's.
    func allows(_ key: [UInt8], _ answer: StoredAnswer) -> Bool {
        var question = key
        let isSix = question.makeRowQuestion()
        return rows[question]?[isSix: isSix] == nil
            && !removals.contains { $0.covers(answer.question.name, answer.answer.addresses) }
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
        merged.leaveAnswers()
        for (question, row) in rows {
            for isSix in [false, true] {
                if case .removed? = row[isSix: isSix] { merged.remove(question, isSix: isSix) }
            }
        }
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
        rows.removeAll(keepingCapacity: rows.count >= rows.capacity / 8)
        (count, size) = (0, 0)
    }
}
