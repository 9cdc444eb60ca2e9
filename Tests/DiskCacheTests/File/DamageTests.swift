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
struct DamageTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/cache.sqlite" }
    private let names = (0..<300).map { "name-\($0).example.com" }

    init() throws { directory = try TemporaryDirectory() }

    /// The bytes of a sound file with answers and state.
    private func soundFile() throws -> [UInt8] {
        do {
            let file = try AnswerFile(path)
            try file.connection.transaction { () throws(SQLiteError) in
                for name in names {
                    guard let row = try? stored(name) else { continue }
                    try file.write(row)
                }
                try file.connection.write(StateRecord(.calls, "vendor", value: "12", storedAt: noon))
                try file.connection.write(StateRecord(.clock, "", value: "0 0", storedAt: noon))
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
            #expect(record.text == "calls vendor \(noon) 12", "\(what)")
        }
        try machine.put("new.example.com")
        #expect(machine.flush(), "\(what)")
        let next = try machine.restarted()
        #expect(next.has("new.example.com"), "\(what)")
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
    }

    @Test func `a file whose header is lost while it is used is still ours: it is replaced`() async throws {
        _ = try soundFile()
        let machine = try Machine(path, loads: false)
        _ = await machine.disk.states()
        try spoil(path)
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.write(contentsOf: Data(count: 100))
        try file.close()
        machine.disk.load()
        try machine.put("b.example.com")
        #expect(machine.wait { machine.quarantined.count == 1 } && machine.flush())
        let next = try machine.restarted()
        #expect(next.has("b.example.com"))
    }

    @Test(arguments: [0, 2, 4, 99])
    func `a file of another format is moved away, once`(version: Int) throws {
        _ = try soundFile()
        try #require(try ChildProcess.run(["sqlite3", path, "PRAGMA user_version = \(version)"]).status == 0)
        let machine = try Machine(path)
        #expect(machine.load() && machine.memory.statistics.entries == 0)
        let reason = "it has format \(version), and this program's is 1"
        #expect(machine.events.all == [.quarantined(path: path + ".damaged", reason: reason)])
        try machine.put("www.example.com")
        let next = try machine.restarted()
        #expect(next.has("www.example.com") && next.quarantined.isEmpty)
    }

    @Test func `a trigger in a file does nothing, and without a table it is replaced`() throws {
        let evil = "CREATE TRIGGER evil AFTER INSERT ON answer BEGIN DELETE FROM answer; END"
        for (change, isReplaced) in [(evil, false), ("DROP TABLE state", true), ("DROP TABLE answer", true)] {
            try clear()
            _ = try soundFile()
            try #require(try ChildProcess.run(["sqlite3", path, change]).status == 0)
            let machine = try Machine(path)
            #expect(machine.load() && machine.has(names[0]) != isReplaced)
            #expect(machine.quarantined.count == (isReplaced ? 1 : 0))
            try machine.put("www.example.com")
            machine.disk.stop()
            #expect(try AnswerFile(path).answer(key("www.example.com")) != nil)
            #expect(try isReplaced || AnswerFile(path).answer(key(names[0])) != nil)
        }
    }

    @Test func `a file that turns bad while it is used is replaced with what memory has`() async throws {
        _ = try soundFile()
        let machine = try Machine(path, loads: false)
        // The file is open from now on.
        _ = await machine.disk.states()
        for name in names { machine.memory.store(try entry(name, at: machine.clock.now), for: key(name)) }
        try spoil(path)
        try machine.put("more.example.com")
        machine.disk.load()
        #expect(machine.wait { !machine.quarantined.isEmpty })
        #expect(machine.flush())
        let next = try machine.restarted()
        #expect(names.allSatisfy { next.has($0) } && next.has("more.example.com"))
        #expect(await next.disk.states().map(\.text) == ["calls vendor \(noon) 12"])
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
        #expect(machine.quarantined.count == 1)
    }

    @Test func `a file that turns bad again soon is not replaced again: it is the disk that is bad`() throws {
        try Data(garbage(100)).write(to: URL(fileURLWithPath: path))
        let machine = try Machine(path, memory: 64 << 20, retry: .milliseconds(5) ... .seconds(60), loads: false)
        // More than SQLite keeps of the file in memory.
        for index in 0..<20_000 { try machine.put("n\(index).example.com") }
        #expect(machine.flush() && machine.quarantined.count == 1)
        for end in ["", "-wal"] { try spoil(path + end) }
        machine.disk.load()
        #expect(machine.wait { machine.events.all.contains { if case .unavailable = $0 { true } else { false } } })
        #expect(machine.quarantined.count == 1)
    }

    @Test func `a look-up that is led to the answer of another name finds none`() throws {
        let names = ["zero.example.com", "one.example.com", "two.example.com"]
        do {
            let file = try AnswerFile(path)
            for name in names { try file.write(try stored(name)) }
        }
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        // In the index the number of its row follows a question.
        for (name, id, other) in [(names[1], 2, 3), (names[2], 3, 2)] as [(String, UInt8, UInt8)] {
            let entry = try #require(bytes.firstRange(of: key(name).array + [id]))
            bytes[entry.upperBound - 1] = other
        }
        try clear()
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let file = try AnswerFile(path)
        #expect(try file.answer(key(names[0]))?.question.name == name(names[0]))
        for name in names[1...] { #expect(try file.find(key(name).array).isEmpty) }
    }
}
