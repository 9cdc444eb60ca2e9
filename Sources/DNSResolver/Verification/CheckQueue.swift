import DNSWire
import Scheduling

/// The order of certificate checks: first in, first out for each client network, and the network with the fewest
/// handshakes under way first.
///
/// Forged answers can bring any number of silent addresses, each of which takes a handshake its whole time. So a check
/// that is under way at an address that has not answered is displaced by one that waits when its turn is over. Addresses
/// that have answered and new ones have equal parts, so that neither keeps the other waiting, and checks that can hardly
/// end in time go last.
@Loop
struct CheckQueue {
    /// How many handshakes may be at one address that has not answered yet; one that has may be that of many names.
    nonisolated static let newAddressLimit = 2
    /// The most checks that wait, shared fairly by client networks.
    nonisolated static let capacity = 1_024
    /// For how long a check at an address that has not answered cannot be displaced.
    nonisolated static let turn: Duration = .milliseconds(250)

    /// What is to be done.
    enum Step {
        /// The check begins, after a handshake was ended in its favour if `displaced` is not nil.
        case begin(PendingCheck, displaced: PendingCheck?)
        /// Nothing begins before this time unless a check ends or is added; nil: at no time.
        case wait(Instant?)
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
    private var places = FairShare(capacity: AddressChecks.limit)

    nonisolated init() {}

    /// How many handshakes are under way, and how many checks wait for their turn.
    var load: (underWay: Int, waiting: Int) { (underWay.count, waiting.count) }

    /// The checks that wait, in no order.
    var all: [PendingCheck] { Array(waiting.all) }

    /// Whether each place is taken.
    var isFull: Bool { places.isFull }

    /// Appends a check to those of its client network.
    ///
    /// - Returns: the check for which there is no room then, of the network with the most; perhaps this one.
    mutating func append(_ check: PendingCheck) -> PendingCheck? {
        var removed: PendingCheck?
        if waiting.isFull {
            removed = waiting.displace(for: check.holder)
            guard removed != nil else { return check }
        }
        check.ticket = waiting.append(check, for: check.holder)
        return removed
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
    /// Of those at new addresses the one that began first is displaced, once its turn is over, by one that has had no turn
    /// yet, of the same client network or one with fewer under way.
    ///
    /// - Parameter found: which addresses have answered.
    mutating func next(at now: Instant, _ found: VerdictCache) -> Step {
        let new = underWay.filter { found.hasAnswered($0.subject.address, at: now) != true }
        let isMostlyNew = underWay.count <= 2 * new.count
        func rank(_ check: PendingCheck) -> Rank? {
            let address = check.subject.address
            if found.hasAnswered(address, at: now) == true { return isMostlyNew ? .answered : .further }
            guard new.count(where: { $0.subject.address == address }) < Self.newAddressLimit else { return nil }
            guard check.began == nil else { return .again }
            return check.deadline.map { now + Self.turn <= $0 } ?? true ? .inTime : .late
        }
        let ticket = waiting.first({ places.held(by: $0) }, rank: { rank($0)?.rawValue })
        guard let ticket, let next = waiting[ticket] else { return .wait(nil) }
        var displaced: PendingCheck?
        if places.isFull {
            guard next.began == nil, isMostlyNew || found.hasAnswered(next.subject.address, at: now) != true,
                let first = new.first(where: { yields($0, to: next) }), let began = first.began
            else { return .wait(nil) }
            guard began + Self.turn <= now else { return .wait(began + Self.turn) }
            remove(first)
            displaced = first
        }
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

/// One check that waits for its turn or is under way, and what waits for its verdict.
@Loop
final class PendingCheck {
    let subject: VerdictCache.Subject
    /// The server of LocalDNS that gave the address, in the answer for which it was first wanted.
    let server: String
    /// The client network whose fair share it counts against: that of the client for which it was first wanted.
    let holder: ClientNetwork
    /// Its ticket among the checks that wait for their turn, or among those under way.
    var ticket: FairShare.Ticket = 0
    /// When the last of its waiters no longer waits for it.
    private(set) var deadline: Instant?
    /// When its handshake began last; nil until its first turn has come.
    var began: Instant?
    /// Its handshake; nil while it waits for its turn.
    var task: Task<Void, Never>?
    private var waiters: [CheckWaiter] = []

    init(_ subject: VerdictCache.Subject, from server: String, holder: ClientNetwork) {
        self.subject = subject
        self.server = server
        self.holder = holder
    }

    var isWaitedFor: Bool { waiters.contains(where: \.isWaiting) }

    func add(_ waiter: CheckWaiter, until end: Instant) {
        deadline = max(deadline ?? end, end)
        waiters.removeAll { !$0.isWaiting }
        waiters.append(waiter)
    }

    func takeWaiters() -> [CheckWaiter] {
        defer { waiters = [] }
        return waiters
    }
}

/// What waits for the verdict of a check.
@Loop
final class CheckWaiter: Cancellable {
    private var done: (@Loop (AddressVerdict) -> Void)?
    var onCancel: (@Loop () -> Void)?
    /// Fires when it waits no longer.
    var timer: LoopTimer?

    init(_ done: @escaping @Loop (AddressVerdict) -> Void) { self.done = done }

    var isWaiting: Bool { done != nil }

    /// Does nothing after the first time, and after `cancel()`.
    func resume(_ verdict: AddressVerdict) {
        timer.take()?.cancel()
        onCancel = nil
        done.take()?(verdict)
    }

    func cancel() {
        timer.take()?.cancel()
        done = nil
        onCancel.take()?()
    }
}
