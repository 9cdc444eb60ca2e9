package import DNSWire
package import Scheduling

/// Whatever can be asked and takes care of its own retries: LocalDNS, or the servers of a `forward` entry.
@Loop
package protocol Upstream: AnyObject, Sendable {
    /// What logs and extended errors call it.
    nonisolated var name: String { get }

    /// Asks, and returns by the question's deadline whatever happens; sooner when the task is cancelled.
    func ask(_ question: UpstreamQuestion) async -> UpstreamReply
}

/// One HTTPDNS service as configured: which names it is asked for, and where.
@Loop
package protocol Provider: AnyObject, Sendable {
    nonisolated var name: String { get }

    /// Whether one call brings A and AAAA together.
    nonisolated var answersBothFamilies: Bool { get }

    /// Whether the service can be asked for records of this type.
    nonisolated func answers(_ type: RecordType) -> Bool

    /// How many names one request may carry; 1: each takes a request of its own.
    nonisolated var maximumNames: Int { get }

    /// Suffixes that the provider is asked for; empty means every name.
    nonisolated var names: [Name] { get }

    /// Whether answers are authenticated on the way; plain HTTP can be forged.
    nonisolated var isAuthenticated: Bool { get }

    /// How much it is told of clients' addresses; nil: nothing, or the same for all clients.
    nonisolated var clientScoping: ClientScoping? { get }

    /// Where the service is reached, in configured order; may change as its host is looked up again.
    var endpoints: [any Endpoint] { get }

    /// Why it may not be asked now whatever its addresses are like, in words for people; nil when it may.
    var unavailability: String? { get }

    /// Kept here for the selector.
    var health: ProviderHealth { get set }

    /// Kept here for the selector.
    var ranking: AddressRanking { get set }
}

/// IPv4 or IPv6.
package enum AddressFamily: Hashable, Sendable {
    case ipv4, ipv6
}

/// One address of a provider's service.
@Loop
package protocol Endpoint: AnyObject, Sendable {
    /// The address and port, for logs.
    nonisolated var name: String { get }

    nonisolated var family: AddressFamily { get }

    /// Kept here for the selector; the response time in it is the endpoint's to keep.
    var health: EndpointHealth { get set }

    /// Begins one attempt: one request and its reply by the question's deadline.
    ///
    /// Asked for both families together only if its provider answers them so.
    /// - Parameter done: called once, on the loop, never before this returns; not after `cancel()`, which ends the attempt
    ///   at once and harms no other on the same connection.
    func begin(_ question: UpstreamQuestion, done: @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable
}

extension Endpoint {
    /// Makes one attempt and waits for its end; ends at once when the task is cancelled.
    package func ask(_ question: UpstreamQuestion) async -> UpstreamReply {
        let attempt = AwaitedAttempt()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                attempt.continuation = continuation
                guard !Task.isCancelled else { return attempt.cancel(question.types) }
                attempt.work = begin(question) { attempt.finish($0) }
            }
        } onCancel: {
            // May run anywhere, also inside a C callback: only enqueue.
            Loop.spawn { attempt.cancel(question.types) }
        }
    }
}

/// One attempt that a task waits for.
@Loop
private final class AwaitedAttempt {
    var continuation: CheckedContinuation<UpstreamReply, Never>?
    var work: (any Cancellable)?

    nonisolated init() {}

    func finish(_ reply: UpstreamReply) {
        work = nil
        continuation.take()?.resume(returning: reply)
    }

    func cancel(_ types: [RecordType]) {
        work.take()?.cancel()
        finish(UpstreamReply(failure: .cancelled, types: types))
    }
}

/// What an upstream is asked.
package struct UpstreamQuestion: Hashable, Sendable {
    /// Lower-cased.
    package var name: Name
    /// One type, or A and AAAA together.
    package var types: [RecordType]
    package var dnssecOK: Bool
    package var checkingDisabled: Bool
    /// The network of the clients for whom it is asked, which a service may be told; nil: none.
    package var clientNetwork: AddressPrefix?
    /// Whether it may share a request with others that begin in the same turn of the loop, at a service that takes batches.
    package var mayBeBatched: Bool
    /// When the asker stops waiting.
    package var deadline: Instant

    package init(
        name: Name, types: [RecordType], dnssecOK: Bool = false, checkingDisabled: Bool = false,
        clientNetwork: AddressPrefix? = nil, mayBeBatched: Bool = false, deadline: Instant
    ) {
        self.name = name
        self.types = types
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
        self.clientNetwork = clientNetwork
        self.mayBeBatched = mayBeBatched
        self.deadline = deadline
    }
}

/// What came of asking: a result for every type asked.
package struct UpstreamReply: Hashable, Sendable {
    package var results: RecordTypeMap<UpstreamResult>
    /// The address and port of the server that told it; empty when none did.
    package var server: String
    /// Whether the failure is that of a shared request, and another question's reply speaks for it already.
    package var isRepetition = false

    package init(_ results: RecordTypeMap<UpstreamResult>, server: String = "") {
        self.results = results
        self.server = server
    }

    /// A result for each of `types`.
    package init(_ types: [RecordType], server: String = "", result: (RecordType) -> UpstreamResult) {
        var results = RecordTypeMap<UpstreamResult>()
        for type in types { results[type] = result(type) }
        self.init(results, server: server)
    }

    /// The same failure for each of `types`.
    package init(failure: UpstreamFailure, types: [RecordType]) {
        self.init(RecordTypeMap(types.lazy.map { ($0, .failure(failure)) }))
    }
}

/// What came of asking for one type.
package enum UpstreamResult: Hashable, Sendable {
    /// Records, or a told NXDOMAIN or NODATA. In a box, for it is handed on many times.
    indirect case answer(Answer)
    /// Nothing, without a cause: the next source is asked. `ttl`: seconds that the service gave for it, if it did.
    case unknownEmpty(ttl: UInt32?)
    case failure(UpstreamFailure)
}

/// Why an upstream gave no answer. Texts are for logs and extended errors and never hold secrets.
package enum UpstreamFailure: Error, Hashable, Sendable {
    /// Nothing came in time.
    case timeout
    /// Nothing came in time, but other questions are answered there meanwhile: asking the same again would change nothing.
    case slow
    /// No connection, or one that broke.
    case network(String)
    /// The upstream answered, but not with DNS: HTTP 4xx and 5xx, garbage.
    case unusable(String)
    /// No certificate there proves that it is the service; nothing was sent.
    case certificate(String)
    /// It said when to come back (`Retry-After`).
    case busy(String, retryAfter: Duration)
    /// Its addresses were found out to be a liar's.
    case forged(String)
    /// It answered SERVFAIL, REFUSED or another failure code.
    case responseCode(ResponseCode)
    /// Account, signature or token refused: the whole provider is put aside.
    case authentication(String)
    /// It refuses this question and would again: another address of it is not asked.
    case rejected(String)
    /// A limit of ours is reached.
    case overloaded(String)
    /// The asker gave up.
    case cancelled
}
