import DNSWire
import Scheduling

/// One check that waits for its turn or is under way, and its waiters.
@Loop
final class PendingCheck {
    /// One waiter; resumed once.
    @Loop
    final class Waiter {
        private var continuation: CheckedContinuation<AddressVerdict?, Never>?
        private var timer: LoopTimer?
        /// Whether it was resumed, perhaps before it began to wait.
        private(set) var isResumed = false

        nonisolated init() {}

        func wait(
            _ continuation: CheckedContinuation<AddressVerdict?, Never>, until deadline: Instant,
            on clock: any LoopClock
        ) {
            guard !isResumed else { return continuation.resume(returning: nil) }
            self.continuation = continuation
            timer = clock.schedule(at: deadline) { [self] in resume(nil) }
        }

        func resume(_ verdict: AddressVerdict?) {
            guard !isResumed else { return }
            isResumed = true
            timer?.cancel()
            timer = nil
            continuation.take()?.resume(returning: verdict)
        }
    }

    let subject: VerdictCache.Subject
    /// The server of LocalDNS that gave the address, in the answer for which it was first wanted.
    let server: String
    /// The client network whose fair share it counts against: that of the client for which it was first wanted.
    let holder: ClientNetwork
    /// Its ticket among the checks that wait for their turn, or among those under way.
    var ticket: FairShare.Ticket = 0
    /// When the last of its questions no longer waits for it.
    private(set) var deadline: Instant
    /// When its handshake began last; nil until its first turn has come.
    var began: Instant?
    /// Its handshake; nil while it waits for its turn.
    var task: Task<Void, Never>?
    private var waiters: [Waiter] = []
    private var outcome: AddressVerdict?

    init(_ subject: VerdictCache.Subject, from server: String, holder: ClientNetwork, until deadline: Instant) {
        self.subject = subject
        self.server = server
        self.holder = holder
        self.deadline = deadline
    }

    var isFinished: Bool { outcome != nil }

    /// Whether it has waiters.
    var isWaitedFor: Bool { waiters.contains { !$0.isResumed } }

    /// Registers a waiter that is about to wait.
    func expect(_ waiter: Waiter, until deadline: Instant) {
        self.deadline = max(self.deadline, deadline)
        waiters.removeAll(where: \.isResumed)
        waiters.append(waiter)
    }

    /// Waits; `waiter` must have been registered with `expect`.
    ///
    /// - Returns: nil at `deadline`, or when the waiter was resumed otherwise.
    func verdict(for waiter: Waiter, until deadline: Instant, on clock: any LoopClock) async -> AddressVerdict? {
        await withCheckedContinuation { continuation in
            if let outcome { return continuation.resume(returning: outcome) }
            waiter.wait(continuation, until: deadline, on: clock)
        }
    }

    func finish(_ verdict: AddressVerdict) {
        outcome = verdict
        for waiter in waiters { waiter.resume(verdict) }
        waiters = []
    }
}
