import CSQLiteFaults
import DNSCache
import DNSWire
import Foundation
import Glibc
import TestSupport
import Testing

@testable import DiskCache

/// How SQLite is used: the consequences of its errors for the file, and what a file may not make it do.
struct SQLiteTests {
    /// Primary result codes of SQLite by number, which are part of its interface.
    @Test(arguments: [
        (3, "PERM"), (5, "BUSY"), (6, "LOCKED"), (7, "NOMEM"), (8, "READONLY"), (9, "INTERRUPT"), (10, "IOERR"),
        (13, "FULL"), (14, "CANTOPEN"), (15, "PROTOCOL"), (22, "NOLFS"), (23, "AUTH"), (266, "IOERR_READ"),
    ])
    func `an error of the place does not affect the file`(code: Int32, name: String) {
        #expect(!SQLiteError(code, on: nil).isDamage, "\(name)")
    }

    @Test(arguments: [
        (1, "ERROR"), (11, "CORRUPT"), (17, "SCHEMA"), (18, "TOOBIG"), (19, "CONSTRAINT"), (20, "MISMATCH"),
        (24, "FORMAT"), (25, "RANGE"), (26, "NOTADB"), (267, "CORRUPT_VTAB"),
    ])
    func `an error of the file has it replaced`(code: Int32, name: String) {
        #expect(SQLiteError(code, on: nil).isDamage, "\(name)")
    }

    @Test func `no trigger runs, and no value is longer than an answer can be`() throws {
        let connection = try SQLiteConnection(":memory:")
        try connection.execute(
            """
            CREATE TABLE a (x); CREATE TABLE b (x);
            CREATE TRIGGER evil AFTER INSERT ON a BEGIN INSERT INTO b VALUES (1); END;
            INSERT INTO a VALUES (1);
            """)
        #expect(try connection.integer("SELECT count(*) FROM a") == 1)
        #expect(try connection.integer("SELECT count(*) FROM b") == 0)
        #expect(try connection.integer("SELECT length(zeroblob(100000))") == 100_000)
        #expect(throws: SQLiteError.self) {
            try connection.integer("SELECT length(zeroblob(600000))")
        }
    }
}

/// A disk on which calls fail. One test at a time, since the plan of faults is shared by the process.
@Suite(.serialized)
struct FaultTests {
    private let directory: TemporaryDirectory
    /// The folder in which calls fail.
    private var folder: String { directory.path + "/faulty" }
    private var path: String { folder + "/cache.sqlite" }

    init() throws {
        directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try #require(csqlite_faults_register() == 0)
        csqlite_faults_plan(0, 0)
    }

