package import DNSCache
package import DNSWire
package import Scheduling

/// One upstream question in progress, and its waiters.
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
    /// Whether it has failed and only waits for the other family's flight, which therefore must not wait for it.
    var awaitsOtherFamily = false
    /// Whether it was given up: evicted, replaced, or ended by a change of policy or network.
    private(set) var isAbandoned = false
    /// Whether equal questions join it.
    var isUnderWay = false
    /// Its ticket in the count of flights by client network, while they are counted.
    var ticket: FairShare.Ticket?
    /// The work that asks upstream.
    var work: (any Cancellable)?
    /// How many backoffs of providers had ended when it began: a failure from before such an end says nothing about the
    /// time after it.
    var recoveries = 0
    /// Whether a client has got SERVFAIL, which is reported for the first one.
    var isFailureReported = false

    init(key: FlightKey, number: Int = 0, clock: any LoopClock) {
        self.key = key
        self.number = number
        self.clock = clock
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
        work?.cancel()
        work = nil
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
