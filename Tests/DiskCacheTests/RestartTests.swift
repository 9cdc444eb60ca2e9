import DNSCache
import DNSWire
import Dispatch
import Foundation
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import DiskCache

/// One instance writes the file, the next one reads it.
struct RestartTests {
    private let directory: TemporaryDirectory
    private let clock = TestClock()
    private var path: String { directory.path + "/cache.sqlite" }

    init() throws { directory = try TemporaryDirectory() }

    /// In seconds.
    static let year: Int64 = 365 * 86_400

    @Test func `what one process learned, the next one knows`() throws {
        try write(["www.example.com", "a.example.com"], to: path, clock: clock)
        let machine = try Machine(path, clock: clock)
        #expect(machine.load() && machine.has("www.example.com") && machine.has("a.example.com"))
        #expect(machine.events.all == [.loaded(count: 2, isComplete: true)])
    }

    @Test func `the time in between counts, whatever the boot clock says`() throws {
        try write(["www.example.com"], to: path, clock: clock)
        clock.pass(100)
        clock.restart()
        let machine = try Machine(path, clock: clock)
        #expect(machine.load() && machine.freshness("www.example.com") == .fresh(remaining: 200))
        machine.disk.stop()
        clock.pass(300)
        let later = try Machine(path, clock: clock)
        #expect(later.load() && later.freshness("www.example.com") == .stale(isYoung: true))
    }

    @Test func `what is past its staleness is not loaded`() throws {
        try write(["www.example.com"], to: path, clock: clock)
        clock.pass(40_000)
        let machine = try Machine(path, clock: clock)
        #expect(machine.load() && machine.freshness("www.example.com") == nil)
    }

    /// Later than the first answer but not than the second; and where there is no clock.
    @Test(arguments: [noon + 20, 12])
    func `with a clock that was set back, or without one, everything is there and nothing is fresh`(
        time: Int64
    ) throws {
        try write(["www.example.com"], to: path, clock: clock)
        clock.pass(50)
        try write(["b.example.com"], to: path, clock: clock)
        clock.set(time)
        let machine = try Machine(path, clock: clock)
        #expect(machine.load())
        for name in ["www.example.com", "b.example.com"] {
            #expect(machine.freshness(name) == .stale(isYoung: false))
        }
    }

    @Test(arguments: [false, true])
    func `what was written before the clock was set back stays stale, what comes after is fresh`(restarts: Bool) throws
    {
        var machine = try Machine(path, clock: clock)
        try machine.put("www.example.com")
        #expect(machine.flush())
        if restarts { machine.disk.stop() }
        clock.set(noon - 1_000)
        if restarts { machine = try Machine(path, clock: clock) }
        try machine.put("b.example.com", ttl: 3_000)
        machine.disk.stop()
        clock.pass(1_100)
        let last = try Machine(path, clock: clock)
        #expect(last.load())
        #expect(last.freshness("www.example.com") == .stale(isYoung: false))
        #expect(last.freshness("b.example.com") == .fresh(remaining: 1_900))
    }

    @Test func `a small step of the clock back between two writes makes nothing stale`() throws {
        let machine = try Machine(path, clock: clock)
        for name in ["www.example.com", "b.example.com"] {
            try machine.put(name)
            #expect(machine.load() && machine.flush())
            clock.pass(10)
        }
        clock.set(noon + 5)
        try machine.put("c.example.com")
        let next = try machine.restarted()
        #expect(next.freshness("www.example.com") == .fresh(remaining: 280))
        #expect(next.freshness("b.example.com") == .fresh(remaining: 290))
    }

