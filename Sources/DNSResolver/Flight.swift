package import DNSCache
package import DNSWire
package import Scheduling

/// What makes two questions the same piece of work upstream.
package struct FlightKey: Hashable, Sendable {
    /// Lower-cased. The class is always IN.
    package var name: Name
    /// A and AAAA together where one call brings both ("twins"), else one type.
    package var types: [RecordType]
    package var route: Route
    package var dnssecOK: Bool
    package var checkingDisabled: Bool
    /// For which clients it is asked, where a provider of the name is told their networks; nil: for all.
    package var scope: ClientScope?
    /// The policy's, so that nobody joins a flight of an older policy, or hears of its failure.
    package var generation: UInt32

    /// Whether it asks for signatures, or for a client who checks them.
    var isSigned: Bool { dnssecOK || checkingDisabled }

    /// Whether it asks for HTTPS or SVCB, whose address hints stand beside A and AAAA (RFC 9460).
    var isServiceBinding: Bool { types == [.https] || types == [.svcb] }

    package init(
        name: Name, types: [RecordType], route: Route, dnssecOK: Bool, checkingDisabled: Bool,
        scope: ClientScope? = nil, generation: UInt32 = 0
    ) {
        self.name = name
        self.types = types
        self.route = route
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
        self.scope = scope
        self.generation = generation
    }
}

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
    private var outcomes: [RecordType: Outcome] = [:]
    /// The numbers of the sources whose answers the outcomes are.
    private var sources: [RecordType: UInt16] = [:]
    private var waiters: [ObjectIdentifier: FlightWaiter] = [:]
    /// Whether it has failed and only waits for the other family's flight, which therefore must not wait for it.
    var awaitsOtherFamily = false
    /// Whether nobody waits any more because the policy was replaced, or the network.
    private(set) var isAbandoned = false
    /// The task that asks.
    var work: Task<Void, Never>?
    /// How often a provider had come back when it began: what failed before one did says nothing of the time after.
    var recoveries = 0
    /// Whether it was told that it has failed, for the first of its types that did.
    var isToldFailed = false

    init(key: FlightKey, clock: any LoopClock) {
        self.key = key
        self.clock = clock
    }

    /// Whether another client may wait.
    package var hasRoom: Bool { waiters.count < Self.waiterLimit }

    /// How many clients wait.
    var waiterCount: Int { waiters.count }

    /// Waits for the outcome of `type`.
    ///
    /// - Returns: nil when `deadline` comes first, and the flight goes on without this waiter; or when it is abandoned.
    package func outcome(of type: RecordType, until deadline: Instant) async -> Outcome? {
        let waiter = FlightWaiter(type)
        defer { waiters[ObjectIdentifier(waiter)] = nil }
        return await withCheckedContinuation { continuation in
            // Looked at here, where nothing can come between: a task may be suspended on its way into this body.
            if let outcome = outcomes[type] { return continuation.resume(returning: outcome) }
            if isAbandoned { return continuation.resume(returning: nil) }
            waiter.wait(continuation, until: deadline, on: clock)
            waiters[ObjectIdentifier(waiter)] = waiter
        }
    }

    /// Gives up asking, and wakes all who wait with nothing.
    func abandon() {
        isAbandoned = true
        work?.cancel()
        for waiter in waiters.values { waiter.resume(nil) }
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
        for waiter in waiters.values where waiter.type == type { waiter.resume(outcome) }
    }
}

/// One client's wait: ends with the outcome or at its deadline, once.
@Loop
private final class FlightWaiter {
    private var continuation: CheckedContinuation<Flight.Outcome?, Never>?
    private var timer: LoopTimer?

    let type: RecordType

    nonisolated init(_ type: RecordType) { self.type = type }

    func wait(
        _ continuation: CheckedContinuation<Flight.Outcome?, Never>, until deadline: Instant, on clock: any LoopClock
    ) {
        self.continuation = continuation
        timer = clock.schedule(at: deadline) { [self] in resume(nil) }
    }

    func resume(_ outcome: Flight.Outcome?) {
        timer?.cancel()
        timer = nil
        continuation.take()?.resume(returning: outcome)
    }
}
