package import DNSCache
package import DNSWire
package import Scheduling

/// What asks the sources for types of a flight: one, or both families.
@Loop
class FlightRun {
    final let types: [RecordType]
    /// Whether the sources have been asked, and what is left depends on other look-ups.
    final var isWaiting = false
    /// Whether it was given up: what it still learns is no outcome.
    final private(set) var isCancelled = false
    /// What asks the sources, while it does.
    final var work: (any SourceRun)?

    init(_ types: [RecordType]) { self.types = types }

    final func asks(for wanted: RecordType) -> Bool {
        for type in types where type == wanted { return true }
        return false
    }

    final func cancel() {
        isCancelled = true
        work.take()?.cancel()
    }
}

/// The questions for one name in progress upstream, and their waiters: A and AAAA, each asked for when it is wanted, or
/// one other type.
@Loop
package final class Flight {
    /// How the flight ended for one type.
    package enum Outcome: Sendable {
        case answer(PackedAnswer)
        case failure(ExtendedError)
    }

    /// How it ended for one type, and the number of the source of the answer, if it has one.
    private struct Settled {
        let outcome: Outcome
        let source: UInt16?
    }

    package let key: FlightKey
    /// Increases in the order in which flights begin.
    let number: Int
    private let clock: any LoopClock
    private var settled = RecordTypeMap<Settled>()
    /// The first waiter, mostly the only one.
    private var firstWaiter: Waiter?
    private var furtherWaiters: [Int: Waiter] = [:]
    /// How many waiters there have been.
    private var waiterNumber = 0
    /// Whether it was given up: evicted, or ended by a change of policy or network.
    private(set) var isAbandoned = false
    /// Whether equal questions join it.
    var isUnderWay = false
    /// Its ticket in the count of flights by client network, while they are counted.
    var ticket: FairShare.Ticket?
    /// What asks upstream: for A and for AAAA, or one for both.
    private var firstRun: FlightRun?
    private var secondRun: FlightRun?
    /// Whether some run may ask the providers alone, for clients that have an answer of LocalDNS (`Resolver.mode`).
    var isNarrowed = false
    /// Whether a client has got SERVFAIL, which is reported for the first one.
    var isFailureReported = false

    init(key: FlightKey, number: Int = 0, clock: any LoopClock) {
        self.key = key
        self.number = number
        self.clock = clock
    }

    /// Whether nothing is asked.
    var isIdle: Bool { firstRun == nil && secondRun == nil }

    /// What asks for a type; nil: nothing does.
    func run(for type: RecordType) -> FlightRun? {
        if let firstRun, firstRun.asks(for: type) { return firstRun }
        if let secondRun, secondRun.asks(for: type) { return secondRun }
        return nil
    }

    /// Adds what asks for types that nothing asks for.
    func add(_ run: FlightRun) {
        if !isIdle {
            for type in run.types { settled[type] = nil }
        }
        if firstRun == nil { firstRun = run } else { secondRun = run }
    }

    func remove(_ run: FlightRun) {
        if firstRun === run { firstRun = nil }
        if secondRun === run { secondRun = nil }
    }

    /// Removes what asks for types that are to be asked for once more: the clients that wait go on waiting, and what was
    /// settled is not.
    func reopen(_ run: FlightRun) {
        remove(run)
        for type in run.types { settled[type] = nil }
    }

    /// Whether nothing has settled a type, or asks for it.
    func isOpen(_ type: RecordType) -> Bool { settled[type] == nil && run(for: type) == nil }

    /// Waits until the other address family is settled, where it is asked for apart and does not wait for this one.
    func otherFamily(of type: RecordType, until deadline: Instant) async {
        guard type.isAddress, let other = run(for: type.otherFamily), other !== run(for: type), !other.isWaiting else {
            return
        }
        _ = await outcome(of: type.otherFamily, until: deadline)
    }

    /// The number of the source whose addresses of a type it has found, also where they may not be cached; nil: there are
    /// none.
    func sourceOfAddresses(_ type: RecordType) -> UInt16? {
        guard let settled = settled[type], case .answer(let answer) = settled.outcome, answer.holds(type) else {
            return nil
        }
        return settled.source
    }

    /// How many clients wait.
    var waiterCount: Int { (firstWaiter == nil ? 0 : 1) + furtherWaiters.count }

    /// Called with the outcome of a type, and the number of the source of the answer, if it has one.
    package typealias Completion = @Loop (Outcome?, _ source: UInt16?) -> Void

    /// Calls `done` once: with the outcome of `type`, or with nil when `deadline` comes first, and the flight goes on
    /// without this waiter, or when it is abandoned. An outcome that is known already is reported before this returns.
    package func wait(for type: RecordType, until deadline: Instant, done: @escaping Completion) {
        if let settled = settled[type] { return done(settled.outcome, settled.source) }
        if isAbandoned { return done(nil, nil) }
        waiterNumber += 1
        let number = waiterNumber
        let timer = clock.schedule(at: deadline) { [self] in takeWaiter(number)?.done(nil, nil) }
        let waiter = Waiter(number: number, type: type, timer: timer, done: done)
        if firstWaiter == nil { firstWaiter = waiter } else { furtherWaiters[number] = waiter }
    }

    private func takeWaiter(_ number: Int) -> Waiter? {
        firstWaiter?.number == number ? firstWaiter.take() : furtherWaiters.removeValue(forKey: number)
    }

    /// `wait` as an async function.
    package func outcome(of type: RecordType, until deadline: Instant) async -> Outcome? {
        await withCheckedContinuation { continuation in
            wait(for: type, until: deadline) { outcome, _ in continuation.resume(returning: outcome) }
        }
    }

    /// Cancels its work, and wakes all waiters with nil.
    func abandon() {
        isAbandoned = true
        firstRun.take()?.cancel()
        secondRun.take()?.cancel()
        let (first, further) = (firstWaiter.take(), furtherWaiters.values)
        furtherWaiters = [:]
        first?.end(nil, nil)
        for waiter in further { waiter.end(nil, nil) }
    }

    /// Settles one type and wakes its waiters; a type that is settled already stays as it is.
    ///
    /// - Parameter source: the number of the source of the answer.
    package func finish(_ type: RecordType, with outcome: Outcome, source: UInt16? = nil) {
        guard settled.addIfAbsent(Settled(outcome: outcome, source: source), for: type) else { return }
        let first = firstWaiter?.type == type ? firstWaiter.take() : nil
        guard !furtherWaiters.isEmpty else {
            first?.end(outcome, source)
            return
        }
        let further = furtherWaiters.filter { $0.value.type == type }
        for number in further.keys { furtherWaiters[number] = nil }
        first?.end(outcome, source)
        for waiter in further.values { waiter.end(outcome, source) }
    }

    /// One client's wait: ends with the outcome or at its deadline, once.
    private struct Waiter {
        let number: Int
        let type: RecordType
        let timer: LoopTimer
        let done: Completion

        @Loop
        func end(_ outcome: Outcome?, _ source: UInt16?) {
            timer.cancel()
            done(outcome, source)
        }
    }
}
