import DNSCache
import DNSWire
import Platform
import Synchronization
import TestSupport
import Testing

@testable import DiskCache

/// Answers that are read from the file one by one.
struct RecallTests {
    private let directory: TemporaryDirectory
    private let clock = TestClock()
    private var path: String { directory.path + "/cache.sqlite" }

    init() throws { directory = try TemporaryDirectory() }

    @Test func `a name that is not loaded is asked of the file itself`() async throws {
        try write(names(200), to: path, clock: clock)
        // No room for all of them.
        let machine = try Machine(path, clock: clock, memory: 12 << 10)
        #expect(machine.load() && machine.disk.mayRecall)
        let missing = try #require(names(200).first { !machine.has($0) })
        await machine.disk.recall(key(missing), clock: ManualClock())
        #expect(machine.has(missing))
        await machine.disk.recall(key("never.example.com"), clock: ManualClock())
        #expect(machine.memory.entry(for: key("never.example.com")) == nil)
    }

    @Test func `a look-up of one address family reads that of the other with it`() async throws {
        let first = try Machine(path, clock: clock)
        for type in [RecordType.a, .aaaa] { try first.put("www.example.com", type) }
        first.disk.stop()
        let machine = try Machine(path, clock: clock, loads: false)
        await machine.disk.recall(key("www.example.com", .aaaa), clock: ManualClock())
        #expect(machine.has("www.example.com", .aaaa) && machine.has("www.example.com"))
        #expect(machine.disk.status.loaded == 2)
    }

    @Test func `an answer that was removed does not come back while the other family is asked for`() async throws {
        let machine = try Machine(path)
        for type in [RecordType.a, .aaaa] { try machine.put("www.example.com", type) }
        #expect(machine.load() && machine.flush())
        // As the resolver removes a name: from the file, one key after the other from memory, once more from the file.
        machine.disk.remove(.name(name("www.example.com")))
        #expect(machine.flush())
        machine.memory.remove(key("www.example.com"))
        try machine.put("www.example.com")
        #expect(machine.flush())
        machine.memory.remove(key("www.example.com", .aaaa))
        machine.disk.hasMore.store(true, ordering: .releasing)
        await machine.disk.recall(key("www.example.com", .aaaa), clock: ManualClock())
        #expect(machine.has("www.example.com") && !machine.has("www.example.com", .aaaa))
    }

    @Test func `until it has to load, only the names that are asked for are read`() async throws {
        try write(names(200), to: path, clock: clock)
        let machine = try Machine(path, clock: clock, loads: false)
        await machine.disk.recall(key("n7.example.com"), clock: ManualClock())
        #expect(machine.has("n7.example.com") && machine.memory.statistics.entries == 1)
        machine.disk.load()
        #expect(machine.load())
        #expect(machine.memory.statistics.entries == 200)
    }

    @Test(arguments: [true, false])
    func `after the clock was set back, what the file has is of unknown age, however late it is asked for`(
        isOpen: Bool
    ) async throws {
        let first = try Machine(path, clock: clock)
        for index in 0..<200 { try first.put("n\(index).example.com", ttl: 30_000) }
        #expect(first.flush())
        clock.pass(200)
        try first.put("last.example.com", ttl: 30_000)
        first.disk.stop()
        if !isOpen { clock.set(noon + 100) }
        let machine = try Machine(path, clock: clock, memory: 12 << 10)
        #expect(machine.load())
        // While open: later than the stored answers, earlier than the last one. Before opening: in the end later than
        // all.
        if isOpen { clock.set(noon + 100) } else { clock.pass(1_000) }
        let missing = try #require(names(200).first { !machine.has($0) })
        await machine.disk.recall(key(missing), clock: ManualClock())
        #expect(machine.freshness(missing) == .stale(isYoung: false))
    }

    @Test func `what a clock ahead made too old is found again once the clock is right`() async throws {
        try write(["www.example.com"], to: path, clock: clock)
        clock.set(noon + RestartTests.year)
        let machine = try Machine(path, clock: clock)
        #expect(machine.load() && !machine.has("www.example.com"))
        try machine.put("a.example.com")
        #expect(machine.flush())
        clock.set(noon + 100)
        try machine.put("b.example.com")
        #expect(machine.flush() && machine.disk.mayRecall)
        await machine.disk.recall(key("www.example.com"), clock: ManualClock())
        #expect(machine.has("www.example.com"))
    }

    @Test func `once memory drives answers out, the file is asked for them`() throws {
        let machine = try Machine(path, memory: 12 << 10)
        #expect(machine.load() && !machine.disk.mayRecall)
        for index in 0..<200 { try machine.put("n\(index).example.com") }
        #expect(machine.flush() && machine.disk.mayRecall)
    }

    @Test func `under another policy the file may have what was not to be used before`() async throws {
        try write(["www.example.com"], to: path, clock: clock)
        let machine = try Machine(path, clock: clock, identity: identity(provider: "another vendor"))
        #expect(machine.load() && !machine.disk.mayRecall && !machine.has("www.example.com"))
        machine.disk.adopt(identity(), flushInterval: .milliseconds(2))
        #expect(machine.disk.mayRecall)
        await machine.disk.recall(key("www.example.com"), clock: ManualClock())
        #expect(machine.has("www.example.com"))
    }

