import DNSCache
import DNSWire
import Testing

@testable import DiskCache

/// Changes that wait for the disk: bounded, and applied in the order in which they were made.
@Suite struct PendingChangesTests {
    private func keyBytes(_ text: String) -> [UInt8] { key(text).array }

    private func entry(_ text: String) throws -> CacheEntry {
        try DiskCacheTests.entry(text, at: TestClock().now)
    }

    /// The keys that these changes add to a file without them.
    private func added(by changes: PendingChanges) -> Set<[UInt8]> {
        let answers = changes.answers
        return answers.indices.reduce(into: []) { keys, index in
            if answers.isRemoval(at: index) {
                keys.remove(answers.key(at: index))
            } else {
                keys.insert(answers.key(at: index))
            }
        }
    }

    private func removed(by changes: PendingChanges) -> [[UInt8]] {
        let answers = changes.answers
        return answers.indices.filter { answers.isRemoval(at: $0) }.map { answers.key(at: $0) }
    }

    private func record(_ name: String, _ value: String = "1", of kind: StateRecord.Kind = .calls) -> StateRecord {
        StateRecord(kind, name, value: value, storedAt: noon)
    }

    @Test func `what the file has of an answer that came or went meanwhile is not used`() throws {
        let row = try stored("www.example.com")
        var changes = PendingChanges()
        var isAllowed: [Bool] = []
        func look() { isAllowed.append(changes.allows(row.key.array, row)) }
        look()
        changes.store(try entry("www.example.com"), for: row.key)
        look()
        changes = PendingChanges()
        look()
        changes.remove(row.key.array)
        look()
        changes = PendingChanges()
        changes.remove(.name(name("other.example.com")))
        look()
        changes.remove(.holding(address(of: "www.example.com")))
        look()
        #expect(isAllowed == [true, false, true, false, true, false])
    }

    @Test func `what is removed is not written, and what comes after is`() throws {
        var changes = PendingChanges()
        for name in ["a.example.com", "b.example.com", "c.example.org"] {
            changes.store(try entry(name), for: key(name))
        }
        changes.remove(keyBytes("c.example.org"))
        changes.remove(.name(name("a.example.com")))
        #expect(added(by: changes) == [keyBytes("b.example.com")])
        changes.store(try entry("a.example.com"), for: key("a.example.com"))
        changes.store(try entry("c.example.org"), for: key("c.example.org"))
        #expect(added(by: changes) == Set(["a.example.com", "b.example.com", "c.example.org"].map(keyBytes)))
    }

    @Test func `of an answer that is removed, what it had replaced is removed too`() throws {
        var changes = PendingChanges()
        changes.store(try entry("other.example.com"), for: key("www.example.com"))
        changes.store(try entry("www.example.com"), for: key("www.example.com"))
        changes.remove(.holding(address(of: "www.example.com")))
        #expect(added(by: changes).isEmpty && removed(by: changes) == [keyBytes("www.example.com")])
    }

    @Test func `more answers than may wait are left to be written from memory, and none waits any more`() throws {
        var changes = PendingChanges()
        let answer = try entry("www.example.com")
        for number in 0..<PendingChanges.limit { changes.store(answer, for: key("n\(number).example.com")) }
        changes.remove(keyBytes("gone.example.com"))
        #expect(!changes.needsAll && changes.answers.count == PendingChanges.limit + 1)
        changes.store(answer, for: key("more.example.com"))
        #expect(changes.needsAll && removed(by: changes) == [keyBytes("gone.example.com")])
        changes.store(answer, for: key("later.example.com"))
        #expect(changes.answers.count == 1)
    }

    @Test func `answers of more bytes than may wait are written early, and then left to be written from memory`() throws
    {
        var changes = PendingChanges()
        var answer = try entry("www.example.com")
        answer.answer = PackedAnswer(
            responseCode: .noError, counts: PackedAnswer.SectionCounts(), body: Array(repeating: 0, count: 65_000),
            ttlOffsets: [])
        while !changes.isLarge { changes.store(answer, for: key("www.example.com")) }
        #expect(changes.answers.count == PendingChanges.room / 2 / 65_022 + 1 && !changes.needsAll)
        while !changes.needsAll, changes.answers.count < PendingChanges.limit {
            changes.store(answer, for: key("www.example.com"))
        }
        #expect(changes.needsAll && changes.answers.isEmpty && changes.answers.size == 0)
    }

