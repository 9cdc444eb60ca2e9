import DNSCache
import DNSWire
import Dispatch
import Foundation
import Glibc
import Platform
import Synchronization
import TestSupport
import Testing

@testable import DiskCache

/// Whether every call and many bits are tested; otherwise a sample is. Set by continuous integration.
let isThorough = ProcessInfo.processInfo.environment["HTTPDNSD_THOROUGH"] == "1"

func name(_ text: String) -> Name { (try? Name(text)) ?? .root }

/// The time of day at which the tests begin, and the boot clock's time then.
let noon: Int64 = 1_800_000_000
let bootSeconds: Int64 = 5_000

/// Both clocks, set by a test.
final class TestClock: Sendable {
    private let state = Mutex((day: noon, boot: bootSeconds, readings: 0))
    private let reader = Mutex<(@Sendable () -> Void)?>(nil)

    /// Advances both.
    func pass(_ seconds: Int64) {
        state.withLock { state in
            state.day += seconds
            state.boot += seconds
        }
    }

    /// Sets the time of day only.
    func set(_ seconds: Int64) { state.withLock { $0.day = seconds } }

    /// Restarts the boot clock, as the machine's restart does.
    func restart() { state.withLock { $0.boot = 10 } }

    /// Runs `body` when the time of day is read the next time, on the reading thread.
    ///
    /// - Parameter skipped: how many times it is read before.
    func whenRead(skipping skipped: Int = 0, _ body: @escaping @Sendable () -> Void) {
        reader.withLock { $0 = skipped > 0 ? { [self] in whenRead(skipping: skipped - 1, body) } : body }
    }

    /// How many times the time of day was read.
    var readings: Int { state.withLock { $0.readings } }

    var now: Instant { Instant(nanoseconds: state.withLock { $0.boot } * 1_000_000_000) }

    var wall: WallClock {
        WallClock(
            now: { self.now },
            secondsSince1970: {
                self.reader.withLock { $0.take() }?()
                return self.state.withLock { state in
                    state.readings += 1
                    return state.day
                }
            })
    }
}

/// A policy with one provider (number 0x8001) and LocalDNS (2).
///
/// - Parameters:
///   - route: of all names.
///   - preset: a name that is answered without a source.
func identity(
    _ digest: String = "policy one", provider: String = "vendor one", tag: UInt16 = 0x8001, generation: UInt32 = 7,
    route: UInt16 = 0, preset: String? = nil
) -> PolicyIdentity {
    let preset = preset.map { name($0) }
    return PolicyIdentity(
        sources: [2: "localdns", tag: provider], standIns: [2], digest: digest, generation: generation,
        route: { question, _ in question.name == preset ? nil : route })
}

/// An answer of one address that is derived from the name.
func answer(_ text: String, _ type: RecordType = .a, ttl: UInt32 = 300) -> PackedAnswer? {
    PackedAnswer(
        Answer(name: name(text), addresses: [address(of: text, type)], ttl: ttl),
        for: Question(name: name(text), type: type))
}

func address(of text: String, _ type: RecordType = .a) -> IPAddress {
    let number = name(text).wire.reduce(UInt32(17)) { ($0 &* 31) &+ UInt32($1) }
    return type == .a ? .v4(number) : .v6(UInt128(number))
}

func key(_ text: String, _ type: RecordType = .a) -> QueryKey {
    QueryKey(Question(name: name(text), type: type), dnssecOK: false, checkingDisabled: false)
}

/// An entry as the resolver would store it.
func entry(
    _ text: String, _ type: RecordType = .a, at now: Instant, ttl: UInt32 = 300, source: UInt16 = 0x8001,
    route: UInt16 = 0, generation: UInt32 = 7
) throws -> CacheEntry {
    guard let packed = answer(text, type, ttl: ttl) else { throw TestFailure("an answer that cannot be packed") }
    return CacheEntry(
        answer: packed, storedAt: now, lifetime: ttl, generation: generation, route: route, source: source)
}

/// The part of a database's header that marks it as ours.
var header: Data { Data("SQLite format 3\0".utf8) + Data(count: 52) + Data("hdns".utf8) }

/// A row as written for a name, in epoch 0.
func stored(_ text: String, at seconds: Int64 = noon, ttl: UInt32 = 300, source: String = "vendor one") throws
    -> StoredAnswer
{
    guard let packed = answer(text, ttl: ttl) else { throw TestFailure("an answer that cannot be packed") }
    return StoredAnswer(
        question: Question(name: name(text), type: .a), dnssecOK: false, checkingDisabled: false, answer: packed,
        head: AnswerHead(
            isSix: false, isNegative: false, route: .protect, responseCode: .noError, epoch: 0, storedAt: seconds,
            lifetime: ttl, source: checksum(of: source.utf8), policy: checksum(of: "policy one".utf8),
            counts: packed.counts))
}

/// A mark of the clock in epoch 0.
func mark(at seconds: Int64 = noon, epoch: UInt16 = 0) throws -> ClockMark {
    try #require(ClockMark("\(epoch) 0", latest: seconds))
}

extension StateRecord {
    /// All of it.
    var text: String { "\(kind.rawValue) \(name) \(storedAt) \(value)" }
}

extension DiskCache {
    /// Adopts a policy, with another pause before what has changed is written.
    func adopt(_ policy: PolicyIdentity, flushInterval: Duration) {
        var policy = policy
        policy.flushInterval = flushInterval
        adopt(policy)
    }
}

