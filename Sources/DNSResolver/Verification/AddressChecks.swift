public import DNSWire

/// The certificate checks of the addresses that LocalDNS gives for protected names (Documentation/Strategy.md, section 4):
/// a queue in which equal checks share one handshake, and a cache of verdicts.
///
/// Checks of one client network are first in, first out, and the network with the fewest under way is next. When all places
/// are taken, the network that has most of them loses one by the rule of `FairShare`: that check waits again.
///
/// A handshake that takes longer than its questions goes on, so that the verdict on a slow server is known when it is
/// asked for again, and a silent one as such; one whose waiters have all been cancelled ends with them.
@Loop
public final class AddressChecks {
    /// The most handshakes at once.
    public nonisolated static let limit = 64
    /// The most checks that wait.
    private nonisolated static let capacity = 1_024
    /// How long a handshake may take, over all ports.
    public nonisolated static let longest: Duration = .milliseconds(1_500)
    /// How long an address that was silent counts as one without TLS, for all names.
    private static let silence: Duration = .seconds(30)

    struct Subject: Hashable {
        let name: Name
        let address: IPAddress
    }

    /// Tried in this order until one speaks TLS.
    public nonisolated let ports: [UInt16]
    /// Where forged addresses are recorded.
    public nonisolated let journal: HijackJournal
    private let handshake: any Handshake
    private let timeOfDay: TimeOfDay
    private let clock: any LoopClock
    private var verdicts = ExpiringTable<Subject, AddressVerdict>()
    /// The addresses where not even a TCP connection was accepted lately.
    private var silent = ExpiringTable<IPAddress, Void>()
    /// The checks that wait for their turn, or are under way.
    private(set) var pending: [Subject: PendingCheck] = [:]
    private let waiting = FairQueue<PendingCheck>(capacity: AddressChecks.capacity)
    private let underWay = FairQueue<PendingCheck>(capacity: AddressChecks.limit)

    /// - Parameter timeOfDay: nothing is recorded while that cannot be right.
    public nonisolated init(
        ports: [UInt16], handshake: any Handshake, journal: HijackJournal, timeOfDay: TimeOfDay, clock: any LoopClock
    ) {
        self.ports = ports
        self.handshake = handshake
        self.timeOfDay = timeOfDay
        self.journal = journal
        self.clock = clock
    }

    /// Called with verdicts that a certificate decided, and for how long they hold.
    public var onVerdict: (@Loop (Name, IPAddress, AddressVerdict, Duration) -> Void)?

    /// Whether the clock cannot be right.
    var isClockDoubtful: Bool { timeOfDay.doubt != nil }

    /// The verdict that holds on an address of a name; nil: none.
    public func known(_ address: IPAddress, for name: Name) -> AddressVerdict? {
        verdicts.value(for: Subject(name: name, address: address), at: clock.now)
    }

    /// Drops all verdicts, and ends the checks, which say nothing about another network: there the same address may be
    /// another host. What waits for one goes on waiting.
    public func forgetAll() {
        (verdicts, silent) = (ExpiringTable(), ExpiringTable())
        for check in pending.values { end(check, nil) }
    }

    /// Restores a verdict of an earlier process on this network, where this one has none, for no longer than a new one.
    public func restore(_ verdict: AddressVerdict, on address: IPAddress, of name: Name, for rest: Duration) {
        guard let lifetime = verdict.lifetime, rest > .zero, known(address, for: name) == nil else { return }
        let subject = Subject(name: name, address: address)
        verdicts.store(verdict, for: subject, until: clock.now + min(rest, lifetime), at: clock.now)
    }

    // MARK: Waiting

    /// Checks whether the server at `address`, which a server of LocalDNS gave, shows a certificate of the name.
    ///
    /// - Parameters:
    ///   - end: when, without a verdict, it is `.unchecked`.
    ///   - done: called once with the verdict, never before this returns.
    public func check(
        _ address: IPAddress, of name: Name, from server: String, for holder: ClientNetwork, until end: Instant,
        done: @escaping @Loop (AddressVerdict) -> Void
    ) -> any Cancellable {
        let subject = Subject(name: name, address: address)
        let isSilent = silent.value(for: address, at: clock.now) != nil
        if let verdict = known(address, for: name) ?? (isSilent ? .unverified : nil) {
            return CheckWaiter(clock.schedule(at: clock.now) { done(verdict) })
        }
        let check = pending[subject] ?? PendingCheck(subject, from: server, holder: holder)
        let timer = clock.schedule(at: end) { [self] in
            // Another check may have reached a verdict.
            done(check.verdict ?? known(address, for: name) ?? .unchecked)
            left(subject, isCancelled: false)
        }
        let waiter = CheckWaiter(timer) { [self] in left(subject, isCancelled: true) }
        guard clock.now < end else { return waiter }
        check.add(waiter)
        if pending[subject] == nil {
            enqueue(check)
            beginNext()
        }
        return waiter
    }

    private func left(_ subject: Subject, isCancelled: Bool) {
        guard let check = pending[subject], !check.isWaitedFor, !check.isUnderWay || isCancelled else { return }
        end(check, nil)
        beginNext()
    }

    // MARK: The queue

