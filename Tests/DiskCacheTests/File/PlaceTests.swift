import DNSCache
import DNSWire
import Foundation
import Glibc
import Platform
import Synchronization
import TestSupport
import Testing

@testable import DiskCache

/// The file's path, and its use by several processes.
struct PlaceTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/state/cache.sqlite" }

    init() throws { directory = try TemporaryDirectory() }

    @Test func `the folder is made, and no other user may read what is in it`() throws {
        let machine = try Machine(path)
        #expect(machine.load())
        try machine.put("www.example.com")
        #expect(machine.flush())
        for name in try FileManager.default.contentsOfDirectory(atPath: directory.path + "/state") {
            var status = stat()
            #expect(stat(directory.path + "/state/" + name, &status) == 0 && status.st_mode & 0o077 == 0, "\(name)")
        }
    }

    @Test func `of two processes on one file the second one says so, works in memory, and takes over later`() throws {
        let first = try Machine(path)
        #expect(first.load())
        try first.put("www.example.com")
        let second = try Machine(path)
        #expect(second.wait { second.disk.status.state == .memoryOnly && !second.events.all.isEmpty })
        #expect(second.events.all == [.unavailable(reason: "another process uses \(path)")])
        try second.put("b.example.com")
        first.disk.stop()
        #expect(second.wait { second.events.all.contains(.back) } && second.load() && second.has("www.example.com"))
    }

    @Test func `a file that is left to another process is taken back, with what came meanwhile`() async throws {
        let first = try Machine(path)
        #expect(first.load())
        try first.put("www.example.com")
        await first.disk.pause(clock: ManualClock())
        try first.put("b.example.com")
        #expect(await !first.disk.settle(clock: ManualClock()))
        let second = try Machine(path)
        #expect(second.load() && second.has("www.example.com") && !second.has("b.example.com"))
        #expect(second.events.all == [.loaded(count: 1, isComplete: true)])
        second.disk.stop()
        first.disk.resume()
        #expect(await first.disk.settle(clock: ManualClock()))
        first.disk.stop()
        let third = try Machine(path)
        #expect(third.load() && third.has("www.example.com") && third.has("b.example.com"))
    }

    @Test func `what was learned is found also where the file can be opened only later`() async throws {
        let first = try Machine(path)
        first.disk.keep(StateRecord(.calls, "vendor", value: "12", storedAt: noon))
        #expect(first.flush())
        let second = try Machine(path, retry: .milliseconds(200) ... .milliseconds(200))
        #expect(second.wait { !second.events.all.isEmpty })
        async let found = second.disk.states()
        first.disk.stop()
        #expect(await found.map(\.value) == ["12"])
    }

    @Test func `a switch that was used while the clock was not set is found after the next restart`() async throws {
        let clock = TestClock()
        clock.set(100)
        let first = try Machine(path, clock: clock)
        first.disk.keep(StateRecord(.switchedOff, "httpdns", value: "off", storedAt: 100))
        #expect(first.flush())
        first.disk.stop()
        clock.set(noon)
        let second = try Machine(path, clock: clock)
        // The first record of a clock that is set has old ones removed.
        second.disk.keep(StateRecord(.calls, "vendor", value: "12", storedAt: noon))
        #expect(second.flush())
        second.disk.stop()
        let last = try Machine(path, clock: clock)
        #expect(await last.disk.states().contains { $0.kind == .switchedOff })
    }

    @Test func `a folder that vanishes is noticed, and all written again, also more bytes than may wait`() throws {
        // A shard of it has 32 MiB.
        let machine = try Machine(path, memory: 2 << 30)
        #expect(machine.load())
        func store(_ name: Name, _ bytes: Int) throws {
            let question = Question(name: name, type: .txt)
            let text = Record(name: name, type: .txt, ttl: 300, rdata: [UInt8](repeating: 1, count: bytes))
            let entry = CacheEntry(
                answer: try #require(PackedAnswer(Answer(answers: [text]), for: question)),
                storedAt: machine.clock.now, lifetime: 300, generation: 7, source: 0x8001)
            machine.memory.store(entry, for: QueryKey(question, dnssecOK: false, checkingDisabled: false))
        }
        for index in 0..<25_000 { try store(name("n\(index).example.com"), 1) }
        let together = machine.memory.walk(from: .start, slots: 1 << 20) { _ in true }.answers.map(\.name)
        machine.memory.removeAll()
        for name in together { try store(name, 60_000) }
        try FileManager.default.removeItem(atPath: directory.path + "/state")
        try machine.put("b.example.com")
        #expect(machine.wait { machine.events.all.contains(.back) } && machine.flush())
        machine.disk.stop(within: .patience)
        let file = try AnswerFile(path)
        #expect(together.count > 300)
        #expect(try together.allSatisfy { try file.answer(key($0.description, .txt)) != nil })
        #expect(try file.answer(key("b.example.com")) != nil)
    }

    @Test func `what was learned, whenever, is in the file that takes the place of one that vanished`() async throws {
        let first = try Machine(path)
        first.disk.keep(StateRecord(.switchedOff, "httpdns", value: "off", storedAt: noon))
        #expect(first.flush())
        first.disk.stop()
        let machine = try Machine(path)
        machine.disk.keep(StateRecord(.calls, "vendor", value: "12", storedAt: noon))
        machine.disk.keep(StateRecord(.badAddress, "192.0.2.1", value: "1", storedAt: noon))
        #expect(machine.flush() && machine.load())
        try FileManager.default.removeItem(atPath: directory.path + "/state")
        machine.disk.forget(.badAddress, "192.0.2.1")
        #expect(machine.wait { machine.events.all.contains(.back) } && machine.flush())
        machine.disk.stop()
        let next = try Machine(path)
        #expect(await next.disk.states().map(\.kind).sorted { $0.rawValue < $1.rawValue } == [.calls, .switchedOff])
    }

    @Test func `a file that cannot be reached is not said to be gone`() throws {
        let machine = try Machine(path)
        #expect(machine.load())
        let folder = directory.path + "/state"
        try FileManager.default.moveItem(atPath: folder, toPath: folder + ".old")
        try FileManager.default.createSymbolicLink(atPath: folder, withDestinationPath: folder)
        try machine.put("www.example.com")
        #expect(machine.wait { machine.disk.status.state == .memoryOnly })
        let reason = "stat \(path): Too many levels of symbolic links"
        #expect(machine.events.all.contains(.unavailable(reason: reason)), "\(machine.events.all)")
    }

    @Test func `where no folder can be made, one message reports it`() throws {
        let machine = try Machine("/proc/none/cache.sqlite")
        #expect(machine.wait { machine.disk.status.state == .memoryOnly && !machine.events.all.isEmpty })
        try machine.put("www.example.com")
        #expect(machine.has("www.example.com"))
        machine.disk.stop()
        #expect(machine.events.all.count == 1)
    }

    @Test func `another process's lock is waited for, and then done without`() throws {
        try FileManager.default.createDirectory(atPath: directory.path + "/state", withIntermediateDirectories: true)
        do { _ = try AnswerFile(path) }
        let machine: Machine
        do {
            let other = try SQLiteConnection(path)
            try other.execute("BEGIN IMMEDIATE")
            machine = try Machine(path)
            try machine.put("www.example.com")
            #expect(machine.wait { machine.disk.status.state == .memoryOnly })
            try other.execute("ROLLBACK")
        }
        #expect(machine.wait { machine.events.all.contains(.back) } && machine.flush())
    }

    @Test func `no file is mapped into memory, so none that is cut off while it is used ends the process`() throws {
        let first = try Machine(path)
        for index in 0..<2_000 { try first.put("n\(index).example.com") }
        #expect(first.flush())
        let machine = try first.restarted()
        try machine.put("www.example.com")
        #expect(machine.flush())
        let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
        #expect(!maps.contains(directory.path))
        for end in ["-shm", "-wal", ""] {
            _ = truncate(path + end, 0)
            try machine.put("after\(end).example.com")
            machine.disk.remove(key("n1.example.com"))
            #expect(machine.flush())
        }
        #expect(machine.has("www.example.com") && machine.has("after.example.com"))
        machine.disk.stop()
        // What is left may be damaged; it is read as far as it is sound.
        let next = try Machine(path)
        #expect(next.load())
    }

    @Test func `the file is read beside a server that writes into it, and nothing is left behind`() throws {
        let machine = try Machine(path)
        #expect(machine.load())
        let before = try FileManager.default.contentsOfDirectory(atPath: NSTemporaryDirectory()).filter(Self.isCopy)
        let end = Atomic<Bool>(false)
        try withExtendedLifetime(end) {
            let writer = try NamedThread("writer") { [machine] in
                var index = 0
                while !end.load(ordering: .acquiring), index < 200_000 {
                    try? machine.put("n\(index).example.com")
                    index += 1
                    if index % 100 == 0 { usleep(1_000) }
                }
            }
            defer { end.store(true, ordering: .releasing) }
            var counts: [Int] = []
            while (counts.last ?? 0) < 5_000, counts.count < 2_000 {
                var count = 0
                _ = try DiskReader(path).forEach(below: nil) { answer in
                    count += answer.answer.addresses == [address(of: answer.question.name.description)] ? 1 : -1_000_000
                    return true
                }
                counts.append(count)
            }
            #expect(counts.allSatisfy { $0 >= 0 } && counts == counts.sorted() && counts.last ?? 0 >= 5_000)
            _ = writer
        }
        machine.disk.stop()
        let after = try FileManager.default.contentsOfDirectory(atPath: NSTemporaryDirectory()).filter(Self.isCopy)
        #expect(Set(after).subtracting(before).isEmpty)
    }

    private static func isCopy(_ name: String) -> Bool { name.hasPrefix("httpdnsd-copy-") }

    @Test func `a file of a server that was killed is read with what is in its log alone, and stays as it is`() throws {
        try FileManager.default.createDirectory(atPath: directory.path + "/state", withIntermediateDirectories: true)
        let killed = path + "-killed"
        do {
            let file = try AnswerFile(path)
            try file.write(try stored("www.example.com"))
            for end in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + end, toPath: killed + end) }
        }
        let before = try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: killed + $0)) }
        #expect(before[1].count > 4_096)
        #expect(try DiskReader(killed).answers(of: name("www.example.com")).count == 1)
        #expect(try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: killed + $0)) } == before)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path + "/state")
        #expect(names.filter { $0.contains("killed") }.sorted() == ["cache.sqlite-killed", "cache.sqlite-killed-wal"])
    }

    @Test func `a path with any characters is read`() throws {
        let folder = directory.path + "/100% a?b#c&d=é"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let machine = try Machine(folder + "/cache.sqlite")
        try machine.put("www.example.com")
        #expect(machine.load() && machine.flush())
        machine.disk.stop()
        #expect(try DiskReader(folder + "/cache.sqlite").answers(of: name("www.example.com")).count == 1)
        let next = try Machine(folder + "/cache.sqlite")
        #expect(next.load() && next.has("www.example.com"))
    }

    @Test func `a cache that has stopped has nothing open any more`() throws {
        let first = try Machine(path)
        for index in 0..<2_000 { try first.put("n\(index).example.com") }
        first.disk.stop()
        for _ in 0..<20 {
            let machine = try Machine(path)
            #expect(machine.load())
            machine.disk.stop()
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
            }
            #expect(!open.contains { $0.hasPrefix(path) })
            #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        }
    }

    @Test(arguments: [S_IFIFO, S_IFDIR])
    func `a path that is a pipe or a folder is not touched`(kind: mode_t) throws {
        try FileManager.default.createDirectory(atPath: directory.path + "/state", withIntermediateDirectories: true)
        try #require((kind == S_IFIFO ? mkfifo(path, 0o600) : mkdir(path, 0o700)) == 0)
        let machine = try Machine(path)
        #expect(machine.wait { machine.disk.status.state == .memoryOnly })
        #expect(machine.disk.status.reason.contains("not a regular file"))
        machine.disk.stop()
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & S_IFMT == kind)
    }
}
