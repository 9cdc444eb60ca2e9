import HTTPDNS
import Scheduling

/// One request on its way: waiting in our queue, or handed to libcurl.
@Loop
final class HTTPTransfer {
    let request: HTTPRequest
    /// How long an attempt may take, from its dispatch.
    let timeout: Duration
    /// When the asker stops waiting.
    let deadline: Instant
    /// Asked each time before it is sent; nil: it may be.
    let permit: HTTPTransfers.Permit?
    /// Ends it at the deadline, or, once dispatched, at the attempt's end.
    var timer: LoopTimer?
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
    private var continuation: CheckedContinuation<Result<HTTPResponse, HTTPFailure>, Never>?

    init(
        _ request: HTTPRequest, timeout: Duration, deadline: Instant, permit: HTTPTransfers.Permit?,
        _ continuation: CheckedContinuation<Result<HTTPResponse, HTTPFailure>, Never>
    ) {
        self.request = request
        self.timeout = timeout
        self.deadline = deadline
        self.permit = permit
        self.continuation = continuation
    }

    var isEnded: Bool { continuation == nil }

    /// Tells the asker; the first end counts.
    func end(_ result: Result<HTTPResponse, HTTPFailure>) {
        timer?.cancel()
        timer = nil
        continuation.take()?.resume(returning: result)
    }
}
