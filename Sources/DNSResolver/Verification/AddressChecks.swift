package import DNSWire
package import Scheduling

/// The certificate checks of the addresses that LocalDNS gives for protected names (Documentation/Strategy.md, section 4):
/// a queue in which equal checks share one handshake, and a cache of verdicts.
///
/// A handshake that takes longer than its questions goes on, so that the verdict on a slow server is known when it is
/// asked for again, and a silent one as such; one whose waiters have all been cancelled ends with them.
@Loop
package final class AddressChecks {
    /// The most handshakes at once.
    package nonisolated static let limit = 64
    /// How long a handshake may take, over all ports.
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
    private(set) var pending: [VerdictCache.Subject: PendingCheck] = [:]
    private var queue = CheckQueue()
    /// Fires at the end of the next turn for which others wait.
    private var turnTimer: LoopTimer?

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

    /// Called with verdicts that a certificate decided, and for how long they hold.
    package var onVerdict: (@Loop (Name, IPAddress, AddressVerdict, Duration) -> Void)?

    /// Whether the clock cannot be right.
    var isClockDoubtful: Bool { timeOfDay?.doubt != nil }

    /// The verdict that holds on an address of a name; nil: none.
    package func known(_ address: IPAddress, for name: Name) -> AddressVerdict? {
        found.verdict(on: VerdictCache.Subject(name: name, address: address), at: clock.now)
    }

    /// Drops all verdicts, and ends the checks, which say nothing about another network: there the same address may be
    /// another host. What waits for one goes on waiting.
    package func forgetAll() {
        found = VerdictCache()
        for check in pending.values { end(check, nil) }
    }

    /// Restores a verdict that an earlier process reached on this network, where this one has none.
    ///
    /// - Parameter rest: how long it holds from now on; no longer than if it had been reached now.
    package func restore(_ verdict: AddressVerdict, on address: IPAddress, of name: Name, for rest: Duration) {
        guard let lifetime = verdict.lifetime, rest > .zero, known(address, for: name) == nil else { return }
        found.record(
            verdict, on: VerdictCache.Subject(name: name, address: address), for: min(rest, lifetime), at: clock.now)
    }

    // MARK: Waiting

    /// Checks whether the server at `address` shows a certificate of the name.
    ///
    /// - Parameters:
    ///   - server: the server of LocalDNS that gave the address.
    ///   - holder: the client network whose fair share of the checks it counts against.
    ///   - deadline: when, without a verdict, it is `.forged` where its owner's other names make it so.
    ///   - end: when, without a verdict, it is `.unchecked`; no earlier than the deadline.
    ///   - done: called once with the verdict, never before this returns.
    package func check(
        _ address: IPAddress, of name: Name, from server: String, for holder: ClientNetwork, until deadline: Instant,
        orElse end: Instant, done: @escaping @Loop (AddressVerdict) -> Void
    ) -> any Cancellable {
        let subject = VerdictCache.Subject(name: name, address: address)
        let end = max(deadline, end)
        let waiter = CheckWaiter(done) { [self] in left(subject, isCancelled: true) }
        let isSilent = found.hasAnswered(address, at: clock.now) == false
        if let verdict = known(address, for: name) ?? (isSilent ? .unverified : nil) {
            waiter.timer = clock.schedule(at: clock.now) { waiter.resume(verdict) }
            return waiter
        }
        waiter.timer = clock.schedule(at: deadline) { [self] in expire(waiter, subject, until: end) }
        guard clock.now < end else { return waiter }
        let check = pending[subject] ?? enqueue(PendingCheck(subject, from: server, holder: holder, until: end))
        check.add(waiter, until: end)
        beginNext()
        return waiter
    }

    /// At its deadline: another client's check may have reached a verdict.
    private func expire(_ waiter: CheckWaiter, _ subject: VerdictCache.Subject, until end: Instant) {
        let verdict = found.lastVerdict(on: subject, at: clock.now)
        guard verdict != .unchecked || clock.now >= end else {
            waiter.timer = clock.schedule(at: end) { [self] in expire(waiter, subject, until: end) }
            return
        }
        waiter.resume(verdict)
        left(subject, isCancelled: false)
    }

    /// Called when a waiter waits no longer.
    private func left(_ subject: VerdictCache.Subject, isCancelled: Bool) {
        guard let check = pending[subject], !check.isWaitedFor, check.handshakes == nil || isCancelled else { return }
        end(check, nil)
        beginNext()
    }

    // MARK: The queue

    @discardableResult
    private func enqueue(_ check: PendingCheck) -> PendingCheck {
        pending[check.subject] = check
        if let removed = queue.append(check) { pending[removed.subject] = nil }
        return check
    }

    /// Removes a check, and ends its handshake.
    ///
    /// - Parameter verdict: nil: none; what waits for one goes on waiting.
    private func end(_ check: PendingCheck, _ verdict: AddressVerdict?) {
        check.handshakes.take()?.cancel()
        queue.remove(check)
        pending[check.subject] = nil
        if let verdict { for waiter in check.waiters { waiter.resume(verdict) } }
    }

    private func beginNext() {
        guard turnTimer == nil || !queue.isFull else { return }
        while true {
            switch queue.next(at: clock.now, found) {
            case .begin(let next, let displaced):
                next.handshakes = SpawnedWork({ [self] in await look(at: next) }) { [self] in ended(next, $0.0, $0.1) }
                guard let displaced else { continue }
                displaced.handshakes.take()?.cancel()
                if displaced.isWaitedFor { enqueue(displaced) } else { pending[displaced.subject] = nil }
            case .wait(let end):
                guard let end else { return }
                turnTimer?.cancel()
                turnTimer = clock.schedule(at: end) { [self] in
                    turnTimer = nil
                    beginNext()
                }
                return
            }
        }
    }

    // MARK: A check

    private func ended(_ check: PendingCheck, _ verdict: AddressVerdict?, _ hasAnswered: Bool?) {
        let (subject, now) = (check.subject, clock.now)
        found.note(hasAnswered: hasAnswered, subject.address, at: now)
        if let verdict, let lifetime = verdict.lifetime, verdict != .forged || !isClockDoubtful {
            found.record(verdict, on: subject, for: lifetime, at: now)
            if verdict.isDecided { onVerdict?(subject.name, subject.address, verdict, lifetime) }
        }
        end(check, verdict)
        if found.hasAnswered(subject.address, at: now) == false {
            for other in queue.waiting where other.subject.address == subject.address { end(other, .unverified) }
        }
        beginNext()
    }

    /// Tries the ports in turn; the first one with a certificate decides.
    ///
    /// - Returns: nil for what is not known: the verdict, and whether the address has answered, whatever the name.
    private func look(at check: PendingCheck) async -> (AddressVerdict?, hasAnswered: Bool?) {
        guard !Task.isCancelled else { return (nil, nil) }
        let subject = check.subject
        let deadline = clock.now + Self.longest
        var (verdict, hasAnswered) = (AddressVerdict.unverified, Bool?.some(false))
        for (index, port) in ports.enumerated() {
            let share = (deadline - clock.now) / (ports.count - index)
            let outcome = await handshake.shakeHands(
                with: subject.address, port: port, as: subject.name, until: clock.now + share)
            switch outcome {
            case .verified: return (.verified, true)
            case .wrongCertificate(let evidence):
                if !isClockDoubtful {
                    journal.record(subject.name, subject.address, from: check.server, port: port, evidence)
                }
                return (.forged, true)
            case .wrongTime: (verdict, hasAnswered) = (.wrongTime, true)
            case .noTLS: hasAnswered = true
            case .unclear: if hasAnswered == false { hasAnswered = nil }
            case .silent: break
            case .unreachable: return (.unreachable, nil)
            case .cancelled: return (nil, nil)
            }
        }
        return (verdict, hasAnswered)
    }
}

