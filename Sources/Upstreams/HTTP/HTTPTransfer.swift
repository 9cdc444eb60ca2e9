import DNSWire
import HTTPDNS
import Scheduling

/// One request on its way: waiting in our queue, or on a connection.
@Loop
final class HTTPTransfer: Cancellable {
    let request: HTTPRequest
    /// How long an attempt may take, from its dispatch.
    let timeout: Duration
    /// Asked each time before it is sent; nil: it may be.
    let permit: HTTPTransfers.Permit?
    /// The client network behind which of the waiting requests it waits.
    let holder: ClientNetwork
    /// Whether it is sent on a connection opened for it.
    let isRenewing: Bool
    /// When it ends in any case: the asker's deadline, or, once dispatched, the attempt's end if that is earlier.
    var end: Instant
    /// When the asker stops waiting.
    let deadline: Instant
    /// Its place while it waits.
    var place: HTTPQueue.Place?
    /// Its place among those under way; nil while it waits.
    var index: Int?
    /// Its handle while libcurl has it.
    var handle: HTTPHandle?
    /// The HTTP/1.1 connections that the handle is part of: they stay until it has ended there.
    var http1: HTTP1Connections?
    /// The HTTP/2 connection that it is on, or that it waits for.
    var connection: HTTP2Connection?
    /// Its stream there, once it is sent.
    var stream: HTTP2Stream?
    /// Whether its clock runs: it was dispatched at least once.
    var isStarted = false
    /// The name it is sent under, by its place in the origin's list.
    var host = 0
    /// Names whose certificate was refused during this request.
    var refusedHosts: Set<Int> = []
    /// How many replies the address had given when its clock began to run.
    var repliesBefore = 0
    /// How often a server did nothing with it.
    var refusals = 0
    /// Whether it may be sent without being asked for: that it may was told before, and nothing came of it.
    var isPermitted = false
    /// Whether it was already sent again after its connection broke.
    var isRepeated = false
    /// Keeps the connections until the end.
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

    /// Takes from its connection how the attempt has ended.
    func take(_ end: HTTPEnd) { transfers?.take(end, of: self) }

    /// Tells the asker; the first end counts.
    func finish(_ result: Result<HTTPResponse, HTTPFailure>) {
        transfers = nil
        done.take()?(result)
    }

    func cancel() {
        done = nil
        transfers.take()?.giveUp(self)
    }
}
