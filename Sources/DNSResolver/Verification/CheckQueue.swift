import DNSWire
import Scheduling

/// The order of certificate checks: first in, first out for each client network, and the network with the fewest
/// handshakes under way first.
///
/// Forged answers can bring any number of silent addresses, each of which takes a handshake its whole time. So a check
/// that is under way is displaced by one that waits when its turn is over: by one of the same network only at an address
/// that has not answered. Addresses that have answered and new ones have equal parts, so that neither keeps the other
/// waiting, and checks that can hardly end in time go last.
@Loop
struct CheckQueue {
    /// How many handshakes may be at one address that has not answered yet; one that has may be that of many names.
    nonisolated static let newAddressLimit = 2
    /// The most checks that wait, shared fairly by client networks.
    nonisolated static let capacity = 1_024
    /// For how long a check under way cannot be displaced.
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
        /// A check that has had its turn, or at a new address has less time than one.
        case last
    }

    private let queue = FairQueue<PendingCheck>(capacity: CheckQueue.capacity)
    /// The checks under way, the one that began first at the front.
    private var underWay: [PendingCheck] = []

    nonisolated init() {}

    /// The checks that wait, in no order.
    var waiting: [PendingCheck] { Array(queue.all) }

    /// When the turn ends of the check under way that began first; none is displaced before.
    private var turnEnds: Instant? { underWay.first?.began.map { $0 + Self.turn } }

    /// Whether each place is taken.
    var isFull: Bool { underWay.count >= AddressChecks.limit }

    /// Appends a check to those of its client network.
    ///
    /// - Returns: the check for which there is no room then, of the network with the most; perhaps this one.
    mutating func append(_ check: PendingCheck) -> PendingCheck? {
        var removed: PendingCheck?
        if queue.isFull {
            removed = queue.displace(for: check.holder)
            guard removed != nil else { return check }
        }
        check.ticket = queue.append(check, for: check.holder)
        return removed
    }

    /// Removes a check, which waits or is under way.
    mutating func remove(_ check: PendingCheck) {
        if let index = underWay.firstIndex(where: { $0 === check }) {
            underWay.remove(at: index)
        } else {
            queue.remove(check.ticket)
        }
    }

    /// The next check to begin, if there is a place or another is displaced; it counts as under way from now on.
    ///
    /// The one that began first is displaced, once its turn is over, by one that has had no turn yet: of a client network with
    /// fewer under way, or, at a new address, of the same network.
    ///
    /// - Parameter found: which addresses have answered.
    mutating func next(at now: Instant, _ found: VerdictCache) -> Step {
        // Before anything that waits is looked at: under a flood that is a thousand checks for each query.
        if isFull, queue.count > 0, let turnEnds, turnEnds > now { return .wait(turnEnds) }
        func isNew(_ check: PendingCheck) -> Bool { found.hasAnswered(check.subject.address, at: now) != true }
        let new = underWay.filter(isNew)
        let isMostlyNew = underWay.count <= 2 * new.count
        let held = underWay.reduce(into: [:]) { $0[$1.holder, default: 0] += 1 }
        let atNewAddress = new.reduce(into: [:]) { $0[$1.subject.address, default: 0] += 1 }
        let (most, newHolders) = (held.values.max() ?? 0, Set(new.map(\.holder)))
        /// Whether a check under way yields to it, now or once its turn is over.
        func mayDisplace(_ check: PendingCheck) -> Bool {
            check.began == nil
                && (held[check.holder, default: 0] < most
                    || newHolders.contains(check.holder) && (isMostlyNew || isNew(check)))
        }
        func rank(_ check: PendingCheck) -> Rank? {
            // One that cannot begin now keeps none waiting that can.
            if isFull, !mayDisplace(check) { return nil }
            if isNew(check) {
                guard atNewAddress[check.subject.address, default: 0] < Self.newAddressLimit else { return nil }
                return check.began == nil && now + Self.turn <= check.deadline ? .inTime : .last
            }
            guard check.began == nil else { return .last }
            return isMostlyNew ? .answered : .further
        }
        let ticket = queue.first({ held[$0, default: 0] }, rank: { rank($0)?.rawValue })
        guard let ticket, let next = queue[ticket] else { return .wait(nil) }
        func yields(_ check: PendingCheck) -> Bool {
            check.holder == next.holder
                ? isNew(check) && (isMostlyNew || isNew(next))
                : held[check.holder, default: 0] > held[next.holder, default: 0]
        }
        var displaced: PendingCheck?
        if isFull {
            guard let first = underWay.first(where: yields), let began = first.began else { return .wait(nil) }
            guard began + Self.turn <= now else { return .wait(began + Self.turn) }
            remove(first)
            displaced = first
        }
        queue.take(ticket)
        next.began = now
        underWay.append(next)
        return .begin(next, displaced: displaced)
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
    /// Its ticket among the checks that wait for their turn.
    var ticket: FairShare.Ticket = 0
    /// When the last of its waiters no longer waits for it.
    private(set) var deadline: Instant
    /// When its handshake began last; nil until its first turn has come.
    var began: Instant?
    /// Its handshakes; nil while it waits for its turn.
    var handshakes: (any Cancellable)?
    private(set) var waiters: [CheckWaiter] = []

    init(_ subject: VerdictCache.Subject, from server: String, holder: ClientNetwork, until end: Instant) {
        self.subject = subject
        self.server = server
        self.holder = holder
        deadline = end
    }

    var isWaitedFor: Bool { waiters.contains(where: \.isWaiting) }

    func add(_ waiter: CheckWaiter, until end: Instant) {
        deadline = max(deadline, end)
        waiters.removeAll { !$0.isWaiting }
        waiters.append(waiter)
    }
}

/// What waits for the verdict of a check.
@Loop
final class CheckWaiter: Cancellable {
    private var done: (@Loop (AddressVerdict) -> Void)?
    private var onCancel: (@Loop () -> Void)?
    /// Fires when it waits no longer.
    var timer: LoopTimer?

    init(_ done: @escaping @Loop (AddressVerdict) -> Void, onCancel: @escaping @Loop () -> Void) {
        self.done = done
        self.onCancel = onCancel
    }

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
