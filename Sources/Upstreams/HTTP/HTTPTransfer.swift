import DNSResolver
import DNSWire
import HTTPDNS
import Scheduling

/// One request in progress: queued, or on a connection.
@Loop
final class HTTPTransfer: Cancellable {
    let request: HTTPRequest
    /// Called each time before the request is sent; nil: it may be sent.
    let permit: HTTPTransfers.Permit?
    /// Called when it waits, since the service has said "not so fast".
    let delayed: (@Loop () -> Void)?
    /// The client network in whose share it is.
    let holder: ClientNetwork
    /// Whether it is sent on a new connection opened for it.
    let isRenewing: Bool
    /// When the caller stops waiting: it ends then in any case.
    let deadline: Instant
    /// When something is due for it next: a test of its connection, or its end.
    var due: Instant
    /// What is due before its end.
    var stage = Stage.queued
    /// Its place in the queue while it waits.
    var place: FairShare.Ticket?
    /// Its index in the list of active transfers; nil while it waits.
    var index: Int?
    /// The connection that carries it, or will once it is ready; nil while it waits in the queue.
    var carrier: HTTPConnection?
    /// Its index among the requests that its carrier has sent; nil before it is sent.
    var slot: Int?
    /// The name under which it is sent, as an index into `origin.hosts`.
    var host = 0
    /// Names whose certificate was rejected during this request.
    var refusedHosts: Set<Int> = []
    /// The number of the address's replies when it was last sent.
    var repliesBefore = 0
    /// How often a server has not processed it.
    var refusals = 0
    /// How often the service has said "not so fast".
    var waits = 0
    /// The round of the service's pace in which it was last dispatched.
    var round = 0
    /// Ends its wait after that; nil while it does not wait.
    var wait: LoopTimer?
    /// Whether it may be sent without calling `permit`: an earlier call allowed it, and the request was not processed.
    var isPermitted = false
    /// Whether it was already sent again after its connection was given up.
    var isRepeated = false
    /// Whether a connection broke under it: it is sent again on one of its own, once.
    var hasBroken = false
    /// Whether the server has wanted it over HTTP/1.1 (HTTP_1_1_REQUIRED, RFC 9113 section 7), which says nothing of others.
    var isForHTTP1 = false
    /// Retained, and the connections with it, until the end.
    private var owner: HTTPTransfers?
    private var done: HTTPTransfers.Completion?

    enum Stage {
        /// Its end alone: it is not sent.
        case queued
        /// The connection's first test, or the end of one and the next.
        case sent, tested
    }

    init(
        _ request: HTTPRequest, deadline: Instant, holder: ClientNetwork, permit: HTTPTransfers.Permit?,
        delayed: (@Loop () -> Void)?, isRenewing: Bool, of owner: HTTPTransfers,
        done: @escaping HTTPTransfers.Completion
    ) {
        self.request = request
        self.deadline = deadline
        due = deadline
        self.holder = holder
        self.permit = permit
        self.delayed = delayed
        self.isRenewing = isRenewing
        self.owner = owner
        self.done = done
    }

    var isEnded: Bool { done == nil }

    /// Whether it is sent on a connection that it shares with no other.
    var isSeparate: Bool { hasBroken || isForHTTP1 }

    /// Called by its connection when an attempt has ended.
    func attemptEnded(_ end: HTTPEnd) { owner?.attemptEnded(end, of: self) }

    /// Calls the completion; only the first call has an effect.
    func finish(_ result: Result<HTTPResponse, UpstreamFailure>) {
        owner = nil
        done.take()?(result)
    }

    func cancel() {
        done = nil
        owner.take()?.cancelled(self)
    }
}

/// The end of an attempt to send a request, as reported by its connection.
enum HTTPEnd: Error {
    case reply(HTTPResponse, isHTTP2: Bool)
    /// The connection's certificate is not valid for the name; nothing was sent.
    /// - Parameter isTimeAlone: whether it is all right but for its time, and the server has its key.
    case refusedName(UpstreamFailure, isTimeAlone: Bool = false)
    /// The connection could not be made.
    case unmade(UpstreamFailure)
    /// The connection or the stream on which the request was sent failed. That may be another request's fault: alone on a new
    /// connection the same request may succeed.
    case broken(UpstreamFailure)
    /// The server has not processed the request, since it accepts no more on this connection (RFC 9113 section 8.7).
    /// - Parameter tookOthers: whether it processed others there.
    case unprocessed(UpstreamFailure, tookOthers: Bool)
    /// We closed the connection, since it may be dead.
    case evicted(UpstreamFailure)
    /// The server wants this request, which it has not processed, over HTTP/1.1.
    case wantsHTTP1
    /// The connection takes no more requests than it has: this one was not sent.
    case crowded
    case failed(UpstreamFailure)
}
