import DNSCache
import DNSWire
import Foundation
import Glibc
import Platform
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import DiskCache

/// Damaged files: never a crash, never a wrong answer, always a usable file afterwards.
@Suite struct DamageTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/cache.sqlite" }
    private let names = (0..<300).map { "name-\($0).example.com" }

    init() throws { directory = try TemporaryDirectory() }

    /// The bytes of a sound file with answers and state.
    private func soundFile() throws -> [UInt8] {
        do {
            let file = try AnswerFile(path)
            try file.transaction { () throws(SQLiteError) in
                for name in names {
                    guard let row = try? stored(name) else { continue }
                    try file.write(row)
                }
                try file.write(StateRecord(.calls, "vendor", value: "12", storedAt: noon))
                try file.write(AnswerFile.ClockMark(latest: noon, distrusted: 0))
            }
        }
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    private func clear() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: directory.path) {
            try FileManager.default.removeItem(atPath: directory.path + "/" + name)
        }
    }

    /// Starts with a file of these bytes, uses it, and starts once more; every answer must be the right one.
    private func survives(_ bytes: [UInt8], _ what: String) async throws {
        try clear()
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let machine = try Machine(path)
        #expect(machine.wait { [.used, .memoryOnly].contains(machine.disk.status.state) }, "\(what)")
        for name in names where machine.memory.entry(for: key(name)) != nil {
            #expect(machine.has(name), "\(what): \(name)")
        }
        for record in await machine.disk.states() {
            #expect(record == StateRecord(.calls, "vendor", value: "12", storedAt: noon), "\(what)")
        }
        try machine.put("new.example.com")
        #expect(machine.flush(), "\(what)")
        machine.disk.stop()
        let next = try Machine(path)
        #expect(next.load() && next.has("new.example.com"), "\(what)")
        next.disk.stop()
    }

    @Test func `a file cut off at any page is read as far as it is sound, or replaced`() async throws {
        let sound = try soundFile()
        #expect(sound.count > 10 * 4_096)
        for page in 0...(sound.count / 4_096) {
            try await survives(Array(sound[..<(page * 4_096)]), "cut to \(page) pages")
            if page % 3 == 0 {
                try await survives(Array(sound[..<min(sound.count, page * 4_096 + 100)]), "cut in page \(page)")
            }
        }
    }

    @Test func `a file with one wrong bit on any page gives no wrong answer`() async throws {
        let sound = try soundFile()
        var numbers = SeededNumbers(7)
        for page in 0..<(sound.count / 4_096) {
            for _ in 0..<(isThorough ? 8 : 1) {
                var bytes = sound
                // The file must remain ours by its header.
                let offset = page * 4_096 + Int.random(in: (page == 0 ? 72 : 0)..<4_096, using: &numbers)
                bytes[offset] ^= 1 << UInt8.random(in: 0..<8, using: &numbers)
                try await survives(bytes, "bit at \(offset)")
            }
        }
    }

    /// A file that is ours by its header, but not a database.
    private func garbage(_ count: Int) -> [UInt8] { [UInt8](header) + [UInt8](repeating: 7, count: count) }

    @Test(arguments: [0, 1, 28, 9_000])
    func `garbage behind a header of ours is renamed, and another file created`(count: Int) async throws {
        try await survives(garbage(count), "garbage")
        let aside = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter {
            $0.contains("damaged")
        }
        #expect(aside.count == 1)
    }

    @Test func `an empty file is accepted`() async throws {
        try await survives([], "empty")
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(!names.contains { $0.contains("damaged") })
    }

    @Test func `the operator is notified where the damaged file is`() throws {
        try Data(garbage(100)).write(to: URL(fileURLWithPath: path))
        let machine = try Machine(path)
        #expect(machine.load())
        guard case .quarantined(let target?, let reason)? = machine.events.all.first else {
            Issue.record("no event was reported: \(machine.events.all)")
            return
        }
        #expect(FileManager.default.contents(atPath: target) == Data(garbage(100)))
        #expect(reason.contains("not a database"))
        machine.disk.stop()
    }

    @Test func `a file whose header is lost while it is used is still ours: it is replaced`() throws {
        let machine = try Machine(path)
        #expect(machine.load())
        try machine.put("www.example.com")
        #expect(machine.flush())
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.write(contentsOf: Data(count: 100))
        try file.close()
        machine.disk.shared.state.withLock { $0.damage = "SQLite finds it damaged" }
        try machine.put("b.example.com")
        #expect(machine.wait { quarantined(machine).count == 1 } && machine.flush())
        machine.disk.stop()
        let next = try Machine(path)
        #expect(next.load() && next.has("www.example.com") && next.has("b.example.com"))
        next.disk.stop()
    }

    @Test func `a file of a later version is renamed`() throws {
        _ = try soundFile()
        do { try SQLiteConnection(path, .readWrite).execute("PRAGMA user_version = 99") }
        let machine = try Machine(path)
        #expect(machine.load() && machine.memory.statistics.entries == 0)
        #expect(quarantined(machine).count == 1)
        machine.disk.stop()
    }

    @Test func `a file of an earlier version is brought up to date with its answers`() throws {
        do {
            let old = try SQLiteConnection(path, .readWrite)
            try old.execute(StoreSchema.steps[0])
            try old.execute("PRAGMA application_id = 0x68646e73; PRAGMA user_version = 1")
            try old.execute("INSERT INTO source VALUES (1, 'vendor one')")
            try old.execute("INSERT INTO policy VALUES (1, ''), (5, 'policy one')")
            let row = try stored("www.example.com")
            let insert = try old.prepare(
                "INSERT INTO answer VALUES (1, ?, 1, 1, 0, ?, 300, 1, 0, 5, 0, 0, NULL, ?, ?)")
            try insert.run([
                .text("www.example.com"), .integer(noon), .blob([0, 1, 0, 0, 0, 0] + row.answer.body),
                .bits(row.checksum),
            ])
        }
        let machine = try Machine(path)
        #expect(machine.load() && machine.has("www.example.com"))
        #expect(machine.events.all == [.loaded(count: 1, isComplete: true)])
        machine.disk.stop()
    }

    @Test func `of a file of the third version the answers of both address families are one row`() throws {
        let names = ["both.example.com", "a.example.com", "aaaa.example.com", "text.example.com", "late.example.com"]
        let types: [[RecordType]] = [[.a, .aaaa], [.a], [.aaaa], [.txt], [.aaaa, .a]]
        // Asked with DO, so it is another row.
        let signed = 8
        var all: [StoredAnswer] = []
        do {
            let old = try SQLiteConnection(path, .readWrite)
            for step in StoreSchema.steps[..<3] { try old.execute(step) }
            try old.execute("PRAGMA application_id = 0x68646e73; PRAGMA user_version = 3")
            try old.execute("INSERT INTO identity VALUES (1, 'vendor one'), (5, 'policy one')")
            let insert = try old.prepare(
                "INSERT INTO answer VALUES (?, ?, ?, 1, ?, ?, ?, 1, 0, 5, 0, 0, ?, ?, ?)")
            for (text, types) in zip(names + [names[1]], types + [[.aaaa]]) {
                for type in types {
                    var row = try stored(text, at: noon - Int64(all.count), ttl: 300 + UInt32(all.count))
                    let question = Question(name: name(text), type: type)
                    let address: IPAddress = type == .aaaa ? .v6(7) : .v4(0xc000_0207)
                    let answer =
                        type == .txt
                        ? Answer(answers: [Record(name: question.name, type: .txt, ttl: 300, rdata: [1, 65])])
                        : Answer(name: question.name, addresses: [address], ttl: row.lifetime)
                    row.type = type
                    row.dnssecOK = all.count + 1 == signed
                    row.answer = try #require(PackedAnswer(answer, for: question))
                    all.append(row)
                    let counts = row.answer.counts
                    try insert.run([
                        .integer(Int64(all.count)), .text(text), .integer(Int64(type.rawValue)),
                        .integer(row.dnssecOK ? 1 : 0), .integer(row.storedAt), .integer(Int64(row.lifetime)),
                        .text("\(address)"),
                        .blob([0, UInt8(counts.answer), 0, 0, 0, 0] + row.answer.body), .bits(row.checksum),
                    ])
                }
            }
        }
        do {
            let file = try AnswerFile(path)
            for row in all { #expect(try file.answer(row.key) == row) }
            let rows = try file.page(from: .max, limit: 100)
            // By the older of their numbers: what is not known of the age of one is then not known of the other.
            #expect(rows.rows.map(\.id) == [8, 6, 5, 4, 3, 1] && !rows.isDamaged)
        }
        let view = try ChildProcess.run([
            "sqlite3", path, "SELECT name, type, addresses, ttl FROM answers WHERE name LIKE 'both%'",
        ])
        #expect(view.output == "both.example.com|A|192.0.2.7|300\nboth.example.com|AAAA|::7|301\n")
    }

    @Test(arguments: [
        "CREATE TRIGGER evil AFTER INSERT ON answer BEGIN DELETE FROM answer; END", "DROP VIEW answers",
        "ALTER TABLE answer ADD COLUMN more TEXT", "DROP TABLE state",
    ])
    func `a file with a trigger, or with other tables than ours, is not used, but replaced`(change: String) throws {
        _ = try soundFile()
        try #require(try ChildProcess.run(["sqlite3", path, change]).status == 0)
        let machine = try Machine(path)
        #expect(machine.load() && machine.memory.statistics.entries == 0)
        #expect(machine.events.all.contains { if case .quarantined = $0 { true } else { false } })
        machine.disk.stop()
    }

    @Test func `a file that turns bad while it is used is replaced with what memory has`() throws {
        let machine = try Machine(path)
        #expect(machine.load())
        for name in names { try machine.put(name) }
        #expect(machine.flush())
        machine.disk.shared.state.withLock { $0.damage = "SQLite finds it damaged" }
        try machine.put("more.example.com")
        #expect(machine.wait { machine.events.all.contains { if case .quarantined = $0 { true } else { false } } })
        #expect(machine.flush())
        machine.disk.stop()
        let next = try Machine(path)
        #expect(next.load() && names.allSatisfy { next.has($0) })
        next.disk.stop()
    }

    @Test func `rows that are out of order are damage: where the order is lost, no look-up finds anything`() throws {
        var bytes = try soundFile()
        // A page with rows of a table begins with 13. At byte 3 it has their count, from byte 8 on the place of each.
        for page in stride(from: 4_096, to: bytes.count, by: 4_096) where bytes[page] == 13 && bytes[page + 4] > 4 {
            for byte in [10, 11] { bytes.swapAt(page + byte, page + byte + 2) }
        }
        try clear()
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let machine = try Machine(path)
        #expect(machine.load())
        #expect(quarantined(machine) == ["answers are not as they were written"])
        machine.disk.stop()
    }

    /// The reasons for which files were quarantined.
    private func quarantined(_ machine: Machine) -> [String] {
        machine.events.all.compactMap { if case .quarantined(_, let reason) = $0 { reason } else { nil } }
    }

    @Test func `damage that no row shows is found in the background, and the file replaced with what memory has`()
        throws
    {
        var bytes = try soundFile()
        // A page of an index begins with 10. Byte 7 counts the bytes lost in gaps: no row is read from it.
        for page in stride(from: 4_096, to: bytes.count, by: 4_096) where bytes[page] == 10 { bytes[page + 7] += 1 }
        try clear()
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let machine = try Machine(path)
        #expect(machine.wait { quarantined(machine) == ["SQLite finds it damaged"] })
        #expect(machine.events.all.first == .loaded(count: names.count, isComplete: true))
        #expect(machine.load())
        machine.disk.stop()
        let next = try Machine(path)
        #expect(next.load() && names.allSatisfy { next.has($0) })
        // This file is sound.
        next.disk.stop()
        #expect(quarantined(next).isEmpty)
    }

    @Test func `a check that cannot be made finds nothing, and one of another kind of file does`() throws {
        let machine = try Machine(path)
        #expect(machine.load())
        let other = path + "-other"
        try Data("no database".utf8).write(to: URL(fileURLWithPath: other))
        for (place, isDamaged) in [(path, false), (path + "-none", false), (other, true)] {
            let events = Machine.Events()
            let check = try SoundnessCheck(place, system: nil) { events.add(.back) }
            #expect(machine.wait { check.hasEnded })
            #expect(events.all.isEmpty != isDamaged, "\(place)")
            // Has no effect after the end.
            check.stop()
        }
        machine.disk.stop()
    }

    @Test func `a file that turns bad again soon is not replaced again: it is the disk that is bad`() throws {
        try Data(garbage(100)).write(to: URL(fileURLWithPath: path))
        let machine = try Machine(path, retry: .milliseconds(5) ... .seconds(60))
        #expect(machine.load() && quarantined(machine).count == 1)
        machine.disk.shared.state.withLock { $0.damage = "SQLite finds it damaged" }
        try machine.put("www.example.com")
        #expect(machine.wait { machine.events.all.contains { if case .unavailable = $0 { true } else { false } } })
        #expect(quarantined(machine).count == 1)
        machine.disk.stop()
    }

    @Test func `damage that was found in a file does not count against the one that takes its place`() async throws {
        do { try AnswerFile(path).write(try stored("www.example.com")) }
        try #require(try ChildProcess.run(["sqlite3", path, "UPDATE answer SET checksum = 0"]).status == 0)
        let machine = try Machine(path, retry: .milliseconds(5) ... .seconds(60), loads: false)
        // The file is open from now on.
        _ = await machine.disk.states()
        // A look-up finds the file damaged, just after the check in the background did.
        await withCheckedContinuation { continuation in
            machine.disk.shared.state.withLock { shared in
                shared.damage = "found too late"
                shared.recalls.append(Recall(key: key("www.example.com").array, continuation))
            }
            machine.disk.shared.wake.post()
        }
        #expect(machine.wait { !quarantined(machine).isEmpty })
        // Damage is handled before anything else is written.
        try machine.put("b.example.com")
        #expect(machine.flush() && quarantined(machine) == ["read: a row is not as it was written"])
        #expect(!machine.events.all.contains { if case .unavailable = $0 { true } else { false } })
        machine.disk.stop()
    }

    @Test func `a look-up that is led to the answer of another name finds damage, and no wrong answer`() throws {
        let names = ["zero.example.com", "one.example.com", "two.example.com"]
        do {
            let file = try AnswerFile(path)
            for name in names { try file.write(try stored(name)) }
        }
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        // In the index the number of its row follows a name and the four bytes of the kind.
        for (name, id, other) in [(names[1], 2, 3), (names[2], 3, 2)] as [(String, UInt8, UInt8)] {
            let entry = try #require(bytes.firstRange(of: Array(name.utf8) + [1, 0, 1, 0, id]))
            bytes[entry.upperBound - 1] = other
        }
        try clear()
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let file = try AnswerFile(path)
        #expect(try file.answer(key(names[0]))?.name == name(names[0]))
        for name in names[1...] {
            let error = #expect(throws: SQLiteError.self) { try file.find(key(name).array) }
            #expect(error?.remedy == .replaceFile)
        }
    }

    @Test func `what sqlite3 shows is readable`() throws {
        _ = try soundFile()
        let outcome = try ChildProcess.run(
            [
                "sqlite3", path,
                "SELECT name, type, status, addresses, ttl, stored, fresh_until, source, route FROM answers LIMIT 1",
            ])
        #expect(
            outcome.output
                == "name-0.example.com|A|NOERROR|\(address(of: names[0]))|300|2027-01-15 08:00:00|2027-01-15 08:05:00|vendor one|protect\n"
        )
    }
}