    @Test func `more keys than may wait are removed with all others, and memory is written again`() {
        var changes = PendingChanges()
        for number in 0...PendingChanges.limit { changes.remove(keyBytes("n\(number).example.com")) }
        #expect(changes.removals == [.all] && changes.answers.isEmpty && changes.needsAll)
    }

    @Test func `more removals than may wait are one of all, and memory is written again`() {
        var changes = PendingChanges()
        for number in 0...64 { changes.remove(.name(name("n\(number).example.com"))) }
        #expect(changes.removals == [.all] && changes.needsAll)
        var flushed = PendingChanges()
        flushed.remove(.all)
        #expect(flushed.removals == [.all] && !flushed.needsAll)
    }

    @Test func `a removal that waits already takes no further place, and removes what came since`() throws {
        var changes = PendingChanges()
        for _ in 0...64 { changes.remove(.name(name("www.example.com"))) }
        changes.store(try entry("www.example.com"), for: key("www.example.com"))
        changes.remove(.name(name("www.example.com")))
        #expect(changes.removals == [.name(name("www.example.com"))] && !changes.needsAll)
        #expect(added(by: changes).isEmpty)
    }

    @Test(arguments: [StateRecord.Kind.checkVerdict, .journal])
    func `records of names that wait are bounded, and known ones still change`(kind: StateRecord.Kind) {
        var changes = PendingChanges()
        for number in 0...PendingChanges.recordLimit { changes.keep(record("n\(number)", of: kind)) }
        #expect(changes.states.count == PendingChanges.recordLimit)
        changes.keep(record("n0", "2", of: kind))
        changes.forget(record("n1", of: kind).key)
        changes.forget(record("never", of: kind).key)
        #expect(changes.states.count == PendingChanges.recordLimit)
        #expect(changes.states[record("n0", of: kind).key]??.value == "2")
        #expect(changes.states[record("n1", of: kind).key].map { $0 == nil } == true)
    }

    @Test func `however many verdicts wait, what an operator says is written, and what is counted`() {
        var changes = PendingChanges()
        for number in 0...StateRecord.limit { changes.keep(record("n\(number)", of: .checkVerdict)) }
        let kinds = StateRecord.Kind.allCases.filter { $0 != .checkVerdict && $0 != .journal }
        for kind in kinds {
            changes.keep(record("new", of: kind))
            changes.forget(record("old", of: kind).key)
        }
        #expect(kinds.filter { changes.states[record("new", of: $0).key] == nil } == [])
        #expect(kinds.filter { changes.states[record("old", of: $0).key] == nil } == [])
    }

    @Test func `what could not be written is written later, before what came in the meantime`() throws {
        var older = PendingChanges()
        older.store(try entry("a.example.com"), for: key("a.example.com"))
        older.remove(keyBytes("b.example.com"))
        older.remove(.name(name("c.example.com")))
        older.keep(record("same"))
        older.keep(record("changed"))
        older.forgetAll(.journal)
        var changes = PendingChanges()
        changes.keep(record("changed", "2"))
        changes.remove(keyBytes("d.example.com"))
        changes.remove(.name(name("e.example.com")))
        changes.forgetAll(.checkVerdict)
        changes.putBack(older)
        #expect(removed(by: changes) == [keyBytes("b.example.com"), keyBytes("d.example.com")])
        #expect(changes.removals == [.name(name("c.example.com")), .name(name("e.example.com"))])
        #expect(changes.states[record("same").key]??.value == "1")
        #expect(changes.states[record("changed").key]??.value == "2")
        #expect(changes.forgottenKinds == [.journal, .checkVerdict])
        // Memory has the answers.
        #expect(added(by: changes).isEmpty && changes.needsAll)
    }

    @Test func `of a kind that was removed in the meantime nothing comes back`() {
        var older = PendingChanges()
        older.keep(record("before"))
        var changes = PendingChanges()
        changes.forgetAll(.calls)
        changes.keep(record("after"))
        changes.putBack(older)
        #expect(changes.states.keys.map(\.name) == ["after"])
    }
}
