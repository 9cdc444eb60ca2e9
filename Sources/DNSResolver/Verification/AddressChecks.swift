package import DNSWire
package import Scheduling

/// The certificate checks of all names: a queue (`CheckQueue`) in which equal checks share one handshake, and a cache of
/// verdicts.
///
/// A handshake that takes longer than its questions goes on while there is room, so that the verdict on a slow server is
/// known when it is asked for again; one whose waiters have all been cancelled ends with them.
@Loop
package final class AddressChecks: AddressCheck {
    /// The most handshakes at once.
    package nonisolated static let limit = CheckQueue.limit
    /// How long a check may take, over all ports, whatever waits for it.
    package nonisolated static let longest: Duration = .milliseconds(1_500)

    /// Tried in this order until one speaks TLS.
    package nonisolated let ports: [UInt16]
    /// Where forged addresses are recorded.
    package nonisolated let journal: HijackJournal
    private let handshake: any Handshake
    private let timeOfDay: TimeOfDay?
    private let clock: any LoopClock
    private var found = VerdictCache()
    /// The checks that wait for their turn, or are under way.
    private var checks: [VerdictCache.Subject: PendingCheck] = [:]
    private var queue = CheckQueue()
    /// Fires at the end of the next turn for which others wait.
    private var turnTimer: LoopTimer?
    /// Incremented when everything is forgotten: the results of checks that began before are ignored.
    private var epoch = 0

    /// - Parameter timeOfDay: nothing is recorded while that cannot be right; nil: it always is.
    package nonisolated init(
        ports: [UInt16], handshake: any Handshake, journal: HijackJournal, timeOfDay: TimeOfDay? = nil,
        clock: any LoopClock
    ) {
        self.ports = ports
        self.handshake = handshake
        self.timeOfDay = timeOfDay
        self.journal = journal
        self.clock = clock
    }

    /// How many handshakes are under way, and how many checks wait for their turn.
    var load: (underWay: Int, waiting: Int) { queue.load }

    /// Drops all verdicts: on another network the same address may be another host.
    package func forgetAll() {
        found = VerdictCache()
        epoch += 1
    }

    /// Called with verdicts that hold for minutes, and for how long.
    package var onVerdict: (@Loop (Name, IPAddress, AddressVerdict, Duration) -> Void)?

    /// Restores a verdict that an earlier process reached on this network, where this one has none.
    ///
    /// - Parameter rest: how long it holds from now on; no longer than if it had been reached now.
    package func restore(_ verdict: AddressVerdict, on address: IPAddress, of name: Name, for rest: Duration) {
        guard let lifetime = verdict.lifetime, rest > .zero, known(address, for: name) == nil else { return }
        found.record(
            verdict, on: VerdictCache.Subject(name: name, address: address), for: min(rest, lifetime), at: clock.now)
    }

    package func known(_ address: IPAddress, for name: Name) -> AddressVerdict? {
        found.verdict(on: VerdictCache.Subject(name: name, address: address), at: clock.now)
    }

    package func evidence(of name: Name) -> [HijackedAddress] { journal.entries(of: name) }

    package func verdict(
        on address: IPAddress, for name: Name, from server: String, holder: ClientNetwork, until deadline: Instant
    ) async -> AddressVerdict {
        if let verdict = known(address, for: name) { return verdict }
        guard !found.isSilent(address, at: clock.now) else { return .noTLS }
        let subject = VerdictCache.Subject(name: name, address: address)
        guard clock.now < deadline, !Task.isCancelled else { return unchecked(subject) }
        if let check = checks[subject] ?? newCheck(subject, from: server, holder, until: deadline),
            let verdict = await wait(for: check, until: deadline), verdict != .unchecked
        {
            return verdict
        }
        // There was no room for it: until the deadline another client's check may reach a verdict.
        guard await clock.sleep(until: deadline) else { return .unchecked }
        return known(address, for: name) ?? unchecked(subject)
    }

    private func unchecked(_ subject: VerdictCache.Subject) -> AddressVerdict {
        found.isDiscredited(subject, at: clock.now) ? .discredited : .unchecked
    }

    /// - Returns: nil at `deadline` or when the task is cancelled.
    private func wait(for check: PendingCheck, until deadline: Instant) async -> AddressVerdict? {
        let waiter = PendingCheck.Waiter()
        check.expect(waiter, until: deadline)
        beginNext()
        let verdict = await withTaskCancellationHandler {
            await check.verdict(for: waiter, until: deadline, on: clock)
        } onCancel: {
            Loop.spawn { waiter.resume(nil) }
        }
        if verdict == nil { abandoned(check, isCancelled: Task.isCancelled) }
        return verdict
    }

    /// Called when a waiter stops waiting. A check goes on until its place is wanted, perhaps by one that waits already;
    /// it ends when all its waiters were cancelled.
    private func abandoned(_ check: PendingCheck, isCancelled: Bool) {
        guard !check.isWaitedFor, !check.isFinished else { return }
        if check.task == nil || isCancelled {
            check.task.take()?.cancel()
            queue.remove(check)
            finish(check, .unchecked)
        }
        beginNext()
    }

    // MARK: The queue

    /// Nil when the queue is full and the client network that would have most of it is `holder`.
    private func newCheck(
        _ subject: VerdictCache.Subject, from server: String, _ holder: ClientNetwork, until deadline: Instant
    ) -> PendingCheck? {
        let check = PendingCheck(subject, from: server, holder: holder, until: deadline)
        guard enqueue(check) else { return nil }
        checks[subject] = check
        return check
    }

    private func enqueue(_ check: PendingCheck) -> Bool {
        let (isAdded, removed) = queue.append(check)
        if let removed { finish(removed, .unchecked) }
        return isAdded
    }

    private func finish(_ check: PendingCheck, _ verdict: AddressVerdict) {
        checks[check.subject] = nil
        check.finish(verdict)
    }

    private func beginNext() {
        guard turnTimer == nil || !queue.isFull else { return }
        while true {
            switch queue.next(at: clock.now, found) {
            case .begin(let next, let displaced):
                next.task = Loop.spawn { [self] in await run(next) }
                if let displaced { displace(displaced) }
            case .wait(let end):
                turnTimer?.cancel()
                turnTimer = clock.schedule(at: end) { [self] in
                    turnTimer = nil
                    beginNext()
                }
                return
            case .rest: return
            }
        }
    }

    /// Ends the handshake of a check, which waits again if something waits for it.
    private func displace(_ check: PendingCheck) {
        check.task.take()?.cancel()
        if !check.isWaitedFor || !enqueue(check) { finish(check, .unchecked) }
    }

    // MARK: A check

    private func run(_ check: PendingCheck) async {
        let began = epoch
        let (verdict, conduct) = await look(at: check)
        // It was displaced.
        guard !Task.isCancelled else { return }
        queue.remove(check)
        if began == epoch {
            found.record(conduct, of: check.subject.address, at: clock.now)
            remember(verdict, of: check.subject)
        }
        finish(check, verdict)
        if found.isSilent(check.subject.address, at: clock.now) { dismiss(check.subject.address) }
        beginNext()
    }

    /// Ends the checks that wait for their turn at an address that was detected as silent.
    private func dismiss(_ address: IPAddress) {
        for check in queue.all where check.subject.address == address {
            queue.remove(check)
            finish(check, .noTLS)
        }
    }

    /// Tries the ports in turn; the first one with a certificate decides.
    private func look(at check: PendingCheck) async -> (AddressVerdict, VerdictCache.Conduct) {
        let subject = check.subject
        let deadline = clock.now + Self.longest
        var verdict = AddressVerdict.noTLS
        var conduct = VerdictCache.Conduct.silent
        for (index, port) in ports.enumerated() {
            let share = (deadline - clock.now) / (ports.count - index)
            let outcome = await handshake.shakeHands(
                with: subject.address, port: port, as: subject.name, until: clock.now + share)
            switch outcome {
            case .verified: return (.verified, .answered)
            case .wrongCertificate(let evidence):
                if !isClockDoubtful {
                    journal.record(subject.name, subject.address, from: check.server, port: port, evidence)
                }
                return (.forged, .answered)
            case .noTLS: conduct = .answered
            case .wrongTime: (verdict, conduct) = (.wrongTime, .answered)
            case .unclear: (verdict, conduct) = (verdict == .wrongTime ? verdict : .unclear, .answered)
            case .silent: break
            case .mute: if conduct == .silent { conduct = .unknown }
            case .unreachable: return (.unreachable, .unknown)
            case .cancelled: return (.unchecked, .unknown)
            }
        }
        return (verdict, conduct)
    }

    private var isClockDoubtful: Bool { timeOfDay?.doubt != nil }

    private func remember(_ verdict: AddressVerdict, of subject: VerdictCache.Subject) {
        guard let lifetime = verdict.lifetime, verdict != .forged || !isClockDoubtful else { return }
        found.record(verdict, on: subject, for: lifetime, at: clock.now)
        if verdict == .verified || verdict == .forged { onVerdict?(subject.name, subject.address, verdict, lifetime) }
    }
}

extension AddressVerdict {
    /// How long the verdict is cached; nil: not at all.
    ///
    /// A certificate that was right stays right for some time. A wrong one may be a mistake that is corrected; where
    /// there was no TLS there may be some as soon as a server has started.
    fileprivate var lifetime: Duration? {
        switch self {
        case .verified: .seconds(600)
        case .forged: .seconds(300)
        case .wrongTime, .noTLS, .unclear: .seconds(30)
        case .unreachable, .unchecked, .discredited: nil
        }
    }
}
