package import DNSCache
package import DNSWire
package import Scheduling

/// One upstream question in progress, and all who wait for it.
@Loop
package final class Flight {
    /// The most clients that may wait for one flight.
    package static let waiterLimit = 4_096

    /// How the flight ended for one type.
    package enum Outcome: Sendable {
        case answer(PackedAnswer)
        case failure(ExtendedError)
    }

    package let key: FlightKey
    private let clock: any LoopClock
    private var outcomes = RecordTypeMap<Outcome>()
    /// The numbers of the sources whose answers the outcomes are.
    private var sources = RecordTypeMap<UInt16>()
    /// Mostly the only one.
    private var firstWaiter: Waiter?
    private var furtherWaiters: [Int: Waiter] = [:]
    /// How many have come so far.
    private var waiterNumber = 0
    /// Whether it has failed and only waits for the other family's flight, which therefore must not wait for it.
    var awaitsOtherFamily = false
    /// Whether nobody waits any more because the policy was replaced, or the network.
    private(set) var isAbandoned = false
    /// What asks.
    var work: (any Cancellable)?
    /// How often a provider had come back when it began: what failed before one did says nothing of the time after.
    var recoveries = 0
    /// Whether it was told that it has failed, for the first of its types that did.
    var isToldFailed = false

    init(key: FlightKey, clock: any LoopClock) {
        self.key = key
        self.clock = clock
    }

    /// Whether another client may wait.
    package var hasRoom: Bool { waiterCount < Self.waiterLimit }

    /// How many clients wait.
    var waiterCount: Int { (firstWaiter == nil ? 0 : 1) + furtherWaiters.count }

    /// Has `done` called once: with the outcome of `type`, or with nil when `deadline` comes first, and the flight goes on
    /// without this waiter, or when it is abandoned. What is known already is told before this returns.
    package func wait(for type: RecordType, until deadline: Instant, done: @escaping @Loop (Outcome?) -> Void) {
        if let outcome = outcomes[type] { return done(outcome) }
        if isAbandoned { return done(nil) }
        waiterNumber += 1
        let number = waiterNumber
        let timer = clock.schedule(at: deadline) { [self] in takeWaiter(number)?.done(nil) }
        let waiter = Waiter(number: number, type: type, timer: timer, done: done)
        if firstWaiter == nil { firstWaiter = waiter } else { furtherWaiters[number] = waiter }
    }

    private func takeWaiter(_ number: Int) -> Waiter? {
        firstWaiter?.number == number ? firstWaiter.take() : furtherWaiters.removeValue(forKey: number)
    }

    /// The same for those who can wait.
    package func outcome(of type: RecordType, until deadline: Instant) async -> Outcome? {
        await withCheckedContinuation { continuation in
            wait(for: type, until: deadline) { continuation.resume(returning: $0) }
        }
    }

    /// Gives up asking, and wakes all who wait with nothing.
    func abandon() {
        isAbandoned = true
        work?.cancel()
        work = nil
        let (first, further) = (firstWaiter.take(), furtherWaiters.values)
        furtherWaiters = [:]
        first?.end(nil)
        for waiter in further { waiter.end(nil) }
    }

    /// Whose answer the outcome of `type` is, by its number; nil when there is none.
    func source(of type: RecordType) -> UInt16? { sources[type] }

    /// Settles one type and wakes its waiters; what is settled stays as it is.
    ///
    /// - Parameter source: the number of the source whose answer it is.
    package func finish(_ type: RecordType, with outcome: Outcome, source: UInt16? = nil) {
        guard outcomes[type] == nil else { return }
        outcomes[type] = outcome
        sources[type] = source
        let first = firstWaiter?.type == type ? firstWaiter.take() : nil
        guard !furtherWaiters.isEmpty else {
            first?.end(outcome)
            return
        }
        let further = furtherWaiters.filter { $0.value.type == type }
        for number in further.keys { furtherWaiters[number] = nil }
        first?.end(outcome)
        for waiter in further.values { waiter.end(outcome) }
    }

    /// One client's wait: ends with the outcome or at its deadline, once.
    private struct Waiter {
        let number: Int
        let type: RecordType
        let timer: LoopTimer
        let done: @Loop (Outcome?) -> Void

        @Loop
        func end(_ outcome: Outcome?) {
            timer.cancel()
            done(outcome)
        }
    }
}
