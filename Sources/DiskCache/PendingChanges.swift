import DNSCache

/// What is to be written, bounded: nothing here grows while the disk is slow or gone.
struct PendingChanges {
    /// The most answers, and the most removals, that wait.
    static let limit = 16_384

    /// By the bytes of their keys.
    private(set) var stores: [[UInt8]: CacheEntry] = [:]
    private(set) var removedKeys: Set<[UInt8]> = []
    private(set) var removals: [DiskRemoval] = []
    private(set) var states: [StateRecord.Key: StateRecord?] = [:]
    /// Kinds of which nothing stays, before `states` is written.
    private(set) var forgottenKinds: Set<StateRecord.Kind> = []
    /// Whether answers were left out: then all of memory is to be written.
    var needsAll = false

    var isEmpty: Bool {
        stores.isEmpty && removedKeys.isEmpty && removals.isEmpty && states.isEmpty && forgottenKinds.isEmpty
            && !needsAll
    }

    /// Whether it is time to write although the interval is not over.
    var isLarge: Bool { stores.count > Self.limit / 2 }

    mutating func store(_ entry: CacheEntry, for key: [UInt8]) {
        guard !needsAll else { return }
        guard stores.count < Self.limit || stores[key] != nil else {
            needsAll = true
            stores = [:]
            return
        }
        stores[key] = entry
    }

    mutating func remove(_ key: [UInt8]) {
        stores[key] = nil
        guard removedKeys.count < Self.limit else { return remove(.all, thenAll: true) }
        removedKeys.insert(key)
    }

    /// - Parameter thenAll: whether what memory holds is to be written again afterwards.
    mutating func remove(_ removal: DiskRemoval, thenAll: Bool = false) {
        if removal == .all || removals.count >= 64 {
            // Something smaller was asked for: what memory still has is right.
            needsAll = needsAll || thenAll || removal != .all
            removals = [.all]
            removedKeys = []
            stores = [:]
            return
        }
        removals.append(removal)
        stores = stores.filter { key, entry in
            guard let name = StoredAnswer.name(inKey: key) else { return false }
            return !removal.covers(name, entry.answer.addresses)
        }
    }

    /// Whether an answer that was read from the file may still be used.
    func allows(_ key: [UInt8], _ answer: StoredAnswer) -> Bool {
        stores[key] == nil && !removedKeys.contains(key)
            && !removals.contains { $0.covers(answer.name, answer.answer.addresses) }
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

    /// Takes all of it.
    mutating func take() -> PendingChanges {
        defer { self = PendingChanges() }
        return self
    }

    /// Puts back what could not be written, as older than what came meanwhile. Answers are not kept: memory has them.
    mutating func putBack(_ older: PendingChanges) {
        var merged = PendingChanges()
        merged.removals = older.removals
        merged.removedKeys = older.removedKeys
        merged.states = older.states.filter { !forgottenKinds.contains($0.key.kind) }.merging(states) { $1 }
        merged.forgottenKinds = older.forgottenKinds.union(forgottenKinds)
        for key in removedKeys { merged.remove(key) }
        for removal in removals { merged.remove(removal) }
        merged.needsAll = true
        self = merged
    }
}