    /// Runs one instance that writes, and another one that reads and writes; checks all answers.
    ///
    /// - Parameter failing: the first call that fails, with all after it; nil: none fails.
    private func live(_ path: String, failing: Int? = nil) async throws {
        let clock = TestClock()
        let first = try Machine(path, clock: clock)
        for index in 0..<20 { try first.put("n\(index).example.com") }
        first.disk.keep(StateRecord(.calls, "vendor", value: "3", storedAt: noon))
        first.disk.stop()
        let second = try Machine(path, clock: clock)
        #expect(second.wait { [.used, .memoryOnly].contains(second.disk.status.state) })
        for index in 0..<20 where second.memory.entry(for: key("n\(index).example.com")) != nil {
            #expect(second.has("n\(index).example.com"))
        }
        await second.disk.recall(key("n3.example.com"), clock: ManualClock())
        #expect(second.memory.entry(for: key("n3.example.com")) == nil || second.has("n3.example.com"))
        let isFailing = failing.map { Int(csqlite_faults_calls()) >= $0 } ?? false
        try second.put("later.example.com")
        if isFailing { #expect(second.wait { second.disk.status.state == .memoryOnly }) }
        second.disk.remove(.name(name("n4.example.com")))
    }

    /// Ends the faults, and checks that everything works again with the file that is left.
    private func recovers(_ path: String, _ what: String) throws {
        csqlite_faults_plan(0, 0)
        let machine = try Machine(path)
        #expect(machine.load(), "\(what): \(machine.events.all)")
        for index in 0..<20 where machine.memory.entry(for: key("n\(index).example.com")) != nil {
            #expect(machine.has("n\(index).example.com"), "\(what)")
        }
        try machine.put("again.example.com")
        #expect(machine.flush(), "\(what)")
        let next = try machine.restarted()
        #expect(next.has("again.example.com"), "\(what)")
    }

    @Test(arguments: [1, 1_000_000])
    func `whichever call fails, once or always, answers stay right and the disk comes back`(count: Int) async throws {
        csqlite_faults_plan(0, 0)
        try await live(folder + "/none.sqlite")
        let calls = Int(csqlite_faults_calls())
        #expect(calls > 50)
        for failing in stride(from: 1, through: calls, by: isThorough ? 1 : 7) {
            let path = folder + "/\(count)-\(failing).sqlite"
            csqlite_faults_plan(Int32(failing), Int32(count))
            try await live(path, failing: count > 1 ? failing : nil)
            try recovers(path, "call \(failing) of \(calls)")
        }
    }

    @Test func `while a disk fails all goes on in memory with one message, and is so afterwards`() async throws {
        let clock = TestClock()
        let machine = try Machine(path, clock: clock)
        let names = ["by-key.example.com", "by-name.example.com", "stored.example.com"]
        for name in names { try machine.put(name) }
        #expect(machine.flush() && machine.load())
        csqlite_faults_plan(1, 1_000_000_000)
        for name in names.dropLast() { machine.memory.remove(key(name)) }
        machine.disk.remove(key(names[0]))
        machine.disk.remove(.name(name(names[1])))
        machine.disk.keep(StateRecord(.calls, "vendor", value: "3", storedAt: noon))
        #expect(machine.wait { machine.disk.status.state == .memoryOnly })
        try machine.put("later.example.com")
        let calls = csqlite_faults_calls()
        #expect(machine.wait { csqlite_faults_calls() > calls + 10 })
        #expect(machine.events.all.count { if case .unavailable = $0 { true } else { false } } == 1)
        csqlite_faults_plan(0, 0)
        #expect(machine.wait { machine.events.all.contains(.back) } && machine.flush())
        let next = try machine.restarted()
        #expect(next.has("later.example.com"))
        #expect(names.filter { next.has($0) } == ["stored.example.com"])
        #expect(await next.disk.states().map(\.value) == ["3"])
    }

    @Test func `a failing disk is tried again however often, and never later than after the longest pause`() throws {
        csqlite_faults_plan(1, 1_000_000_000)
        let machine = try Machine(path, retry: .milliseconds(1) ... .milliseconds(2))
        // An attempt is one call or a few. Pauses doubled without a limit would be minutes by then.
        #expect(machine.wait { csqlite_faults_calls() > 200 })
        csqlite_faults_plan(0, 0)
        #expect(machine.load())
    }

    @Test func `an error while answers are read is no damage: they are read from the same file later`() async throws {
        let written = names(300)
        let clock = TestClock()
        let first = try Machine(path, clock: clock)
        for name in written { try first.put(name) }
        first.disk.stop()
        let machine = try Machine(path, clock: clock, loads: false)
        // The file is open from now on.
        _ = await machine.disk.states()
        csqlite_faults_plan(1, 1)
        machine.disk.load()
        #expect(machine.wait { machine.events.all.contains(.back) } && machine.load())
        #expect(written.allSatisfy { machine.has($0) })
        #expect(machine.quarantined.isEmpty)
    }

    @Test func `what waits is written in one transaction`() throws {
        let machine = try Machine(path, flushInterval: .seconds(1_000))
        #expect(machine.load())
        for index in 0..<200 { try machine.put("n\(index).example.com") }
        csqlite_faults_plan(0, 0)
        machine.disk.stop()
        // A transaction takes several calls for each page that it changes.
        #expect((1..<300).contains(csqlite_faults_calls()))
    }
}
