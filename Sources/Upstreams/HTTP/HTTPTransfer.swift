import DNSWire
import HTTPDNS
import Scheduling

/// One request in progress: queued, or on a connection.
@Loop
final class HTTPTransfer: Cancellable {
    let request: HTTPRequest
    /// The time-out of an attempt, from its dispatch.
    let timeout: Duration
    /// Called each time before the request is sent; nil: it may be sent.
    let permit: HTTPTransfers.Permit?
    /// The client network in whose part of the queue it waits.
    let holder: ClientNetwork
    /// Whether it is sent on a new connection opened for it.
    let isRenewing: Bool
    /// When it ends in any case: at `deadline`, or, once dispatched, at the attempt's time-out if that is earlier.
    var end: Instant
    /// When the caller stops waiting.
    let deadline: Instant
    /// Its place in the queue while it waits.
    var place: HTTPQueue.Place?
    /// Its index in the list of active transfers; nil while it waits.
    var index: Int?
    /// Its handle while libcurl carries it.
    var handle: HTTPHandle?
    /// The HTTP/1.1 connections that the handle belongs to, retained until the request has ended there.
    var http1: HTTP1Connections?
    /// The HTTP/2 connection that carries it, or will once it is ready.
    var connection: HTTP2Connection?
    /// Its HTTP/2 stream, once it is sent.
    var stream: HTTP2Stream?
    /// Whether its time-out runs: it was dispatched at least once.
    var isStarted = false
    /// The name under which it is sent, as an index into `origin.hosts`.
    var host = 0
    /// Names whose certificate was rejected during this request.
    var refusedHosts: Set<Int> = []
    /// The number of the address's replies when its time-out began to run.
    var repliesBefore = 0
    /// How often a server has not processed it.
    var refusals = 0
    /// Whether it may be sent without calling `permit`: an earlier call allowed it, and the request was not processed.
    var isPermitted = false
    /// Whether it was already sent again after its connection failed.
    var isRepeated = false
    /// Retains the connections until the end.
    private var transfers: HTTPTransfers?
    private var done: HTTPTransfers.Completion?

    init(
        _ request: HTTPRequest, timeout: Duration, deadline: Instant, holder: ClientNetwork = .daemon,
        permit: HTTPTransfers.Permit?, isRenewing: Bool = false, on transfers: HTTPTransfers,
        done: @escaping HTTPTransfers.Completion
    ) {
        self.request = request
        self.timeout = timeout
        end = deadline
        self.deadline = deadline
        self.holder = holder
        self.permit = permit
        self.isRenewing = isRenewing
        self.transfers = transfers
        self.done = done
    }

    var isEnded: Bool { done == nil }

    /// Takes the result of an attempt from its connection.
    func take(_ end: HTTPEnd) { transfers?.take(end, of: self) }

    /// Calls the completion; only the first call has an effect.
    func finish(_ result: Result<HTTPResponse, HTTPFailure>) {
        transfers = nil
        done.take()?(result)
    }

    func cancel() {
        done = nil
        transfers.take()?.giveUp(self)
    }
}