    @Test(arguments: [false, true])
    func `what was written without a clock is stale once there is one, also where the file is opened only later`(
        isHeld: Bool
    ) throws {
        clock.set(12)
        try write(["www.example.com"], to: path, clock: clock)
        clock.set(noon)
        var other = isHeld ? try SQLiteConnection(path) : nil
        try other?.execute("BEGIN IMMEDIATE")
        let machine = try Machine(path, clock: clock)
        if isHeld { #expect(machine.wait { machine.disk.status.state == .memoryOnly }) }
        other = nil
        #expect(machine.load() && machine.freshness("www.example.com") == .stale(isYoung: false))
    }

    @Test func `one start under a clock that is a year ahead costs nothing`() async throws {
        let first = try Machine(path, clock: clock)
        try first.put("www.example.com")
        first.disk.keep(StateRecord(.serviceAddresses, "vendor", value: "192.0.2.1", storedAt: noon))
        first.disk.stop()
        clock.set(noon + Self.year)
        let ahead = try Machine(path, clock: clock)
        #expect(ahead.load() && !ahead.has("www.example.com"))
        // The second write comes after the file was read completely: from then on old answers are removed.
        for name in ["a.example.com", "b.example.com"] {
            try ahead.put(name)
            #expect(ahead.flush())
        }
        ahead.disk.keep(StateRecord(.calls, "vendor", value: "1", storedAt: noon + Self.year))
        ahead.disk.stop()
        clock.set(noon + 100)
        let machine = try Machine(path, clock: clock)
        #expect(machine.load())
        #expect(machine.freshness("www.example.com") == .stale(isYoung: false))
        #expect(await machine.disk.states().contains { $0.kind == .serviceAddresses })
    }

    @Test(arguments: [12, noon - year, noon + year])
    func `what was stored under a wrong clock is as old as it is once the clock is right`(wrong: Int64) throws {
        clock.set(wrong)
        let first = try Machine(path, clock: clock)
        try first.put("www.example.com")
        #expect(first.flush())
        clock.pass(20)
        clock.set(noon)
        try first.put("a.example.com")
        first.disk.stop()
        clock.pass(100)
        let machine = try Machine(path, clock: clock)
        #expect(machine.load() && machine.freshness("www.example.com") == .fresh(remaining: 180))
    }

    @Test(arguments: [false, true], [3_700, year])
    func `after a while under a clock that was behind, what was asked before and meanwhile is there, and not fresh`(
        restartsMeanwhile: Bool, behind: Int64
    ) async throws {
        var machine = try Machine(path, clock: clock)
        for index in 0..<9 { try machine.put("n\(index).example.com", ttl: 60) }
        #expect(machine.load() && machine.flush())
        clock.set(noon - behind)
        try machine.put("meanwhile.example.com", ttl: 60)
        #expect(machine.flush())
        if restartsMeanwhile {
            machine.disk.stop()
            machine = try Machine(path, clock: clock)
            try machine.put("later.example.com", ttl: 60)
            #expect(machine.load() && machine.flush())
        }
        machine.disk.stop()
        clock.set(noon + 400)
        // Nothing can be asked, and the server starts again and again.
        for _ in 0..<3 {
            let after = try Machine(path, clock: clock)
            #expect(after.load())
            for name in (0..<9).map({ "n\($0).example.com" }) + ["meanwhile.example.com"] {
                guard case .stale? = after.freshness(name) else {
                    Issue.record("\(name): \(String(describing: after.freshness(name)))")
                    continue
                }
            }
            after.disk.keep(StateRecord(.calls, "vendor", value: "1", storedAt: noon))
            #expect(after.flush())
            after.disk.keep(StateRecord(.calls, "vendor", value: "2", storedAt: noon))
            after.disk.stop()
            clock.pass(10)
        }
    }

    @Test func `what was written while the clock was behind is removed once too old by the later time`() throws {
        var machine = try Machine(path, clock: clock)
        try machine.put("www.example.com", ttl: 60)
        #expect(machine.load() && machine.flush())
        clock.set(noon - Self.year)
        try machine.put("meanwhile.example.com", ttl: 60)
        #expect(machine.flush())
        machine.disk.stop()
        clock.set(noon)
        machine = try Machine(path, clock: clock)
        #expect(machine.load() && machine.has("meanwhile.example.com"))
        try machine.put("other.example.com")
        machine.disk.stop()
        clock.pass(30 * 86_400)
        // Time without a server counts for the removal only once it was written.
        for name in ["c", "d"] {
            machine = try Machine(path, clock: clock)
            #expect(machine.load())
            try machine.put("\(name).example.com")
            if name == "c" { machine.disk.stop() }
        }
        for name in ["a", "b"] {
            try machine.put("\(name).example.com")
            #expect(machine.flush())
        }
        machine.disk.stop()
        let file = try AnswerFile(path)
        #expect(try file.answer(key("www.example.com")) == nil && file.answer(key("meanwhile.example.com")) == nil)
        #expect(try file.answer(key("a.example.com")) != nil)
    }

    /// An answer, by its source (2: LocalDNS) and route (2: always LocalDNS), and the policy of the next process.
    struct Judged: Sendable {
        let what: String
        var source: UInt16 = 0x8001
        var route: UInt16 = 0
        let next: PolicyIdentity
        let isUsed: Bool
    }

    @Test(arguments: [
        Judged(what: "of a source that is gone", next: identity(provider: "another vendor"), isUsed: false),
        Judged(what: "of a name that has another route now", next: identity(route: 2), isUsed: false),
        Judged(what: "of a name that is answered here now", next: identity(preset: "www.example.com"), isUsed: false),
        Judged(what: "of LocalDNS, of a protected name, same policy", source: 2, next: identity(), isUsed: true),
        Judged(what: "the same, another policy", source: 2, next: identity("policy two"), isUsed: false),
        Judged(
            what: "of a name that always goes to LocalDNS, another policy", source: 2, route: 2,
            next: identity("policy two", route: 2), isUsed: true),
    ])
    func `an answer is used only where its source would be asked today`(judged: Judged) throws {
        let first = try Machine(path, clock: clock, identity: identity(route: judged.route))
        try first.put("www.example.com", source: judged.source, route: judged.route)
        let machine = try first.restarted(identity: judged.next)
        #expect(machine.has("www.example.com") == judged.isUsed, "\(judged.what)")
    }

    @Test func `a source is known again under another number`() throws {
        try write(["www.example.com"], to: path, clock: clock)
        let machine = try Machine(path, clock: clock, identity: identity(tag: 0x8005, generation: 1))
        #expect(machine.load())
        let entry = machine.memory.entry(for: key("www.example.com"))
        #expect(entry?.source == 0x8005 && entry?.generation == 1)
    }

    @Test func `under another policy an answer is decided again`() throws {
        try write(["www.example.com"], to: path, clock: clock)
        let other = try Machine(path, clock: clock, identity: identity("policy two"))
        #expect(other.load())
        #expect(other.memory.entry(for: key("www.example.com")).map { $0.generation != 7 } == true)
    }

    @Test func `LocalDNS's answer for a protected name under a policy that was replaced meanwhile is not used`() throws
    {
        let first = try Machine(path, clock: clock)
        first.disk.store(
            try entry("www.example.com", at: clock.now, source: 2, generation: 6), for: key("www.example.com"))
        let machine = try first.restarted()
        #expect(machine.memory.statistics.entries == 0)
    }

    @Test(arguments: [
        AnswerRemoval.all, .name(name("www.example.com")), .suffix(name("example.com")),
        .holding(address(of: "www.example.com")),
    ])
    func `what was flushed does not come back`(removal: AnswerRemoval) throws {
        try write(["www.example.com"], to: path, clock: clock)
        let second = try Machine(path, clock: clock)
        #expect(second.load())
        second.disk.remove(removal)
        let machine = try second.restarted()
        #expect(machine.memory.statistics.entries == 0)
    }

    @Test(arguments: [10, 1_000 - noon])
    func `an answer is as old as it is although that of the other address family changed under another clock`(
        start: Int64
    ) throws {
        let first = try Machine(path, clock: clock)
        for type in [RecordType.a, .aaaa] { try first.put("www.example.com", type, ttl: 86_400) }
        first.disk.stop()
        // Ten hours later the clock goes on from the shutdown, or begins near 1970, until it is set.
        clock.set(noon + start)
        let second = try Machine(path, clock: clock)
        #expect(second.load())
        clock.set(noon + 36_000)
        try second.put("www.example.com", ttl: 86_400)
        second.disk.stop()
        #expect(try AnswerFile(path).answer(key("www.example.com"))?.head.storedAt == noon + 36_000)
        clock.set(noon + 30 * 3_600)
        let third = try Machine(path, clock: clock)
        #expect(third.load())
        #expect(third.freshness("www.example.com") == .fresh(remaining: 86_400 - 20 * 3_600))
        guard case .stale? = third.freshness("www.example.com", .aaaa) else {
            Issue.record("\(String(describing: third.freshness("www.example.com", .aaaa)))")
            return
        }
    }

    @Test func `of all that memory has both address families of a name are written, and each alone`() throws {
        let machine = try Machine(path, memory: 64 << 20)
        #expect(machine.load())
        let names = (0..<3_000).map { "n\($0).example.com" }
        for name in names {
            for type in [RecordType.a, .aaaa] {
                machine.memory.store(try entry(name, type, at: machine.clock.now), for: key(name, type))
            }
        }
        let six = key("six.example.com", .aaaa)
        machine.memory.store(try entry("six.example.com", .aaaa, at: machine.clock.now), for: six)
        machine.disk.state.withLock { $0.pending.needsAll = true }
        try machine.put("four.example.com")
        #expect(machine.flush())
        machine.disk.stop()
        let file = try AnswerFile(path)
        for name in names { #expect(try file.find(key(name).array).count == 2) }
        #expect(try file.answer(six) != nil)
        #expect(try file.answer(key("four.example.com")) != nil)
    }

    @Test func `after all was removed, new answers are of known age, though the clock was set back before`() throws {
        try write(names(50), to: path, clock: clock)
        clock.set(noon - 3_600)
        let second = try Machine(path, clock: clock)
        #expect(second.load())
        second.disk.remove(.all)
        second.memory.removeAll()
        try second.put("www.example.com")
        let third = try second.restarted()
        #expect(third.freshness("www.example.com") == .fresh(remaining: 300))
    }

    @Test func `the newest answers are the ones that are loaded when memory is small`() throws {
        // Answers written in one transaction have no order.
        for half in [0..<2_000, 2_000..<4_000] { try write(half.map { "n\($0).example.com" }, to: path, clock: clock) }
        let machine = try Machine(path, clock: clock, memory: 12 << 10)
        #expect(machine.load())
        let held = (0..<4_000).filter { machine.has("n\($0).example.com") }
        #expect(!held.isEmpty && held.allSatisfy { $0 >= 2_000 })
    }

    @Test func `the file stays within its limit, and the newest answers stay`() throws {
        let machine = try Machine(path, clock: clock, memory: 64 << 20, limit: DiskCache.smallestLimit)
        for batch in 0..<40 {
            for index in 0..<500 { try machine.put("n\(batch * 500 + index).example.com") }
            #expect(machine.flush())
        }
        machine.disk.stop()
        let file = try AnswerFile(path)
        #expect(try file.size() <= Int64(DiskCache.smallestLimit) + 256 * 1_024)
        #expect(try !file.find(key("n19999.example.com").array).isEmpty)
        #expect(try file.find(key("n0.example.com").array).isEmpty)
    }

    @Test func `what grew past its staleness while no server ran is removed once a server has run as long`() throws {
        try write(names(50), to: path, clock: clock, ttl: 1)
        clock.pass(10_000)
        let machine = try Machine(path, clock: clock)
        #expect(machine.load())
        try machine.put("www.example.com")
        #expect(machine.flush())
        clock.pass(4_000)
        try machine.put("www.example.com")
        machine.disk.stop()
        let file = try AnswerFile(path)
        #expect(try file.find(key("n7.example.com").array).isEmpty)
        #expect(try !file.find(key("www.example.com").array).isEmpty)
    }

    @Test func `what grows past its staleness while the server runs is removed too`() throws {
        let machine = try Machine(path, clock: clock)
        for index in 0..<50 { try machine.put("n\(index).example.com", ttl: 1) }
        #expect(machine.flush())
        clock.pass(10_000)
        try machine.put("www.example.com")
        #expect(machine.flush())
        machine.disk.stop()
        let file = try AnswerFile(path)
        #expect(try file.find(key("n7.example.com").array).isEmpty)
        #expect(try !file.find(key("www.example.com").array).isEmpty)
    }

    @Test func `space that is not used any more is returned to the file system`() throws {
        let file = try AnswerFile(path)
        let text = String(repeating: "x", count: 4_000)
        try file.connection.transaction { () throws(SQLiteError) in
            for index in 0..<1_500 {
                try file.connection.write(StateRecord(.journal, "n\(index)", value: text, storedAt: noon))
            }
        }
        let full = try #require(try file.connection.integer("PRAGMA page_count"))
        try file.connection.execute("DELETE FROM state")
        #expect(try file.connection.integer("PRAGMA page_count") == full)
        try file.shrink()
        #expect(try file.connection.integer("PRAGMA page_count") ?? full <= full - 1_000)
    }

    @Test func `many changes do not wait until the interval is over`() throws {
        let machine = try Machine(path, flushInterval: .seconds(1_000))
        for index in 0...PendingChanges.limit / 2 { try machine.put("n\(index).example.com") }
        #expect(machine.wait { machine.disk.status.written > 0 })
    }

    @Test func `few changes wait for the interval, and are written once it is over`() async throws {
        let machine = try Machine(path, flushInterval: .seconds(1_000))
        #expect(machine.load())
        try machine.put("www.example.com")
        // The thread writes after the first response, if it is due, and before the second.
        for _ in 0..<2 { _ = await machine.disk.states() }
        #expect(machine.disk.status.written == 0)
        machine.disk.adopt(identity(), flushInterval: .milliseconds(1))
        #expect(machine.flush() && machine.disk.status.written == 1)
    }

    @Test(arguments: ["PRAGMA user_version = 2", "PRAGMA application_id = 1"])
    func `a file of another version, or of another program, is not read without the server`(change: String) throws {
        try write(["www.example.com"], to: path)
        _ = try DiskReader(path)
        try #require(try ChildProcess.run(["sqlite3", path, change]).status == 0)
        #expect(throws: DiskReaderError.self) { try DiskReader(path) }
    }

    @Test func `a stop does not wait forever for a disk that hangs`() throws {
        let hang = DispatchSemaphore(value: 0)
        try Data("no database".utf8).write(to: URL(fileURLWithPath: path))
        let disk = try DiskCache(path, limit: 0, memory: MemoryCache(memory: 1 << 20), clock: TestClock().wall) { _ in
            hang.wait()
        }
        let begin = ContinuousClock.now
        disk.stop(within: .milliseconds(100))
        #expect(ContinuousClock.now - begin >= .milliseconds(100))
        for _ in 0..<8 { hang.signal() }
    }

    @Test func `records of state come back, and removed ones do not`() async throws {
        let first = try Machine(path, clock: clock)
        let records = StateRecord.Kind.allCases.filter(\.isLearned).map {
            StateRecord($0, "vendor", value: "192.0.2.1", storedAt: noon)
        }
        for record in records { first.disk.keep(record) }
        first.disk.keep(StateRecord(.calls, "gone", value: "1", storedAt: noon))
        #expect(first.flush())
        first.disk.forget(.calls, "gone")
        // Too long a value is not stored, and takes the place of nothing.
        let long = String(repeating: "x", count: 5_000)
        for name in ["long", "vendor"] {
            first.disk.keep(StateRecord(.journal, name, value: long, storedAt: noon))
        }
        first.disk.keep(StateRecord(.journal, "made too long", value: long, storedAt: noon))
        first.disk.stop()
        let second = try Machine(path, clock: clock)
        let found = await second.disk.states()
        #expect(found.map(\.text).sorted() == records.map(\.text).sorted())
    }

    @Test func `the value of a record that is replaced before it is written is not made`() async throws {
        let made = Mutex<[Int]>([])
        let machine = try Machine(path, flushInterval: .seconds(60))
        for number in 0..<3 {
            @Sendable func value() -> String {
                made.withLock { $0.append(number) }
                return "\(number)"
            }
            machine.disk.keep(StateRecord(.calls, "vendor", value: value(), storedAt: noon))
        }
        machine.disk.stop()
        #expect(made.withLock { $0 } == [2])
        let next = try Machine(path)
        #expect(await next.disk.states().map(\.value) == ["2"])
    }

    @Test func `records that are too old or too many are removed, and of a removed kind all`() async throws {
        let first = try Machine(path, clock: clock)
        first.disk.keep(StateRecord(.calls, "old", value: "1", storedAt: noon - StateRecord.Kind.calls.lifetime - 1))
        for index in 0..<300 {
            first.disk.keep(StateRecord(.journal, "n\(index)", value: "1", storedAt: noon - Int64(index)))
        }
        first.disk.keep(StateRecord(.checkVerdict, "before", value: "1", storedAt: noon))
        #expect(first.flush())
        first.disk.forgetAll(.checkVerdict)
        first.disk.keep(StateRecord(.checkVerdict, "after", value: "1", storedAt: noon))
        first.disk.stop()
        let second = try Machine(path, clock: clock)
        let found = await second.disk.states()
        second.disk.stop()
        #expect(found.filter { $0.kind == .calls }.isEmpty)
        let journal = Set(found.filter { $0.kind == .journal }.map(\.name))
        #expect(journal == Set((0..<256).map { "n\($0)" }))
        #expect(found.filter { $0.kind == .checkVerdict }.map(\.name) == ["after"])
    }

    @Test func `records stay within their limit also while the clock is not set`() throws {
        clock.set(100)
        let machine = try Machine(path, clock: clock)
        for batch in 0..<4 {
            for index in 0..<4_000 {
                machine.disk.keep(StateRecord(.checkVerdict, "n\(batch) \(index)", value: "1", storedAt: 100))
            }
            #expect(machine.flush())
        }
        machine.disk.stop()
        #expect(try AnswerFile(path).connection.integer("SELECT count(*) FROM state") ?? 0 <= 5_200)
    }

    @Test func `opening a file writes nothing: the first answer waits for no sync`() throws {
        try write(["www.example.com"], to: path)
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let machine = try Machine(path)
        #expect(machine.load() && machine.has("www.example.com"))
        let log = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
        #expect(log == 0)
        machine.disk.stop()
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test func `a reader of the file reports damaged answers, and returns the others`() throws {
        let written = names(300)
        try write(written, to: path)
        do {
            try SQLiteConnection(path).execute("UPDATE answer SET value = zeroblob(60) WHERE id = 8")
        }
        var found: [String] = []
        #expect(throws: DiskReaderError.self) {
            _ = try DiskReader(path).forEach(below: nil) { answer in
                found.append(answer.question.name.description)
                return true
            }
        }
        #expect(found.count == 299 && Set(found).isSubset(of: written))
    }
}