extension AnswerFile {
    /// Writes one row of one answer, or of one of each address family, whatever they have.
    func write(_ answers: StoredAnswer...) throws(SQLiteError) {
        let question = answers[0].key.array.rowQuestion.question
        var value: [UInt8] = []
        for stored in answers { stored.head.append(to: &value, stored.answer.body) }
        let sum = checksum(of: question + value)
        value.append(sum, bytes: checksumSize)
        try connection.run(
            "INSERT OR REPLACE INTO answer (until, question, value) VALUES (0, ?, ?)", .blob(question), .blob(value))
    }

    /// The answer under a key.
    func answer(_ key: QueryKey) throws(SQLiteError) -> StoredAnswer? {
        try find(key.array).first { $0.key.array == key.array }
    }
}

/// Overwrites all but the first page of a file: what reads them next finds it damaged.
func spoil(_ path: String) throws {
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    let size = try file.seekToEnd()
    try file.seek(toOffset: 4_096)
    try file.write(contentsOf: Data(repeating: 0xff, count: max(0, Int(size) - 4_096)))
    try file.close()
}

/// Has an instance write answers, which then ends.
func write(_ names: [String], to path: String, clock: TestClock = TestClock(), ttl: UInt32 = 300) throws {
    let machine = try Machine(path, clock: clock)
    for name in names { try machine.put(name, ttl: ttl) }
    machine.disk.stop()
}

/// So many names: `n0.example.com` and so on.
func names(_ count: Int) -> [String] { (0..<count).map { "n\($0).example.com" } }

/// A cache whose disk does not respond: its thread waits for ever where it reads the clock.
func silent(_ path: String) throws -> DiskCache {
    let (clock, never) = (TestClock(), DispatchSemaphore(value: 0))
    clock.whenRead { never.wait() }
    let disk = try DiskCache(path, limit: 0, memory: MemoryCache(memory: 1 << 20), clock: clock.wall) { _ in }
    disk.adopt(identity())
    return disk
}

/// A disk cache in a folder of its own, with an empty memory, as after a restart.
final class Machine: Sendable {
    let memory: MemoryCache
    let clock: TestClock
    let disk: DiskCache

    init(
        _ path: String, clock: TestClock = TestClock(), identity: PolicyIdentity? = identity(),
        memory bytes: Int = 8 << 20,
        limit: Int = 64 << 20, retry: ClosedRange<Duration> = .milliseconds(5) ... .milliseconds(20),
        flushInterval: Duration = .milliseconds(2), loads: Bool = true
    ) throws {
        // Tests block their thread, and wait for work on the loop's.
        _ = LoopRunner.shared
        let memory = MemoryCache(memory: bytes)
        (self.memory, self.clock) = (memory, clock)
        let events = Events()
        self.events = events
        disk = try DiskCache(path, limit: limit, retry: retry, memory: memory, clock: clock.wall) { events.add($0) }
        if let identity { disk.adopt(identity, flushInterval: flushInterval) }
        if loads { disk.load() }
    }

    deinit { disk.stop() }

    /// Stops it, and has another process read its file.
    func restarted(identity: PolicyIdentity? = DiskCacheTests.identity()) throws -> Machine {
        disk.stop()
        let next = try Machine(disk.path, clock: clock, identity: identity)
        #expect(next.load())
        return next
    }

    /// The reasons for which files were quarantined.
    var quarantined: [String] {
        events.all.compactMap { if case .quarantined(_, let reason) = $0 { reason } else { nil } }
    }

    /// The events that the disk has reported.
    let events: Events

    final class Events: Sendable {
        private let events = Mutex<[DiskEvent]>([])

        func add(_ event: DiskEvent) { events.withLock { $0.append(event) } }

        var all: [DiskEvent] { events.withLock { $0 } }
    }

    /// Waits until `condition` holds; false when it does not in time.
    func wait(until condition: () -> Bool) -> Bool {
        let end = ContinuousClock.now + .patience
        while !condition() {
            guard ContinuousClock.now < end else { return false }
            usleep(500)
        }
        return true
    }

    /// Waits until the whole file has been loaded into memory.
    func load() -> Bool { wait { disk.status.state == .used } }

    /// Stores an answer in memory and on disk, as the resolver does.
    func put(
        _ text: String, _ type: RecordType = .a, ttl: UInt32 = 300, source: UInt16 = 0x8001, route: UInt16 = 0
    ) throws {
        let entry = try entry(text, type, at: clock.now, ttl: ttl, source: source, route: route)
        memory.store(entry, for: key(text, type))
        disk.store(entry, for: key(text, type))
    }

    /// Waits until all changes are written.
    func flush() -> Bool {
        wait {
            let outcome = Outcome()
            Loop.spawn { [disk] in
                let isWritten = await disk.settle(clock: ManualClock())
                outcome.isWritten.withLock { $0 = isWritten }
            }
            return wait { outcome.isWritten.withLock { $0 != nil } } && outcome.isWritten.withLock { $0 == true }
        }
    }

    private final class Outcome: Sendable { let isWritten = Mutex<Bool?>(nil) }

    func freshness(_ text: String, _ type: RecordType = .a) -> Freshness? {
        memory.entry(for: key(text, type))?.freshness(at: clock.now, FreshnessPolicy())
    }

    /// Whether memory has the right address of a name.
    func has(_ text: String, _ type: RecordType = .a) -> Bool {
        memory.entry(for: key(text, type))?.answer.addresses == [address(of: text, type)]
    }
}
