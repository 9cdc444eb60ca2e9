import DNSCache
import DNSWire
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import DiskCache

/// The contents of a file are read like a message from the network: each row is checked, whatever wrote it.
struct RowTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/cache.sqlite" }

    init() throws { directory = try TemporaryDirectory() }

    /// Writes rows and records in an instance that then ends.
    private func write(_ rows: [StoredAnswer], _ records: [StateRecord] = []) throws {
        let file = try AnswerFile(path)
        try file.connection.transaction { () throws(SQLiteError) in
            for row in rows { try file.write(row) }
            for record in records { try file.connection.write(record) }
            try file.connection.write(StateRecord(.clock, "", value: "0 0", storedAt: noon))
        }
    }

    private func change(_ sql: String) throws {
        let outcome = try ChildProcess.run(["sqlite3", path, sql])
        try #require(outcome.status == 0, "\(outcome.errors)")
    }

    /// Changes of a value that begins with a head, by what its SQL is.
    private static func replaced(_ at: Int, _ bytes: String) -> String {
        "value = CAST(substr(value, 1, \(at - 1)) || x'\(bytes)' || substr(value, \(at + bytes.count / 2)) AS BLOB)"
    }

    @Test(
        arguments: [
            "question = x'00'", "question = x''", "question = zeroblob(300)",
            "question = CAST(question || x'00' AS BLOB)",
            "question = CAST(substr(question, 1, length(question) - 1) || x'01' AS BLOB)",
            "value = x''", "value = x'0001'", "value = zeroblob(43)", "value = CAST(value || x'00' AS BLOB)",
            "value = CAST(substr(value, 1, 35) AS BLOB)", "value = (SELECT value FROM answer WHERE id = 1)",
        ] + (1...40).map { replaced($0, "fe") })
    func `a row that is not as it was written is a miss, and the others are used`(change: String) async throws {
        try write(["a.example.com", "b.example.com", "c.example.com"].map { try stored($0) })
        try self.change("UPDATE answer SET \(change) WHERE id = 2")
        let machine = try Machine(path)
        #expect(machine.load())
        #expect(machine.memory.statistics.entries == 2)
        #expect(machine.has("a.example.com") && machine.has("c.example.com"))
        machine.disk.hasMore.store(true, ordering: .releasing)
        await machine.disk.recall(key("b.example.com"), clock: ManualClock())
        #expect(machine.memory.statistics.entries == 2 && machine.quarantined.isEmpty)
        try machine.put("b.example.com")
        let next = try machine.restarted()
        #expect(["a", "b", "c"].allSatisfy { next.has($0 + ".example.com") })
    }

    @Test func `a value is checked whatever its checksum says`() throws {
        let longest = AnswerHead.lifetimes.upperBound
        var rows = [
            try stored("longest.example.com", ttl: longest),
            // A lifetime beyond what can be configured, a time that no clock shows.
            try stored("lifetime.example.com", ttl: longest + 1),
            try stored("time.example.com", at: WallClock.range.upperBound + 1),
        ]
        func add(_ name: String, ttl: UInt32 = 300, _ change: (inout AnswerHead) -> Void) throws {
            var row = try stored(name + ".example.com", ttl: ttl)
            change(&row.head)
            rows.append(row)
        }
        try add("ttl", ttl: longest + 1) { $0.lifetime = 300 }
        try add("negative") { $0.isNegative = true }
        try add("zero") { $0.lifetime = 0 }
        try add("count") { $0.counts.answer = 2 }
        try add("code") { $0.responseCode = .refused }
        try write(rows)
        var names: [Name] = []
        #expect(throws: DiskReaderError.self) {
            _ = try DiskReader(path).forEach(below: nil) { answer in
                names.append(answer.question.name)
                return true
            }
        }
        #expect(names == [name("longest.example.com")])
        let file = try AnswerFile(path)
        #expect(try rows.map { try file.answer($0.key) != nil } == [true] + [Bool](repeating: false, count: 7))
    }

    @Test(arguments: [
        "value = value || '1'", "value = replace(value, '12', '13')", "value = ''", "value = ' '", "key = 'calls'",
        "key = 'calls other'", "key = 'fleet_calls vendor'", "key = 'other vendor'",
    ])
    func `a record that is not as it was written is not used, and the answers are`(change: String) async throws {
        try write([try stored("a.example.com")], [StateRecord(.calls, "vendor", value: "12", storedAt: noon)])
        try self.change("UPDATE state SET \(change) WHERE key LIKE 'calls%'")
        let machine = try Machine(path)
        #expect(machine.load() && machine.freshness("a.example.com") == .fresh(remaining: 300))
        #expect(await machine.disk.states().isEmpty)
        #expect(machine.quarantined.isEmpty)
    }

    @Test(arguments: ["1", "-1 0", "65536 0", "0 -1", "0 9223372036854775807", "0 0 0", ""])
    func `where the mark of the clock makes no sense, no age is known`(text: String) async throws {
        try write([try stored("a.example.com")])
        try AnswerFile(path).connection.write(StateRecord(.clock, "", value: text, storedAt: noon))
        let machine = try Machine(path)
        #expect(machine.load() && machine.freshness("a.example.com") == .stale(isYoung: false))
        #expect(machine.quarantined.isEmpty)
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
        let next = try machine.restarted()
        #expect(next.has("www.example.com") && next.quarantined.isEmpty)
    }

    @Test func `the age of an answer is neither below zero nor so large that it wraps`() throws {
        let now = TestClock().now
        let (row, mark) = (try stored("www.example.com"), try mark())
        func freshness(after seconds: Int64) -> Freshness? {
            let reading = WallClock.Reading(now: now, secondsSince1970: noon + seconds)
            let age = mark.age(of: row.head, at: reading, usefulness: .max / 2)
            return row.entry(identity(), now, age: age)?.freshness(at: now, FreshnessPolicy())
        }
        #expect(freshness(after: 100) == .fresh(remaining: 200))
        #expect(freshness(after: -100) == .stale(isYoung: false))
        #expect(freshness(after: Int64(Int32.max) + 100) == .dead)
    }
}
