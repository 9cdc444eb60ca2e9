import DNSCache
import TestSupport
import Testing

@testable import DiskCache

/// Answers that are asked of the file one by one.
@Suite struct RecallTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/cache.sqlite" }

    init() throws {
        directory = try TemporaryDirectory()
        // These tests block their thread, and ask on the loop's.
        _ = LoopRunner.shared
    }

    @Test func `a name that is not loaded is asked of the file itself`() async throws {
        let clock = TestClock()
        let first = try Machine(path, clock: clock)
        for index in 0..<200 { try first.put("n\(index).example.com") }
        first.disk.stop()
        // No room for all.
        let machine = try Machine(path, clock: clock, memory: 12 << 10)
        #expect(machine.load() && machine.disk.mayRecall)
        let missing = try #require((0..<200).map { "n\($0).example.com" }.first { !machine.has($0) })
        await machine.disk.recall(key(missing), clock: ManualClock())
        #expect(machine.has(missing))
        await machine.disk.recall(key("never.example.com"), clock: ManualClock())
        #expect(machine.memory.entry(for: key("never.example.com")) == nil)
        machine.disk.stop()
    }

    @Test func `until it is told to load, only the names that are asked for are read`() async throws {
        let clock = TestClock()
        let first = try Machine(path, clock: clock)
        for index in 0..<200 { try first.put("n\(index).example.com") }
        first.disk.stop()
        let machine = try Machine(path, clock: clock, loads: false)
        await machine.disk.recall(key("n7.example.com"), clock: ManualClock())
        #expect(machine.has("n7.example.com") && machine.memory.statistics.entries == 1)
        machine.disk.load()
        #expect(machine.load())
        #expect(machine.memory.statistics.entries == 200)
        machine.disk.stop()
    }
}