    /// Where there is no room, a check of the network with the most has no turn; perhaps this one.
    private func enqueue(_ check: PendingCheck) {
        if waiting.isFull {
            guard let removed = waiting.displace(for: check.holder) else { return pending[check.subject] = nil }
            pending[removed.subject] = nil
        }
        pending[check.subject] = check
        check.place = .waiting(waiting.append(check, for: check.holder))
    }

    /// Removes a check, and ends its handshake. Without a verdict, what waits for one goes on waiting.
    private func end(_ check: PendingCheck, _ verdict: AddressVerdict?) {
        stop(check)
        pending[check.subject] = nil
        check.verdict = verdict
        if verdict != nil { for waiter in check.waiters { waiter.timer.fire() } }
    }

    private func stop(_ check: PendingCheck) {
        switch check.place {
        case .none: break
        case .waiting(let ticket): waiting.remove(ticket)
        case .underWay(let ticket, let handshakes):
            handshakes.cancel()
            underWay.remove(ticket)
        }
        check.place = .none
    }

    private func beginNext() {
        while let ticket = waiting.first({ underWay.held(by: $0) }), let next = waiting[ticket] {
            var displaced: PendingCheck?
            if underWay.isFull {
                displaced = underWay.displace(for: next.holder)
                guard let displaced else { return }
                stop(displaced)
            }
            waiting.take(ticket)
            next.place = .underWay(
                underWay.append(next, for: next.holder),
                SpawnedWork({ [self] in await look(at: next) }) { [self] in ended(next, $0.0, isSilent: $0.1) })
            guard let displaced else { continue }
            if displaced.isWaitedFor { enqueue(displaced) } else { pending[displaced.subject] = nil }
        }
    }

    // MARK: A check

    private func ended(_ check: PendingCheck, _ verdict: AddressVerdict?, isSilent: Bool) {
        let (subject, now) = (check.subject, clock.now)
        if let verdict, let lifetime = verdict.lifetime, verdict != .forged || !isClockDoubtful {
            verdicts.store(verdict, for: subject, until: now + lifetime, at: now)
            if verdict.isDecided { onVerdict?(subject.name, subject.address, verdict, lifetime) }
        }
        end(check, verdict)
        if isSilent {
            silent.store((), for: subject.address, until: now + Self.silence, at: now)
            for other in Array(waiting.all) where other.subject.address == subject.address { end(other, .unverified) }
        }
        beginNext()
    }

    /// Tries the ports in turn; the first one with a certificate decides. No verdict: it was cancelled. Silent: there was
    /// not even a TCP connection.
    private func look(at check: PendingCheck) async -> (AddressVerdict?, isSilent: Bool) {
        guard !Task.isCancelled else { return (nil, false) }
        let subject = check.subject
        let deadline = clock.now + Self.longest
        var (verdict, isSilent) = (AddressVerdict.unverified, true)
        for (index, port) in ports.enumerated() {
            let share = (deadline - clock.now) / (ports.count - index)
            let outcome = await handshake.shakeHands(
                with: subject.address, port: port, as: subject.name, until: clock.now + share)
            switch outcome {
            case .verified: return (.verified, false)
            case .wrongCertificate(let evidence):
                if !isClockDoubtful {
                    journal.record(subject.name, subject.address, from: check.server, port: port, evidence)
                }
                return (.forged, false)
            case .wrongTime: (verdict, isSilent) = (.wrongTime, false)
            case .noTLS, .unclear: isSilent = false
            case .silent: break
            case .unreachable: return (.unreachable, false)
            case .cancelled: return (nil, false)
            }
        }
        return (verdict, isSilent)
    }
}

/// One check that waits for its turn or is under way, and what waits for its verdict.
@Loop
final class PendingCheck {
    enum Place {
        case none
        case waiting(FairShare.Ticket)
        case underWay(FairShare.Ticket, any Cancellable)
    }

    let subject: AddressChecks.Subject
    /// The server of LocalDNS that gave the address, in the answer for which it was first wanted.
    let server: String
    /// The client network whose fair share it counts against: that of the client for which it was first wanted.
    let holder: ClientNetwork
    var place = Place.none
    var verdict: AddressVerdict?
    private(set) var waiters: [CheckWaiter] = []

    init(_ subject: AddressChecks.Subject, from server: String, holder: ClientNetwork) {
        self.subject = subject
        self.server = server
        self.holder = holder
    }

    var isUnderWay: Bool { if case .underWay = place { true } else { false } }

    var isWaitedFor: Bool { waiters.contains(where: \.timer.isPending) }

    func add(_ waiter: CheckWaiter) {
        waiters.removeAll { !$0.timer.isPending }
        waiters.append(waiter)
    }
}

/// What waits for the verdict of a check.
@Loop
final class CheckWaiter: Cancellable {
    /// Fires with the verdict, or when it is waited for no longer.
    let timer: LoopTimer
    private let onCancel: @Loop () -> Void

    init(_ timer: LoopTimer, onCancel: @escaping @Loop () -> Void = {}) {
        (self.timer, self.onCancel) = (timer, onCancel)
    }

    func cancel() {
        guard timer.isPending else { return }
        timer.cancel()
        onCancel()
    }
}
