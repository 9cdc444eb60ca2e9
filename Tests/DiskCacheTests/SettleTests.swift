import DNSCache
import DNSWire
import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import DiskCache

/// Callers that wait until what they changed is in the file.
struct SettleTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/cache.sqlite" }

    init() throws { directory = try TemporaryDirectory() }

    /// What the next process would find if this one were killed now.
    private func found() throws -> AnswerFile {
        let copy = try TemporaryDirectory()
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: copy.path + "/cache.sqlite" + suffix)
        }
        let file = try AnswerFile(copy.path + "/cache.sqlite")
        return file
    }

    @Test func `a change is in the file once its caller goes on, however long the interval is`() async throws {
        let machine = try Machine(path, flushInterval: .seconds(3_600))
        try machine.put("www.example.com")
        machine.disk.keep(StateRecord(.switchedOff, "httpdns", value: "off", storedAt: noon))
        #expect(await machine.disk.settle(clock: ManualClock()))
        #expect(try found().connection.records().values.filter(\.kind.isLearned).map(\.kind) == [.switchedOff])
        #expect(try found().answer(key("www.example.com")) != nil)
        machine.disk.forget(.switchedOff, "httpdns")
        machine.disk.remove(.name(name("www.example.com")))
        #expect(await machine.disk.settle(clock: ManualClock()))
        #expect(try found().connection.records().values.filter(\.kind.isLearned).isEmpty)
        #expect(try found().answer(key("www.example.com")) == nil)
    }

    @Test func `where nothing has changed since, the caller goes on at once`() async throws {
        let clock = TestClock()
        let machine = try Machine(path, clock: clock, flushInterval: .seconds(3_600))
        #expect(machine.load())
        #expect(await machine.disk.settle(clock: ManualClock()))
        let readings = clock.readings
        #expect(await machine.disk.settle(clock: ManualClock()))
        #expect(clock.readings == readings)
    }

    @Test(.onLoop) @Loop func `callers that come while the disk is busy are served by one write`() async throws {
        let clock = TestClock()
        let machine = try Machine(path, clock: clock, flushInterval: .seconds(3_600))
        await awaited { machine.disk.status.state == .used }
        let opened = DispatchSemaphore(value: 0)
        let isReached = Atomic(false)
        clock.whenRead {
            isReached.store(true, ordering: .releasing)
            opened.wait()
        }
        try machine.put("a.example.com")
        var outcomes: [Bool] = []
        func settle() { Loop.spawn { outcomes.append(await machine.disk.settle(clock: ManualClock())) } }
        settle()
        await awaited { isReached.load(ordering: .acquiring) }
        let readings = clock.readings
        try machine.put("b.example.com")
        for _ in 0..<50 { settle() }
        await awaited { machine.disk.state.withLock { $0.jobs.count == 50 } }
        opened.signal()
        await awaited { outcomes.count == 51 }
        #expect(outcomes.allSatisfy(\.self) && machine.disk.status.written == 2)
        // The one that was held, and the one for all others.
        #expect(clock.readings == readings + 2)
    }

    @Test func `what waits for the interval still does when no caller waits`() async throws {
        let machine = try Machine(path, flushInterval: .seconds(3_600))
        #expect(machine.load())
        try machine.put("a.example.com")
        #expect(await machine.disk.settle(clock: ManualClock()))
        try machine.put("b.example.com")
        #expect(machine.disk.status.written == 1)
        machine.disk.stop()
        #expect(try AnswerFile(path).answer(key("b.example.com")) != nil)
    }

    @Test func `what changed before a wait is written when it ends, whatever the thread does`() async throws {
        let machine = try Machine(path, flushInterval: .seconds(3_600))
        #expect(machine.load())
        for number in 1...500 {
            try machine.put("a\(number).example.com")
            #expect(await machine.disk.settle(clock: ManualClock()))
            #expect(machine.disk.status.written == number)
        }
    }

    @Test func `a file that cannot be used is no reason to wait`() async throws {
        let machine = try Machine("/proc/none/cache.sqlite", retry: .seconds(3_600) ... .seconds(3_600))
        machine.disk.keep(StateRecord(.switchedOff, "httpdns", value: "off", storedAt: noon))
        #expect(await !machine.disk.settle(clock: ManualClock()))
        machine.disk.stop()
        #expect(await !machine.disk.settle(clock: ManualClock()))
    }

    @Test(.onLoop) @Loop func `a disk that does nothing is waited for during 2 s`() async throws {
        let (disk, clock) = (try silent(path), ManualClock())
        var outcome: Bool?
        Loop.spawn { outcome = await disk.settle(clock: clock) }
        await clock.advance(by: .milliseconds(1_999))
        #expect(outcome == nil)
        await clock.advance(by: .milliseconds(1))
        #expect(outcome == false)
    }
}
