import DNSCache
import DNSWire
import Scheduling
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import DiskCache

/// The contents of a file are read like a message from the network: each row is checked, whatever wrote it.
@Suite struct RowTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/cache.sqlite" }

    init() throws { directory = try TemporaryDirectory() }

    /// Writes rows and records in an instance that then ends.
    private func write(_ rows: [StoredAnswer], _ records: [StateRecord] = []) throws {
        let file = try AnswerFile(path)
        try file.transaction { () throws(SQLiteError) in
            for row in rows { try file.write(row) }
            for record in records { try file.write(record) }
            try file.write(AnswerFile.ClockMark(latest: noon, distrusted: 0))
        }
    }

    private func change(_ sql: String) throws {
        let outcome = try ChildProcess.run(["sqlite3", path, sql])
        try #require(outcome.status == 0, "\(outcome.errors)")
    }

    /// The reasons for which files were quarantined.
    private func reasons(_ machine: Machine) -> [String] {
        machine.events.all.compactMap { if case .quarantined(_, let reason) = $0 { reason } else { nil } }
    }

    @Test(arguments: [
        "id = -5", "name = 'b..example.com'", "kind = kind | (1 << 40)", "kind = -kind", "kind = kind + (1 << 24)",
        "kind = kind + (27 << 24)", "kind = kind + (1 << 8)", "kind = kind | 4", "kind = kind | 1",
        "stored = stored + 1",
        "stored = NULL", "facts = NULL", "facts = facts & ~1048575", "facts = -facts", "facts = facts + 1",
        "facts = facts | 1048575", "facts = (facts & ~(262143 << 27)) | (77 << 27)",
        "facts = (facts & ~(262143 << 45)) | (77 << 45)", "facts = facts | (3 << 25)", "facts = facts | (1 << 25)",
        "facts = facts | (5 << 21)", "facts = facts | (1 << 20)", "body = NULL", "body = x''", "body = x'0001'",
        "body = x'000100000000'", "checksum = checksum + 1", "stored6 = stored, facts6 = facts, body6 = body",
        "stored6 = stored, facts6 = facts, body6 = body, stored = NULL, facts = NULL, body = NULL",
    ])
    func `a row that is not as it was written is left out, and a new file has the others`(change: String) throws {
        try write(["a.example.com", "b.example.com", "c.example.com"].map { try stored($0) })
        try self.change("UPDATE answer SET \(change) WHERE name = 'b.example.com'")
        let machine = try Machine(path)
        #expect(machine.load())
        #expect(machine.memory.statistics.entries == 2)
        #expect(machine.has("a.example.com") && machine.has("c.example.com"))
        #expect(reasons(machine) == ["answers are not as they were written"])
        machine.disk.stop()
        let next = try Machine(path)
        #expect(next.load() && next.memory.statistics.entries == 2)
        #expect(next.has("a.example.com") && next.has("c.example.com") && reasons(next).isEmpty)
        next.disk.stop()
    }

    @Test func `a lifetime beyond what can be configured is rejected, whatever its checksum says`() throws {
        try write([
            try stored("a.example.com", ttl: UInt32(StoredRange.ttls.upperBound)),
            try stored("b.example.com", ttl: UInt32(StoredRange.ttls.upperBound) + 1),
        ])
        let machine = try Machine(path)
        #expect(machine.load() && machine.has("a.example.com") && !machine.has("b.example.com"))
        machine.disk.stop()
    }

    @Test(arguments: [Int64.min, -1 << 40, 1 << 40, .max])
    func `a time of storing that no clock shows is rejected, whatever its checksum says`(seconds: Int64) throws {
        try write([try stored("a.example.com"), try stored("b.example.com", at: seconds)])
        let read = Mutex<[Name]>([])
        #expect(throws: DiskReaderError.self) {
            _ = try DiskReader(path).forEach(below: nil) { answer in
                read.withLock { $0.append(answer.name) }
                return true
            }
        }
        #expect(read.withLock { $0 } == [name("a.example.com")])
        let machine = try Machine(path)
        #expect(machine.load() && machine.has("a.example.com") && !machine.has("b.example.com"))
        #expect(reasons(machine) == ["answers are not as they were written"])
        machine.disk.stop()
    }

    @Test(arguments: [Int64.min, 0, 1 << 62, .max])
    func `the row of a number that is never given is left out, and a new file has the others`(id: Int64) throws {
        try write(["a.example.com", "b.example.com", "c.example.com"].map { try stored($0) })
        try change("UPDATE answer SET id = \(id) WHERE name = 'b.example.com'")
        let machine = try Machine(path)
        #expect(machine.load() && machine.memory.statistics.entries == 2)
        #expect(machine.has("a.example.com") && machine.has("c.example.com"))
        #expect(reasons(machine) == ["answers are not as they were written"])
        machine.disk.stop()
    }

    @Test(arguments: [27, 45], [Int64.min, 0, 262_144, .max])
    func `of a file in which a text has a number that is never given, nothing is used`(place: Int, id: Int64)
        throws
    {
        try write([try stored("a.example.com")])
        try change(
            "UPDATE identity SET id = \(id) WHERE id = (SELECT facts >> \(place) & 262143 FROM answer)")
        let machine = try Machine(path, identity: identity("policy two", provider: "vendor two"))
        try machine.put("b.example.com")
        #expect(machine.flush() && machine.has("b.example.com") && !machine.has("a.example.com"))
        #expect(reasons(machine).count == 1)
        machine.disk.stop()
    }

    @Test(arguments: [Int64.min, -1 << 40, 1 << 40, .max])
    func `of a file whose last time of writing no clock shows, nothing is used`(seconds: Int64) throws {
        for mark in [
            AnswerFile.ClockMark(latest: seconds, distrusted: 0),
            AnswerFile.ClockMark(latest: noon, distrusted: seconds > 1 << 53 || seconds < 0 ? seconds : .max),
        ] {
            let path = directory.path + "/\(mark.latest)-\(mark.distrusted).sqlite"
            do { try AnswerFile(path).write(mark) }
            let machine = try Machine(path)
            #expect(machine.load() && reasons(machine).count == 1)
            machine.disk.stop()
        }
    }

    @Test(arguments: [Int64.min, -1 << 40, 1 << 40, .max])
    func `of a file with a record of a time that no clock shows, nothing is used`(seconds: Int64) async throws {
        try write([], [StateRecord(.calls, "vendor", value: "12", storedAt: seconds)])
        let machine = try Machine(path)
        #expect(machine.load() && reasons(machine).count == 1)
        #expect(await machine.disk.states().isEmpty)
        machine.disk.stop()
    }

    @Test func `a record's TTL beyond what can be configured is rejected, whatever its checksum says`() throws {
        let longest = UInt32(StoredRange.ttls.upperBound)
        var long = try stored("b.example.com", ttl: longest + 1)
        long.lifetime = 300
        try write([try stored("a.example.com", ttl: longest), long])
        let machine = try Machine(path)
        #expect(machine.load() && machine.has("a.example.com") && !machine.has("b.example.com"))
        machine.disk.stop()
    }

    @Test(arguments: [Int64.min, .max])
    func `a clock that shows an impossible time is taken as the nearest possible time`(seconds: Int64) throws {
        let clock = TestClock()
        clock.set(seconds)
        let machine = try Machine(path, clock: clock)
        let entry = try entry("www.example.com", at: clock.now - .seconds(10))
        machine.memory.store(entry, for: key("www.example.com"))
        machine.disk.store(entry, for: key("www.example.com"))
        #expect(machine.flush() && machine.load())
        machine.disk.stop()
        let next = try Machine(path, clock: clock)
        #expect(next.load() && next.has("www.example.com") && reasons(next).isEmpty)
        next.disk.stop()
    }

    @Test(arguments: [
        "UPDATE state SET value = '13' WHERE kind = 'calls'",
        "UPDATE state SET stored = stored - 1 WHERE kind = 'clock'",
        "UPDATE state SET value = '1' WHERE kind = 'clock'", "UPDATE state SET name = 'other' WHERE kind = 'clock'",
        "UPDATE identity SET text = hex(zeroblob(300)) || id",
    ])
    func `of a file whose records or texts are not as they were written, nothing is used`(change: String) async throws {
        try write([try stored("a.example.com")], [StateRecord(.calls, "vendor", value: "12", storedAt: noon)])
        try self.change(change)
        let machine = try Machine(path)
        #expect(machine.load() && machine.memory.statistics.entries == 0)
        #expect(await machine.disk.states().isEmpty)
        #expect(reasons(machine).count == 1)
        machine.disk.stop()
    }

    @Test func `a record longer than any that is written is rejected, whatever its checksum says`() async throws {
        let text = String(repeating: "x", count: StateRecord.longestValue + 1)
        try write([], [StateRecord(.journal, "long", value: text, storedAt: noon)])
        let machine = try Machine(path)
        #expect(machine.load())
        #expect(await machine.disk.states().isEmpty)
        #expect(reasons(machine).count == 1)
        machine.disk.stop()
    }

    @Test func `the age of an answer is neither below zero nor so large that it wraps`() throws {
        let now = TestClock().now
        let row = try stored("www.example.com")
        func freshness(after seconds: Int64) -> Freshness? {
            let reading = WallClock.Reading(now: now, secondsSince1970: noon + seconds)
            return row.entry(identity(), reading, isClockSound: true)?.freshness(at: now, FreshnessPolicy())
        }
        #expect(freshness(after: 100) == .fresh(remaining: 200))
        #expect(freshness(after: -100) == .stale(isYoung: false))
        #expect(freshness(after: Int64(Int32.max) + 100) == .dead)
    }
}
