package import DNSWire
package import Scheduling

/// The address checks of all names: coalesces equal checks into one handshake, limits how many run at once, and caches
/// the verdicts.
///
/// A handshake that takes longer than its waiters wait goes on while there is room, so that the verdict on a slow
/// server is known when it is asked for again; one whose waiters have all been cancelled ends with them.
/// `SilentAddresses` keeps addresses that do not respond from displacing others.
@Loop
package final class AddressChecks: AddressCheck {
    /// The most handshakes at once.
    package nonisolated static let limit = 32
    /// How many of these may be for further addresses of an answer: a long answer does not delay the first addresses of
    /// others.
    nonisolated static let furtherLimit = 24
    /// Checks that wait for their turn, shared fairly by client networks; beyond it an address stays unchecked.
    private nonisolated static let queueLimit = 1_024
    /// Those of them that may be for one address that has not responded yet.
    private static let unknownQueueLimit = 512
    /// For how long a check at an address that has not responded cannot be displaced.
    package nonisolated static let turn: Duration = .milliseconds(500)
    /// How long a check may take, over all ports, whatever waits for it.
    package nonisolated static let longest: Duration = .milliseconds(1_500)
    /// The most verdicts that are cached; beyond it they are dropped, which costs handshakes and never an answer.
    private static let capacity = 4_096

    private struct Subject: Hashable {
        let name: Name
        let address: IPAddress

        /// The address, and all names of one owner.
        var ofOwner: Subject { Subject(name: name.owner, address: address) }
    }

    /// Tried in this order until one speaks TLS.
    package nonisolated let ports: [UInt16]
    /// Where forged addresses are recorded.
    package nonisolated let journal: HijackJournal
    private let handshake: any Handshake
    private let timeOfDay: TimeOfDay?
    private let clock: any LoopClock
    private var verdicts: [Subject: (verdict: AddressVerdict, until: Instant)] = [:]
    private var checks: [Subject: PendingCheck] = [:]
    /// The checks that have not begun yet, in order.
    private var queue: [Subject] = []
    /// The client networks of the checks in `queue`, and the check of each ticket.
    private var waiting = FairShare(capacity: AddressChecks.queueLimit)
    private var subjects: [FairShare.Ticket: Subject] = [:]
    /// The client networks of the checks under way.
    private var active = FairShare(capacity: AddressChecks.limit)
    private var underWay: Int { active.count }
    private var running: [Subject: PendingCheck] = [:]
    /// Fires at the end of the next turn for which others wait.
    private var turnTimer: LoopTimer?
    /// Whether addresses have lately shown a right certificate, for any name of one owner.
    private var shown: [Subject: (isRight: Bool, until: Instant)] = [:]
    private var silent = SilentAddresses()
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
    var load: (underWay: Int, waiting: Int) { (underWay, queue.count) }

    /// Drops all verdicts: on another network the same address may be another host.
    package func forgetAll() {
        verdicts = [:]
        shown = [:]
        silent.forgetAll()
        epoch += 1
    }

    /// Called with verdicts that hold for minutes, and for how long.
    package var onVerdict: (@Loop (Name, IPAddress, AddressVerdict, Duration) -> Void)?

    /// Restores a verdict that an earlier process reached on this network, where this one has none.
    ///
    /// - Parameter rest: how long it holds from now on; no longer than if it had been reached now.
    package func restore(_ verdict: AddressVerdict, on address: IPAddress, of name: Name, for rest: Duration) {
        let subject = Subject(name: name, address: address)
        guard let lifetime = verdict.lifetime, rest > .zero, verdicts[subject] == nil, verdicts.count < Self.capacity
        else { return }
        let until = clock.now + min(rest, lifetime)
        verdicts[subject] = (verdict, until)
        note(verdict, of: subject, until: until)
    }

    package func known(_ address: IPAddress, for name: Name) -> AddressVerdict? {
        guard let (verdict, until) = verdicts[Subject(name: name, address: address)], clock.now < until else {
            return nil
        }
        return verdict
    }

    package func hasVerified(_ name: Name) -> Bool {
        verdicts.contains { $0.key.name == name && $0.value.verdict == .verified && clock.now < $0.value.until }
    }

    package func watch(_ address: IPAddress, for name: Name, found: @escaping @Loop () -> Void) {
        checks[Subject(name: name, address: address)]?.watch(found)
    }

    package func evidence(of name: Name) -> [HijackedAddress] { journal.entries(of: name) }

    package func verdict(
        on address: IPAddress, for name: Name, isFirst: Bool, holder: ClientNetwork, until deadline: Instant
    ) async -> AddressVerdict {
        if let verdict = known(address, for: name) { return verdict }
        guard !silent.isSilent(address, at: clock.now) else { return .noTLS }
        let subject = Subject(name: name, address: address)
        guard clock.now < deadline, !Task.isCancelled else { return unchecked(subject) }
        if let check = pending(subject, holder) {
            let verdict = await wait(for: check, of: subject, isFirst: isFirst, until: deadline)
            if let verdict, verdict != .unchecked { return verdict }
        }
        // There was no room for it: until the deadline another client's check may reach a verdict.
        guard await clock.sleep(until: deadline) else { return .unchecked }
        return known(address, for: name) ?? unchecked(subject)
    }

    /// - Returns: nil at `deadline` or when the task is cancelled.
    private func wait(
        for check: PendingCheck, of subject: Subject, isFirst: Bool, until deadline: Instant
    ) async -> AddressVerdict? {
        check.isFirst = check.isFirst || isFirst
        let waiter = PendingCheck.Waiter()
        // Before a check begins: those without waiters are displaced.
        check.expect(waiter)
        beginNext()
        let verdict = await withTaskCancellationHandler {
            await check.verdict(for: waiter, until: deadline, on: clock)
        } onCancel: {
            Loop.spawn { waiter.resume(nil) }
        }
        if verdict == nil { abandoned(subject, check, isCancelled: Task.isCancelled) }
        return verdict
    }

    private func unchecked(_ subject: Subject) -> AddressVerdict {
        guard let shown = shown[subject.ofOwner], !shown.isRight, clock.now < shown.until else { return .unchecked }
        return .discredited
    }

    package func goOn(_ address: IPAddress, for name: Name) {
        checks[Subject(name: name, address: address)]?.goesOn = true
    }

    // MARK: The queue

    /// The check of `subject`, a new one if there is none; nil when the queue is full and the client network that would
    /// have most of it is `holder`.
    private func pending(_ subject: Subject, _ holder: ClientNetwork) -> PendingCheck? {
        if let check = checks[subject] { return check }
        guard mayWait(subject.address) else { return nil }
        if waiting.isFull {
            guard let leaving = waiting.yielding(to: holder).flatMap({ subjects[$0] }) else { return nil }
            let check = checks.removeValue(forKey: leaving)
            leaveQueue(leaving, check)
            check?.finish(.unchecked)
        }
        let check = PendingCheck(holder: holder)
        checks[subject] = check
        enterQueue(subject, check)
        return check
    }

    private func enterQueue(_ subject: Subject, _ check: PendingCheck) {
        let ticket = waiting.add(for: check.holder)
        check.ticket = ticket
        subjects[ticket] = subject
        queue.append(subject)
    }

    private func leaveQueue(_ subject: Subject, _ check: PendingCheck?) {
        queue.removeAll { $0 == subject }
        guard let ticket = check?.ticket.take() else { return }
        subjects[ticket] = nil
        waiting.remove(ticket)
    }

    private func mayWait(_ address: IPAddress) -> Bool {
        queue.count < Self.unknownQueueLimit || silent.hasAnswered(address)
            || queue.count { $0.address == address } < Self.unknownQueueLimit
    }

    /// Begins the checks for which there is room: first addresses, then further ones. Checks without waiters are
    /// displaced.
    private func beginNext() {
        while underWay < Self.limit, let subject = next() { begin(subject) }
        // With room left, checks wait only for the turn of their address, and displacing others would not help.
        guard underWay >= Self.furtherLimit else { return }
        let waiting = queue.count { checks[$0]?.isWaitedFor == true }
        guard waiting > 0 else { return }
        for check in running.values.filter({ !$0.isWaitedFor }).prefix(waiting) { displace(check) }
        endTurns()
    }

    /// Displaces checks at addresses that have not responded, once their turn is over, in favour of checks that have
    /// had none: otherwise new silent addresses, of any number, would keep the others from being checked in time. Runs
    /// again when the next turn is over.
    private func endTurns() {
        guard turnTimer == nil, underWay >= Self.limit else { return }
        let now = clock.now
        let turns = running.filter { !$0.value.gaveWay && !silent.hasAnswered($0.key.address) }
            .values.sorted { ($0.began ?? now) < ($1.began ?? now) }
        guard !turns.isEmpty else { return }
        var wanted = queue.count { subject in
            checks[subject].map { $0.isFirst && $0.began == nil && isReady(subject, $0, at: now) } ?? false
        }
        for check in turns where wanted > 0 {
            let end = (check.began ?? now) + Self.turn
            guard end <= now else {
                turnTimer = clock.schedule(at: end) { [self] in
                    turnTimer = nil
                    endTurns()
                }
                return
            }
            displace(check)
            wanted -= 1
        }
    }

    private func displace(_ check: PendingCheck) {
        check.gaveWay = true
        check.task?.cancel()
    }

    private func isReady(_ subject: Subject, _ check: PendingCheck, at now: Instant) -> Bool {
        check.isWaitedFor && silent.hasRoom(subject.address, at: now)
    }

    /// First addresses go before further ones; then the client network with the fewest checks under way goes first; of
    /// its addresses those that have responded go first, and those that have had their turn last: forged answers bring
    /// any number of new silent ones.
    private func next() -> Subject? {
        let now = clock.now
        func best(_ isCandidate: (PendingCheck) -> Bool) -> Subject? {
            var best: (subject: Subject, rank: (Int, Int))?
            for subject in queue {
                guard let check = checks[subject], isCandidate(check), isReady(subject, check, at: now) else {
                    continue
                }
                let order = silent.hasAnswered(subject.address) ? 0 : check.began == nil ? 1 : 2
                let rank = (active.held(by: check.holder), order)
                if best.map({ rank < $0.rank }) ?? true { best = (subject, rank) }
            }
            return best?.subject
        }
        return best(\.isFirst) ?? (underWay < Self.furtherLimit ? best { _ in true } : nil)
    }

    private func begin(_ subject: Subject) {
        let check = checks[subject]
        leaveQueue(subject, check)
        guard let check else { return }
        check.ticket = active.add(for: check.holder)
        check.began = clock.now
        running[subject] = check
        silent.began(subject.address, at: clock.now)
        check.task = Loop.spawn { [self] in await run(subject, check) }
    }

    /// Called when a waiter stops waiting.
    private func abandoned(_ subject: Subject, _ check: PendingCheck, isCancelled: Bool) {
        guard !check.isWaitedFor, checks[subject] === check else { return }
        if let task = check.task {
            // Otherwise it goes on until its place is wanted: perhaps by a check that waits already.
            if isCancelled, !check.goesOn { task.cancel() } else { beginNext() }
        } else {
            checks[subject] = nil
            leaveQueue(subject, check)
        }
    }

    // MARK: A check

    private func run(_ subject: Subject, _ check: PendingCheck) async {
        let began = epoch
        let (verdict, conduct) = await look(at: subject)
        if let ticket = check.ticket.take() { active.remove(ticket) }
        running[subject] = nil
        let mayGoOn = check.gaveWay && check.isWaitedFor && checks[subject] === check
        silent.ended(subject.address, began == epoch ? conduct : .unknown, at: clock.now)
        if verdict == nil, mayGoOn {
            (check.task, check.gaveWay) = (nil, false)
            enterQueue(subject, check)
            return beginNext()
        }
        if checks[subject] === check { checks[subject] = nil }
        if let verdict, began == epoch { remember(verdict, of: subject) }
        check.finish(verdict ?? .unchecked)
        if silent.isSilent(subject.address, at: clock.now) { dismiss(subject.address) }
        beginNext()
    }

    /// Ends the checks that wait for their turn at an address that was detected as silent.
    private func dismiss(_ address: IPAddress) {
        for subject in queue where subject.address == address {
            let check = checks.removeValue(forKey: subject)
            leaveQueue(subject, check)
            check?.finish(.noTLS)
        }
    }

    /// Tries the ports in turn; the first one with a certificate decides.
    ///
    /// - Returns: the verdict, nil when it was cancelled; and what the handshakes say of the address.
    private func look(at subject: Subject) async -> (verdict: AddressVerdict?, conduct: SilentAddresses.Conduct) {
        let deadline = clock.now + Self.longest
        var verdict = AddressVerdict.noTLS
        var conduct = SilentAddresses.Conduct.silent
        for (index, port) in ports.enumerated() {
            let share = (deadline - clock.now) / (ports.count - index)
            let end = clock.now + share
            let outcome = await handshake.shakeHands(
                with: subject.address, port: port, as: subject.name, until: end)
            switch outcome {
            case .verified: return (.verified, .answered)
            case .wrongCertificate(let evidence):
                if !isClockDoubtful { journal.record(subject.name, subject.address, port: port, evidence) }
                return (.forged, .answered)
            case .noTLS: conduct = .answered
            case .unclear: (verdict, conduct) = (.unclear, .answered)
            case .silent: break
            case .mute: if conduct == .silent { conduct = .unknown }
            case .unreachable: return (.unreachable, .unknown)
            case .cancelled: return (nil, conduct == .answered ? .answered : .unknown)
            }
        }
        return (verdict, conduct)
    }

    private var isClockDoubtful: Bool { timeOfDay?.doubt != nil }

    private func remember(_ verdict: AddressVerdict, of subject: Subject) {
        guard let lifetime = verdict.lifetime, verdict != .forged || !isClockDoubtful else { return }
        let now = clock.now
        if verdicts.count >= Self.capacity {
            verdicts = verdicts.filter { now < $0.value.until }
            if verdicts.count >= Self.capacity { verdicts = [:] }
        }
        verdicts[subject] = (verdict, now + lifetime)
        note(verdict, of: subject, until: now + lifetime)
        if verdict == .verified || verdict == .forged { onVerdict?(subject.name, subject.address, verdict, lifetime) }
    }

    /// Records what an address has shown for the names of one owner; a right certificate takes precedence over a wrong
    /// one. A name that its owner points at another's address shows nothing of the other's names.
    private func note(_ verdict: AddressVerdict, of subject: Subject, until end: Instant) {
        guard verdict == .verified || verdict == .forged else { return }
        let now = clock.now
        let isRight = verdict == .verified
        let subject = subject.ofOwner
        if !isRight, let shown = shown[subject], shown.isRight, now < shown.until { return }
        if shown.count >= Self.capacity { shown = shown.filter { now < $0.value.until } }
        if shown.count >= Self.capacity { shown = [:] }
        shown[subject] = (isRight, end)
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
        case .noTLS, .unclear: .seconds(30)
        case .unreachable, .unchecked, .discredited: nil
        }
    }
}
