import DNSWire
import Scheduling

/// The order of certificate checks: first in, first out for each client network, and the network with the fewest
/// handshakes under way first.
///
/// Forged answers can bring any number of silent addresses, each of which takes a handshake its whole time. So a check
/// that is under way is displaced by one that waits as soon as nothing waits for it, or when its turn is over and its
/// address has not answered. Addresses that have answered and new ones have equal parts, so that neither keeps the other
/// waiting, and checks that can hardly end in time go last.
@Loop
struct CheckQueue {
    /// The most handshakes at once.
    nonisolated static let limit = 64
    /// How many of these may be at one address that has not answered yet; one that has may be that of many names.
    nonisolated static let newAddressLimit = 2
    /// The most checks that wait, shared fairly by client networks.
    nonisolated static let capacity = 1_024
    /// For how long a check at an address that has not answered cannot be displaced.
    nonisolated static let turn: Duration = .milliseconds(250)

    /// What is to be done.
    enum Step {
        /// The check begins, after a handshake was ended in its favour if `displaced` is not nil.
        case begin(PendingCheck, displaced: PendingCheck?)
        /// Nothing begins before this time unless a check ends or is added.
        case wait(Instant)
        /// Nothing begins unless a check ends or is added.
        case rest
    }

    /// The order of a client network's checks.
    private enum Rank: Int {
        /// An address that has answered, while no more of these are under way than of the others.
        case answered
        /// A new address.
        case inTime
        /// An address that has answered otherwise.
        case further
        /// A new address for which there is less time than a turn.
        case late
        /// A new address that has had its turn.
        case again
    }

    private let waiting = FairQueue<PendingCheck>(capacity: CheckQueue.capacity)
    /// The checks under way, the one that began first at the front, and their client networks.
    private var underWay: [PendingCheck] = []
    private var places = FairShare(capacity: CheckQueue.limit)

    nonisolated init() {}

    /// How many handshakes are under way, and how many checks wait for their turn.
    var load: (underWay: Int, waiting: Int) { (underWay.count, waiting.count) }

    /// The checks that wait, in no order.
    var all: [PendingCheck] { Array(waiting.all) }

    /// Whether `next` can only wait for the end of a turn: there is no place, and each check under way has waiters.
    var isFull: Bool { places.isFull && underWay.allSatisfy(\.isWaitedFor) }

    /// Appends a check to those of its client network.
    ///
    /// - Returns: whether there was room, and the check that was removed for it, of the network with the most.
    mutating func append(_ check: PendingCheck) -> (isAdded: Bool, removed: PendingCheck?) {
        var removed: PendingCheck?
        if waiting.isFull {
            removed = waiting.displace(for: check.holder)
            guard removed != nil else { return (false, nil) }
        }
        check.ticket = waiting.append(check, for: check.holder)
        return (true, removed)
    }

    /// Removes a check, which waits or is under way.
    mutating func remove(_ check: PendingCheck) {
        guard let index = underWay.firstIndex(where: { $0 === check }) else {
            waiting.remove(check.ticket)
            return
        }
        underWay.remove(at: index)
        places.remove(check.ticket)
    }

    /// The next check to begin, if there is a place or another is displaced; it counts as under way from now on.
    ///
    /// One that nothing waits for is displaced by any; otherwise the one that began first of those at new addresses is, once
    /// its turn is over, by one that has had no turn yet, of the same client network or one with fewer under way.
    ///
    /// - Parameter found: which addresses have answered.
    mutating func next(at now: Instant, _ found: VerdictCache) -> Step {
        let new = underWay.filter { !found.hasAnswered($0.subject.address, at: now) }
        let isMostlyNew = underWay.count <= 2 * new.count
        func rank(_ check: PendingCheck) -> Rank? {
            let address = check.subject.address
            if found.hasAnswered(address, at: now) { return isMostlyNew ? .answered : .further }
            guard new.count(where: { $0.subject.address == address }) < Self.newAddressLimit else { return nil }
            guard check.began == nil else { return .again }
            return now + Self.turn <= check.deadline ? .inTime : .late
        }
        let ticket = waiting.first({ places.held(by: $0) }, rank: { rank($0)?.rawValue })
        guard let ticket, let next = waiting[ticket] else { return .rest }
        var displaced: PendingCheck?
        if places.isFull {
            displaced = underWay.first { !$0.isWaitedFor }
            if displaced == nil {
                guard next.began == nil, isMostlyNew || !found.hasAnswered(next.subject.address, at: now),
                    let first = new.first(where: { yields($0, to: next) }), let began = first.began
                else { return .rest }
                guard began + Self.turn <= now else { return .wait(began + Self.turn) }
                displaced = first
            }
        }
        if let displaced { remove(displaced) }
        waiting.take(ticket)
        next.ticket = places.add(for: next.holder)
        next.began = now
        underWay.append(next)
        return .begin(next, displaced: displaced)
    }

    /// Whether a check under way may be displaced by one of another client network, or of its own.
    private func yields(_ check: PendingCheck, to next: PendingCheck) -> Bool {
        check.holder == next.holder || places.held(by: check.holder) > places.held(by: next.holder)
    }
}

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
