import HTTPDNS
import Scheduling

/// One request on its way: waiting in our queue, or handed to libcurl.
@Loop
final class HTTPTransfer: Cancellable {
    let request: HTTPRequest
    /// How long an attempt may take, from its dispatch.
    let timeout: Duration
    /// Asked each time before it is sent; nil: it may be.
    let permit: HTTPTransfers.Permit?
    /// When it ends in any case: the asker's deadline, or, once dispatched, the attempt's end if that is earlier.
    var end: Instant
    /// When the asker stops waiting.
    let deadline: Instant
    /// Its place while it waits.
    var place: HTTPQueue.Place?
    /// Its handle while libcurl has it.
    var handle: HTTPHandle?
    /// Whether its clock runs: it was handed to libcurl at least once.
    var isStarted = false
    /// The name it is sent under, by its place in the origin's list.
    var host = 0
    /// Names whose certificate was refused during this request.
    var refusedHosts: Set<Int> = []
    /// Whether it was already sent again after its connection broke.
    var isRepeated = false
    /// Keeps the connections until the end.
    private var transfers: HTTPTransfers?
    private var done: HTTPTransfers.Completion?

    init(
        _ request: HTTPRequest, timeout: Duration, deadline: Instant, permit: HTTPTransfers.Permit?,
        on transfers: HTTPTransfers, done: @escaping HTTPTransfers.Completion
    ) {
        self.request = request
        self.timeout = timeout
        end = deadline
        self.deadline = deadline
        self.permit = permit
        self.transfers = transfers
        self.done = done
    }

    var isEnded: Bool { done == nil }

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
