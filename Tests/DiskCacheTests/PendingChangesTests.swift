import DNSCache
import DNSWire
import Testing

@testable import DiskCache

/// What waits for the disk: bounded, and in the order in which it was said.
@Suite struct PendingChangesTests {
    private func keyBytes(_ text: String) -> [UInt8] { key(text).array }

    private func entry(_ text: String) throws -> CacheEntry {
        try DiskCacheTests.entry(text, at: TestClock().now)
    }

    private func record(_ name: String, _ value: String = "1") -> StateRecord {
        StateRecord(.calls, name, value: value, storedAt: noon)
    }

    @Test func `what the file has of an answer that came or went meanwhile is not used`() throws {
        let row = try stored("www.example.com")
        var changes = PendingChanges()
        #expect(changes.allows(row.key.array, row))
        changes.store(try entry("www.example.com"), for: row.key.array)
        #expect(!changes.allows(row.key.array, row))
        changes = PendingChanges()
        changes.remove(row.key.array)
        #expect(!changes.allows(row.key.array, row))
        changes = PendingChanges()
        changes.remove(.name(name("other.example.com")))
        #expect(changes.allows(row.key.array, row))
        changes.remove(.holding(address(of: "www.example.com")))
        #expect(!changes.allows(row.key.array, row))
    }

    @Test func `what is forgotten is not written, and what comes after is`() throws {
        var changes = PendingChanges()
        for name in ["a.example.com", "b.example.com", "c.example.org"] {
            changes.store(try entry(name), for: keyBytes(name))
        }
        changes.remove(keyBytes("c.example.org"))
        changes.remove(.name(name("a.example.com")))
        #expect(Set(changes.stores.keys) == [keyBytes("b.example.com")])
        changes.store(try entry("a.example.com"), for: keyBytes("a.example.com"))
        #expect(changes.stores.count == 2)
    }

    @Test func `more answers than may wait are left to be written from memory, and none is kept here any more`() throws
    {
        var changes = PendingChanges()
        let kept = try entry("www.example.com")
        for number in 0..<PendingChanges.limit { changes.store(kept, for: keyBytes("n\(number).example.com")) }
        #expect(!changes.needsAll && changes.stores.count == PendingChanges.limit)
        changes.store(kept, for: keyBytes("n0.example.com"))
        #expect(!changes.needsAll)
        changes.store(kept, for: keyBytes("more.example.com"))
        #expect(changes.needsAll && changes.stores.isEmpty)
        changes.store(kept, for: keyBytes("later.example.com"))
        #expect(changes.stores.isEmpty)
    }

    @Test func `more keys than may wait are forgotten with all others, and memory is written again`() {
        var changes = PendingChanges()
        for number in 0...PendingChanges.limit { changes.remove(keyBytes("n\(number).example.com")) }
        #expect(changes.removals == [.all] && changes.removedKeys.isEmpty && changes.needsAll)
    }

    @Test func `more removals than may wait are one of all, and memory is written again`() {
        var changes = PendingChanges()
        for number in 0...64 { changes.remove(.name(name("n\(number).example.com"))) }
        #expect(changes.removals == [.all] && changes.needsAll)
        var flushed = PendingChanges()
        flushed.remove(.all)
        #expect(flushed.removals == [.all] && !flushed.needsAll)
    }

    @Test func `records that wait are bounded, and known ones still change`() {
        var changes = PendingChanges()
        for number in 0...StateRecord.limit { changes.keep(record("n\(number)")) }
        #expect(changes.states.count == StateRecord.limit)
        changes.keep(record("n0", "2"))
        changes.forget(record("n1").key)
        changes.forget(record("never").key)
        #expect(changes.states.count == StateRecord.limit)
        #expect(changes.states[record("n0").key]??.value == "2" && changes.states[record("n1").key] == .some(nil))
    }

    @Test func `what could not be written is written later, before what was said meanwhile`() throws {
        var older = PendingChanges()
        older.store(try entry("a.example.com"), for: keyBytes("a.example.com"))
        older.remove(keyBytes("b.example.com"))
        older.remove(.name(name("c.example.com")))
        older.keep(record("kept"))
        older.keep(record("changed"))
        older.forgetAll(.journal)
        var changes = PendingChanges()
        changes.keep(record("changed", "2"))
        changes.remove(keyBytes("d.example.com"))
        changes.remove(.name(name("e.example.com")))
        changes.forgetAll(.checkVerdict)
        changes.putBack(older)
        #expect(changes.removedKeys == [keyBytes("b.example.com"), keyBytes("d.example.com")])
        #expect(changes.removals == [.name(name("c.example.com")), .name(name("e.example.com"))])
        #expect(changes.states[record("kept").key]??.value == "1")
        #expect(changes.states[record("changed").key]??.value == "2")
        #expect(changes.forgottenKinds == [.journal, .checkVerdict])
        // Memory has the answers.
        #expect(changes.stores.isEmpty && changes.needsAll)
    }

    @Test func `of a kind that was forgotten meanwhile nothing comes back`() {
        var older = PendingChanges()
        older.keep(record("before"))
        var changes = PendingChanges()
        changes.forgetAll(.calls)
        changes.keep(record("after"))
        changes.putBack(older)
        #expect(changes.states.keys.map(\.name) == ["after"])
    }
}
