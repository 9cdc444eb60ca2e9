import DNSCache
import DNSWire
import Testing

@testable import DiskCache

/// Changes that wait for the disk: bounded, and applied in the order in which they were made.
struct PendingChangesTests {
    private func keyBytes(_ text: String) -> [UInt8] { key(text).array }

    private func entry(_ text: String) throws -> CacheEntry {
        try DiskCacheTests.entry(text, at: TestClock().now)
    }

    /// The keys of the answers that are removed.
    private func removed(_ changes: PendingChanges) -> Set<[UInt8]> {
        let last = Dictionary(changes.answers.map { ($0.key, $0.entry == nil) }) { $1 }
        return Set(last.filter(\.value).keys)
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

    @Test func `more changes than may wait are left to be written from memory, but for what is removed`() throws {
        var changes = PendingChanges()
        let answer = try entry("www.example.com")
        changes.remove(keyBytes("gone.example.com"))
        for number in 1..<PendingChanges.limit { changes.store(answer, for: key("n\(number).example.com")) }
        #expect(!changes.needsAll && changes.answers.count == PendingChanges.limit)
        var removing = changes
        changes.store(answer, for: key("more.example.com"))
        #expect(changes.needsAll && changes.answers.count == 1 && removed(changes) == [keyBytes("gone.example.com")])
        changes.store(answer, for: key("later.example.com"))
        #expect(changes.answers.count == 1)
        removing.remove(keyBytes("more.example.com"))
        #expect(removing.needsAll && removing.answers.count == 2)
        #expect(removed(removing) == Set(["gone.example.com", "more.example.com"].map(keyBytes)))
    }

    @Test func `answers of more bytes than may wait are written early, and then left to be written from memory`() throws
    {
        var changes = PendingChanges()
        var answer = try entry("www.example.com")
        answer.answer = PackedAnswer(
            responseCode: .noError, counts: PackedAnswer.SectionCounts(), body: Array(repeating: 0, count: 65_000))
        while !changes.isLarge { changes.store(answer, for: key("n\(changes.answers.count).example.com")) }
        #expect(changes.answers.count == PendingChanges.room / 2 / 65_000 + 1 && !changes.needsAll)
        while !changes.needsAll, changes.answers.count < PendingChanges.limit {
            changes.store(answer, for: key("n\(changes.answers.count).example.com"))
        }
        #expect(changes.needsAll && changes.answers.isEmpty)
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

    @Test func `a removal covers the answers before it, and one that waits already takes no further place`() throws {
        var changes = PendingChanges()
        for number in 0..<65 {
            changes.store(try entry("www.example.com"), for: key("n\(number).example.com"))
            changes.remove(.name(name("n1.example.com")))
        }
        #expect(changes.removals == [.name(name("n1.example.com"))] && !changes.needsAll)
        #expect(removed(changes) == [keyBytes("n1.example.com")] && changes.answers.count == 65)
        changes.store(try entry("www.example.com"), for: key("n1.example.com"))
        #expect(removed(changes).isEmpty)
        changes.remove(.holding(address(of: "www.example.com")))
        #expect(removed(changes).count == 65)
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
        for number in 0...10_000 { changes.keep(record("n\(number)", of: .checkVerdict)) }
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
        #expect(removed(changes) == [keyBytes("b.example.com"), keyBytes("d.example.com")])
        #expect(changes.removals == [.name(name("c.example.com")), .name(name("e.example.com"))])
        #expect(changes.states[record("same").key]??.value == "1")
        #expect(changes.states[record("changed").key]??.value == "2")
        #expect(changes.forgottenKinds == [.journal, .checkVerdict])
        // Memory has the answers.
        #expect(changes.answers.count == 2 && changes.needsAll)
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
