public import DNSWire

/// Probes the addresses of providers: those that are suspect, and those in backoff once their pause is over.
///
/// A probe asks for a name of the daemon's own choice on a connection of its own. Its outcome is the only evidence
/// against an address, or an account: clients' questions and their results decide only when a probe begins. They outlast a
/// policy, as the providers do: races of the next one wait for what has begun in this one.
@Loop
public final class Probes {
    /// A service that asks for a later retry is probed after this time nevertheless.
    private static let longestRetryAfter: Duration = .seconds(30)
    /// An attempt that another one has overtaken was silent if it took this long.
    private static let silence = Duration.milliseconds(300)
    /// The most time for a probe; the timeout of its provider may end it earlier.
    private static let longest: Duration = .seconds(2)

    /// When a backoff last ended: failures remembered from before count no longer.
    private(set) var lastRecovery: Instant?
    private var lastProbe = 0
    let clock: any LoopClock
    private let report: @Loop (ResolverEvent) -> Void
    /// Called when a probe ends or may begin; it ends soon, and the cancelled ones go with the others.
    private var waiters: [LoopTimer] = []

    public nonisolated init(clock: any LoopClock, report: @escaping @Loop (ResolverEvent) -> Void) {
        self.clock = clock
        self.report = report
    }

    // MARK: Begin

    /// Called when a question that began at `began` has no answer from this address: probes it, unless it answers
    /// others.
    func suspect(_ candidate: Candidate, since began: Instant) {
        if candidate.endpoint.health.isSuspect(since: began, at: clock.now) { begin(candidate) }
    }

    /// Begins the probe of an address in backoff if it is due: urgent where nothing else can be asked, or all is silent.
    func beginIfDue(_ candidate: Candidate, isUrgent: Bool) {
        if candidate.backoff.isDue(at: clock.now, isUrgent: isUrgent) { begin(candidate) }
    }

    private func begin(_ candidate: Candidate) {
        let (endpoint, provider) = (candidate.endpoint, candidate.provider)
        let began = clock.now
        lastProbe += 1
        let number = lastProbe
        endpoint.health.backoff.probeBegan(number)
        if provider.access.isActive, !provider.access.isProbing { provider.access.probeBegan(number) }
        endpoint.health.began()
        _ = endpoint.probe(until: began + Self.longest) { [self] reply in
            endpoint.health.backoff.probeEnded(number)
            provider.access.probeEnded(number)
            judge(reply, endpoint, provider, began)
            wake()
        }
    }

    // MARK: Result

    /// Judges an address by an attempt that began at `began`: an answer ends a backoff, anything else may be a reason
    /// for a probe.
    ///
    /// - Parameter reply: with all of its parts.
    func note(_ reply: UpstreamReply, from candidate: Candidate, began: Instant) {
        switch reply.failure {
        case nil: answered(candidate.endpoint, of: candidate.provider, isProbe: false)
        // Another address was asked later and answered sooner. A silent one would otherwise never be detected.
        case .cancelled?: if clock.now - began >= Self.silence { suspect(candidate, since: began) }
        case let failure?:
            candidate.endpoint.health.failed(failure.description, at: clock.now)
            if failure.isReasonForProbe { suspect(candidate, since: began) }
        }
    }

    private func judge(_ reply: UpstreamReply, _ endpoint: any Endpoint, _ provider: any Provider, _ began: Instant) {
        let now = clock.now
        let health = endpoint.health
        guard let failure = reply.failure else {
            accept(provider)
            return answered(endpoint, of: provider, isProbe: true)
        }
        health.failed(failure.description, at: now)
        switch failure {
        case .responseCode, .rejected:
            // It responds, though with an error that may be due to the name.
            accept(provider)
            answered(endpoint, of: provider, isProbe: true)
        case .overloaded, .cancelled:
            break
        case _ where health.isOutdated(began):
            break
        case .authentication(let reason), .clockSkew(let reason, _):
            answered(endpoint, of: provider, isProbe: true)
            let isNews = !provider.access.isActive
            provider.access.failed(at: now)
            if isNews { report(.providerRefusedAccess(provider: provider.name, reason: reason)) }
        case .timeout, .slow, .noServer, .network, .unusable, .refused, .certificate, .forged, .busy:
            failed(endpoint, of: provider, failure)
        }
    }

    private func accept(_ provider: any Provider) {
        guard provider.access.isActive else { return }
        provider.access.succeeded()
        lastRecovery = clock.now
        report(.providerAccepted(provider: provider.name))
    }

    private func failed(_ endpoint: any Endpoint, of provider: any Provider, _ failure: UpstreamFailure) {
        let now = clock.now
        let health = endpoint.health
        let isNews = health.isUsable
        if case .busy(_, let pause) = failure {
            health.backoff.failed(at: now, notBefore: now + min(pause, Self.longestRetryAfter))
        } else {
            health.backoff.failed(at: now)
        }
        endpoint.retireConnections()
        if case .certificate(let reason) = failure {
            guard health.refuseCertificate(reason) else { return }
            report(.certificateRefused(provider: provider.name, endpoint: endpoint.name, reason: reason))
        } else if isNews {
            report(
                .endpointInBackoff(provider: provider.name, endpoint: endpoint.name, reason: failure.description))
        }
    }

    /// Called when a question, of a client or of a probe, was answered at an address.
    func answered(_ endpoint: any Endpoint, of provider: any Provider, isProbe: Bool) {
        let health = endpoint.health
        let isBack = !health.isUsable
        let hadGoodCertificate = !isBack || health.refusedCertificate == nil
        if isProbe { health.probeAnswered(at: clock.now) } else { health.answered(at: clock.now) }
        guard isBack else { return }
        lastRecovery = clock.now
        report(
            hadGoodCertificate
                ? .endpointRecovered(provider: provider.name, endpoint: endpoint.name)
                : .certificateAccepted(provider: provider.name, endpoint: endpoint.name))
        // Later in this turn: the answer is still being passed on.
        if !isProbe, !waiters.isEmpty { _ = clock.schedule(at: clock.now) { [weak self] in self?.wake() } }
    }

    // MARK: Wait

    /// Calls `done` once, when a probe has ended or an address answers again.
    func wait(done: @escaping @Loop () -> Void) -> LoopTimer {
        let waiter = LoopTimer(done)
        waiters.append(waiter)
        return waiter
    }

    /// Calls all waiters, in the order in which they came: each checks for itself what it may do now.
    private func wake() {
        let woken = waiters
        waiters = []
        for waiter in woken { waiter.fire() }
    }
}

extension UpstreamFailure {
    /// Whether the address, or the account, may be at fault: only a probe can decide that.
    fileprivate var isReasonForProbe: Bool {
        switch self {
        case .timeout, .slow, .noServer, .network, .unusable, .refused, .certificate, .forged, .busy,
            .authentication, .clockSkew:
            true
        case .responseCode, .rejected, .overloaded, .cancelled: false
        }
    }
}