    @Test(.onLoop) @Loop func `what a policy did not use is asked of the file under the next one`() async throws {
        try write(names(400), to: path, clock: clock)
        let machine = try Machine(path, clock: clock, identity: identity(provider: "another vendor"), loads: false)
        _ = await machine.disk.states()
        let gate = try Gate(clock, skipping: 1)
        machine.disk.load()
        await gate.reached()
        machine.disk.adopt(identity(), flushInterval: .milliseconds(2))
        gate.open()
        #expect(machine.load() && machine.disk.mayRecall)
        let missing = try #require(names(400).first { !machine.has($0) })
        await machine.disk.recall(key(missing), clock: ManualClock())
        #expect(machine.has(missing))
    }

    @Test(.onLoop) @Loop func `a question waits 100 ms for the disk, and no longer`() async throws {
        let (disk, clock) = (try silent(path), ManualClock())
        var isOver = false
        Loop.spawn {
            await disk.recall(key("www.example.com"), clock: clock)
            isOver = true
        }
        await clock.advance(by: .milliseconds(99))
        #expect(!isOver)
        await clock.advance(by: .milliseconds(1))
        #expect(isOver)
    }

    @Test(.onLoop) @Loop func `when too many wait for the disk, the next one does without it`() async throws {
        let (disk, clock) = (try silent(path), ManualClock())
        var over = 0
        func ask() {
            Loop.spawn {
                await disk.recall(key("www.example.com"), clock: clock)
                over += 1
            }
        }
        ask()
        await clock.advance(by: .zero)
        disk.state.withLock { $0.jobs += Array(repeating: $0.jobs[0], count: PendingChanges.limit - 2) }
        ask()
        await clock.advance(by: .zero)
        #expect(over == 0)
        ask()
        await clock.advance(by: .zero)
        #expect(over == 1)
        await clock.advance(by: DiskCache.patience)
        #expect(over == 3)
    }

    /// Holds the disk's thread where it reads the time of day the next time: in the look-up of a name that the file has, or
    /// in the loading of a page.
    private final class Gate: Sendable {
        private let opened: EventCounter
        private let isReached = Atomic(false)

        /// - Parameter skipped: how many times it is read before.
        init(_ clock: TestClock, skipping skipped: Int = 0) throws {
            opened = try EventCounter()
            clock.whenRead(skipping: skipped) { [self] in
                isReached.store(true, ordering: .releasing)
                opened.wait()
            }
        }

        @Loop func reached() async { await awaited { isReached.load(ordering: .acquiring) } }

        func open() { opened.post() }
    }

    /// A cache of which a file has `n0.example.com` to `n399.example.com`, and whose thread is held in the look-up of the
    /// first one.
    @Loop private func held(_ clock: TestClock) async throws -> (machine: Machine, gate: Gate) {
        try write(names(400), to: path, clock: clock)
        let machine = try Machine(path, clock: clock, flushInterval: .seconds(3_600), loads: false)
        await machine.disk.recall(key("never.example.com"), clock: ManualClock())
        let gate = try Gate(clock)
        Loop.spawn { await machine.disk.recall(key("n0.example.com"), clock: ManualClock()) }
        await gate.reached()
        return (machine, gate)
    }

    @Test(.onLoop) @Loop func `names whose clients have gone on without the disk are not looked up`() async throws {
        let time = ManualClock()
        let (machine, gate) = try await held(TestClock())
        var over = 0
        for index in 1..<400 {
            Loop.spawn {
                await machine.disk.recall(key("n\(index).example.com"), clock: time)
                over += 1
            }
        }
        await time.advance(by: DiskCache.patience)
        #expect(over == 399)
        gate.open()
        await machine.disk.recall(key("n7.example.com"), clock: ManualClock())
        #expect(machine.has("n7.example.com") && machine.disk.status.loaded == 2)
    }

    @Test(.onLoop) @Loop func `many names at once are found in the file, and a write waits for few`() async throws {
        let (time, clock) = (ManualClock(), TestClock())
        let (machine, gate) = try await held(clock)
        let disk = machine.disk
        var over = 0
        for index in 1..<400 {
            Loop.spawn {
                await disk.recall(key("n\(index).example.com"), clock: time)
                over += 1
            }
        }
        await time.advance(by: .zero)
        let second = try Gate(clock)
        gate.open()
        await second.reached()
        let events = machine.events
        @Sendable func value() -> String {
            events.add(.loaded(count: disk.status.loaded, isComplete: false))
            return "off"
        }
        disk.adopt(identity(), flushInterval: .zero)
        disk.keep(StateRecord(.switchedOff, "httpdns", value: value(), storedAt: noon))
        second.open()
        await awaited { over == 399 }
        #expect((0..<400).allSatisfy { machine.has("n\($0).example.com") })
        #expect(machine.events.all == [.loaded(count: 129, isComplete: false)])
        disk.stop()
    }