/// Makes TLS handshakes with servers, to verify their certificates.
@Loop
package protocol Handshake: AnyObject, Sendable {
    /// Makes one, with the name as SNI and as the name that the certificate must carry. Ends by `deadline`, and at once
    /// when the task is cancelled.
    func shakeHands(with address: IPAddress, port: UInt16, as name: Name, until deadline: Instant) async
        -> HandshakeOutcome
}

/// How a handshake ended.
package enum HandshakeOutcome: Hashable, Sendable {
    /// The certificate is valid for the name.
    case verified
    /// It is not.
    case wrongCertificate(CertificateEvidence)
    /// It is but for its time: this machine's clock may be wrong, or the site's operator may have renewed late.
    case wrongTime
    /// The server answered without a certificate: it refused the connection, ended it, or speaks something else.
    case noTLS
    /// There was no response at all in time: not even a TCP connection.
    case silent
    /// Nothing is known of the address: there was a TCP connection and no TLS in time, perhaps for this name alone, or no
    /// handshake can be made with this name.
    case unclear
    /// The address is unreachable from here, which says nothing about the server.
    case unreachable
    /// It was cancelled, or there was no room for it on this host: it was not made.
    case cancelled
}

/// Details of a certificate that is not the name's. Texts are bounded, and of printable ASCII only.
package struct CertificateEvidence: Hashable, Sendable {
    /// Why it is refused.
    package var reason: String
    /// Distinguished names in RFC 2253's form; empty when they could not be read.
    package var subject: String
    package var issuer: String
    /// SHA-256 of the whole certificate in hexadecimal; empty when it is not available.
    package var fingerprint: String

    package init(reason: String, subject: String = "", issuer: String = "", fingerprint: String = "") {
        self.reason = reason
        self.subject = subject
        self.issuer = issuer
        self.fingerprint = fingerprint
    }
}

extension CertificateEvidence: CustomStringConvertible {
    /// One sentence without its subject: "its certificate ...".
    package var description: String {
        var text = reason
        if !subject.isEmpty { text += ": subject \(subject)" }
        if !issuer.isEmpty { text += ", issuer \(issuer)" }
        return text
    }
}
