import DNSResolver
import DNSWire
import HTTPDNS
import Scheduling

/// One request in progress: queued, or on a connection.
@Loop
final class HTTPTransfer: Cancellable {
    let request: HTTPRequest
    /// Called each time before the request is sent; nil: it may be sent.
    let permit: (@Loop () -> Bool)?
    /// Called when it waits, since the service has said "not so fast".
    let delayed: (@Loop () -> Void)?
    /// The client network in whose share it is.
    let holder: ClientNetwork
    /// Whether it is sent on a new connection opened for it.
    let isRenewing: Bool
    /// When the caller stops waiting: it ends then in any case.
    let deadline: Instant
    /// Its place in the queue while it waits.
    var place: FairShare.Ticket?
    /// Its index among the active transfers; nil while it waits.
    var index: Int?
    /// Its stream on the connection by which it was sent; nil before it is sent.
    var stream: HTTPStream?
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
    private(set) var isRepeated = false
    /// Whether a connection broke under it: it is sent again on one of its own, once.
    private var hasBroken = false
    /// Whether the server has wanted it over HTTP/1.1 (HTTP_1_1_REQUIRED, RFC 9113 section 7), which says nothing of others.
    private(set) var isForHTTP1 = false
    /// Called with the end of each attempt, and with nil when its caller does not want it any more. Retains all transfers, and
    /// the connections with them, until its own end.
    private var ended: (@Loop (HTTPTransfer, HTTPEnd?) -> Void)?
    private var done: (@Loop (Result<HTTPResponse, UpstreamFailure>) -> Void)?

    init(
        _ request: HTTPRequest, deadline: Instant, holder: ClientNetwork, permit: (@Loop () -> Bool)?,
        delayed: (@Loop () -> Void)?, isRenewing: Bool, ended: @escaping @Loop (HTTPTransfer, HTTPEnd?) -> Void,
        done: @escaping @Loop (Result<HTTPResponse, UpstreamFailure>) -> Void
    ) {
        self.request = request
        self.deadline = deadline
        self.holder = holder
        self.permit = permit
        self.delayed = delayed
        self.isRenewing = isRenewing
        self.ended = ended
        self.done = done
    }

    var isEnded: Bool { done == nil }

    /// Whether it is sent on a connection that it shares with no other.
    var isSeparate: Bool { hasBroken || isForHTTP1 }

    /// Called by its connection when an attempt has ended.
    func attemptEnded(_ end: HTTPEnd) { ended?(self, end) }

    /// Prepares for being sent again after an attempt without a reply.
    ///
    /// - Returns: why it is not sent again; nil: it is.
    func failure(after loss: HTTPLoss) -> UpstreamFailure? {
        switch loss {
        case .evicted where !isRepeated: isRepeated = true
        case .broken where !hasBroken && !isRenewing: hasBroken = true
        case .unprocessed(_, let tookOthers)
        where refusals < (tookOthers ? HTTPLimits.requests : HTTPLimits.refusals):
            refusals += 1
            isPermitted = true
        case .wantsHTTP1:
            isForHTTP1 = true
            isPermitted = true
        case .crowded: break
        case .evicted(let failure), .unmade(let failure), .broken(let failure), .unprocessed(let failure, _),
            .refusedName(let failure, _), .failed(let failure):
            return failure
        }
        return nil
    }

    /// Calls the completion; only the first call has an effect.
    func finish(_ result: Result<HTTPResponse, UpstreamFailure>) {
        ended = nil
        done.take()?(result)
    }

    func cancel() {
        done = nil
        ended.take()?(self, nil)
    }
}

/// The end of an attempt to send a request, as its connection reports it.
typealias HTTPEnd = Result<(response: HTTPResponse, isHTTP2: Bool), HTTPLoss>

/// Why an attempt to send a request has ended without a reply.
enum HTTPLoss: Error {
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