    @Test(.onLoop) @Loop func `the first queries wait 1 s for a disk that hangs, and no longer`() async throws {
        let (disk, clock) = (try silent(path), ManualClock())
        var isOver = false
        Loop.spawn {
            await disk.warm(clock: clock)
            isOver = true
        }
        await clock.advance(by: .milliseconds(999))
        #expect(!isOver)
        await clock.advance(by: .milliseconds(1))
        #expect(isOver)
    }

    @Test func `the first queries wait until the answers of the last process are loaded`() async throws {
        try write(names(200), to: path, clock: clock)
        let machine = try Machine(path, clock: clock, loads: false)
        await machine.disk.warm(clock: ManualClock())
        #expect(machine.memory.statistics.entries == 200)
    }

    /// What becomes of others while the answers of the last process are being loaded before the server answers.
    @Test(.onLoop, arguments: ["records", "a name", "a write", "the end"]) @Loop
    func `what is loaded before the first queries keeps nothing else waiting`(matter: String) async throws {
        let (time, clock) = (ManualClock(), TestClock())
        try write(names(600), to: path, clock: clock)
        let machine = try Machine(path, clock: clock, flushInterval: .seconds(3_600), loads: false)
        let disk = machine.disk
        await disk.recall(key("never.example.com"), clock: ManualClock())
        let gate = try Gate(clock)
        var isWarm = false
        Loop.spawn {
            await disk.warm(clock: time)
            isWarm = true
        }
        await gate.reached()
        var isDone = false
        if matter == "the end" {
            disk.state.withLock { $0.isStopping = true }
            disk.wake.post()
        } else {
            Loop.spawn {
                switch matter {
                case "records": _ = await disk.states()
                case "a name": await disk.recall(key("n7.example.com"), clock: ManualClock())
                default: _ = await disk.settle(clock: ManualClock())
                }
                isDone = true
            }
        }
        await time.advance(by: .zero)
        // The first page is being read; the fourth one waits, and the third where something else reads the clock.
        let later = try Gate(clock, skipping: 2)
        gate.open()
        await awaited { isDone || disk.state.withLock { $0.hasEnded } }
        #expect(disk.status.loaded < 600)
        later.open()
        await awaited { isWarm }
        disk.stop()
    }

    @Test func `they wait neither for a policy nor for a file that cannot be read`() async throws {
        // Without a policy nothing is loaded.
        let machine = try Machine(path, identity: nil, loads: false)
        await machine.disk.warm(clock: ManualClock())
        let other = try Machine(path, loads: false)
        await other.disk.warm(clock: ManualClock())
        #expect(other.disk.status.state == .memoryOnly)
        for each in [machine, other] { each.disk.stop() }
    }

    @Test(.onLoop) @Loop func `no question waits for a disk that has stopped`() async throws {
        let (machine, clock) = (try Machine(path), ManualClock())
        machine.disk.stop()
        machine.disk.adopt(identity(), flushInterval: .milliseconds(2))
        var over = 0
        Loop.spawn {
            await machine.disk.recall(key("www.example.com"), clock: clock)
            over += 1
        }
        Loop.spawn {
            #expect(await machine.disk.states().isEmpty)
            over += 1
        }
        await clock.advance(by: .zero)
        #expect(over == 2)
    }

    @Test func `what memory got in the meantime is not replaced by what the file has`() async throws {
        try write(["www.example.com"], to: path, clock: clock, ttl: 100)
        let machine = try Machine(path, clock: clock, loads: false)
        let newer = try entry("www.example.com", at: clock.now, ttl: 77)
        machine.memory.store(newer, for: key("www.example.com"))
        await machine.disk.recall(key("www.example.com"), clock: ManualClock())
        machine.disk.load()
        #expect(machine.load() && machine.disk.status.loaded == 0)
        #expect(machine.memory.entry(for: key("www.example.com"))?.lifetime == 77)
    }

    @Test func `an answer of the file is prefetched as any other, one of our own rules is not read`() throws {
        let first = try Machine(path, clock: clock)
        try first.put("answer.example.com")
        try first.put("rule.example.com", source: 0)
        let machine = try first.restarted()
        #expect(machine.memory.entry(for: key("answer.example.com"))?.refreshMargin == 30)
        #expect(machine.memory.entry(for: key("rule.example.com")) == nil)
    }

    @Test(arguments: ["policy one", "policy two"])
    func `what was stored in an earlier network is recalled as of that network`(digest: String) throws {
        try write(["old.example.com"], to: path, clock: clock)
        let machine = try Machine(path, clock: clock, loads: false)
        clock.pass(10)
        var present = identity(digest, generation: 9)
        (present.networkBegan, present.earlierNetwork) = (clock.now, 8)
        machine.disk.adopt(present, flushInterval: .milliseconds(2))
        clock.pass(10)
        try machine.put("new.example.com")
        #expect(machine.flush())
        let last = try machine.restarted(identity: present)
        #expect(last.memory.entry(for: key("old.example.com"))?.generation == 8)
        #expect(last.has("new.example.com"))
    }
}
