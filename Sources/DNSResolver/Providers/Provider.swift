public import DNSWire

/// One HTTPDNS service as configured: for which names it is asked, and at which addresses.
@Loop
public protocol Provider: AnyObject, Sendable {
    nonisolated var name: String { get }

    /// Whether one call returns A and AAAA together.
    nonisolated var answersBothFamilies: Bool { get }

    /// Whether the service can be asked for records of this type.
    nonisolated func answers(_ type: RecordType) -> Bool

    /// Whether a question can forbid the service to validate (CD); by default where it has signatures.
    nonisolated var takesCheckingDisabled: Bool { get }

    /// Suffixes for which the provider is asked; empty means every name.
    nonisolated var names: [Name] { get }

    /// Whether answers are authenticated on the path; over plain HTTP they can be forged or replayed.
    nonisolated var isAuthenticated: Bool { get }

    /// The most of clients' addresses that it is sent; nil: nothing, or the same for all clients.
    nonisolated var clientScoping: ClientScoping? { get }

    /// The addresses of the service, in the order in which they are asked; may change when its host is looked up again.
    var endpoints: [any Endpoint] { get }

    /// Requests that wait for a free slot on a connection to the service.
    var waitingRequests: Int { get }

    /// Why it may not be asked now whatever the state of its addresses, in words for users; nil when it may.
    var unavailability: String? { get }

    /// How many of its calls one client network may have caused since half of a limit was spent; `.max` while none is half
    /// spent, nil without a limit.
    var callShare: Int? { get }

    /// Called when a question does not ask it because of its `unavailability`.
    func leftOut()

    /// Whether it may be asked beside another provider that is slow; false avoids the cost of a metered one, which is
    /// then asked only after the others have failed, or after 0.9 s (Documentation/Strategy.md).
    nonisolated var mayHedge: Bool { get }

    /// Backoff of the account: refused credentials. Written by `Probes`.
    var access: Backoff { get set }
}

/// One address of a provider's service.
@Loop
public protocol Endpoint: Upstream {
    /// Written by the selector and its probes; its response time by the endpoint.
    var health: AddressHealth { get }

    /// Asks for a name of the daemon's own choice on a connection made for it; once it is answered, that connection
    /// replaces the others.
    ///
    /// - Parameters:
    ///   - deadline: when it ends at the latest; the provider's own timeout ends it earlier.
    ///   - done: called once, on the loop, never before this returns; not after `cancel()`.
    func probe(until deadline: Instant, done: @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable

    /// How long a question may have no answer before the address is suspect.
    nonisolated var silence: Duration { get }

    /// Sends no further request on the existing connections: the address is in backoff.
    func retireConnections()

    /// The most requests at once that it is sent, since it has said "not so fast"; nil: as many as there are.
    var pace: Int? { get }
}

extension Provider {
    public nonisolated var takesCheckingDisabled: Bool { answers(.rrsig) }
}

extension Endpoint {
    public nonisolated var silence: Duration { .milliseconds(900) }

    public var pace: Int? { nil }
}

/// An address of a provider that may be asked for a question.
@Loop
struct Candidate {
    /// The index of the provider, from 0.
    let index: Int
    let provider: any Provider
    let endpoint: any Endpoint

    /// For operators.
    var text: String { "\(provider.name) at \(endpoint.name)" }

    /// Whether neither the address nor the provider's account is in backoff.
    var isUsable: Bool { endpoint.health.isUsable && !provider.access.isActive && provider.unavailability == nil }

    /// Whether a successful probe would make it usable.
    var isInBackoff: Bool {
        (!endpoint.health.isUsable || provider.access.isActive) && provider.unavailability == nil
    }

    /// The backoff because of which it cannot be asked: the address's, else the account's.
    var backoff: Backoff { endpoint.health.isUsable ? provider.access : endpoint.health.backoff }
}

extension Provider {
    /// Whether it may be asked for this name.
    public nonisolated func serves(_ name: Name) -> Bool {
        names.isEmpty || names.contains { name.isWithin($0) }
    }
}

/// The state of one address of a provider, or of a LocalDNS server: whether it is in backoff, how fast it is, and its counters.
///
/// Names are chosen by clients, so that a question of a client is never evidence against an address: one without an
/// answer only makes the address suspect, and a probe with a name of the daemon's own choice decides (`Probes`).
///
/// An object: each question reads it several times, and a copy would be long.
public final class AddressHealth {
    /// How long after a successful probe the address is not suspect again: names that are slow by themselves, and
    /// clients that ask for them on purpose, cost no more probes than this.
    public static let trust: Duration = .seconds(5)

    public var backoff = Backoff()
    /// When a question, including a probe's, was last answered here.
    private var lastAnswer: Instant?
    private var lastNetworkChange: Instant?
    private var lastCleanProbe: Instant?
    /// Why the certificate was refused by the last probe; nil when it was not, or one was accepted since.
    public private(set) var refusedCertificate: String?
    /// From a request on a ready connection to the first byte of its reply: an exponentially weighted moving average (EWMA);
    /// nil before the first one.
    public private(set) var responseTime: Duration?
    /// For output only; nothing is decided by them.
    public var counters = Counters()

    /// The weight of a new response time is one part in this many.
    private static let memory = 8

    public init() {}

    /// Counters of one address since it is known.
    public struct Counters: Sendable {
        public var requests = 0
        /// Requests without an answer, except those cancelled because another address was faster.
        public var failures = 0
        /// Why the last of these failed, and when.
        public var lastFailure: (reason: String, at: Instant)?
    }

    /// Whether questions may be sent there.
    public var isUsable: Bool { !backoff.isActive }

    /// Called when a question is sent there.
    public func began() { counters.requests += 1 }

    /// Called when a question was answered there: a backoff ends, whatever failed before.
    public func answered(at now: Instant) {
        lastAnswer = now
        guard backoff.isActive else { return }
        backoff.succeeded()
        refusedCertificate = nil
    }

    /// Records how soon a reply began.
    public func measured(_ time: Duration) {
        responseTime = responseTime.map { $0 + (time - $0) / Self.memory } ?? time
    }

    /// Called when a question was not answered.
    public func failed(_ reason: String, at now: Instant) {
        counters.failures += 1
        counters.lastFailure = (reason, now)
    }

    /// Whether a question that began at `began`, and was not answered, is a reason for a probe.
    public func isSuspect(since began: Instant, at now: Instant) -> Bool {
        guard isUsable, !backoff.isProbing, !isOutdated(began) else { return false }
        return lastCleanProbe.map { now - $0 >= Self.trust } ?? true
    }

    /// Whether any question was answered there since.
    public func hasAnswered(since began: Instant) -> Bool { lastAnswer.map { $0 > began } ?? false }

    /// Whether a failure of what began then says nothing any more: a question was answered there since, or the network
    /// has changed.
    public func isOutdated(_ began: Instant) -> Bool {
        hasAnswered(since: began) || lastNetworkChange.map { $0 > began } ?? false
    }

    /// Called when a probe was answered.
    public func probeAnswered(at now: Instant) {
        lastCleanProbe = now
        answered(at: now)
    }

    /// Records that a probe refused the certificate. Returns whether that, or the reason, is new.
    public func refuseCertificate(_ reason: String) -> Bool {
        defer { refusedCertificate = reason }
        return refusedCertificate != reason
    }

    /// Resets the state, since the network has changed: results of probes begun before are meaningless.
    public func networkChanged(at now: Instant) {
        backoff.succeeded()
        lastNetworkChange = now
        lastCleanProbe = nil
        refusedCertificate = nil
        responseTime = nil
    }
}
