import DNSResolver
import DNSWire
import HTTPDNS
import Scheduling

/// One query to one address of a service: a request and its reply, sent again once if our clock has to be corrected.
@Loop
final class HTTPDNSAttempt: Cancellable {
    let question: UpstreamQuestion
    /// The query in the service's terms.
    let asked: ServiceQuestion
    /// Whether a new connection is made for it.
    let onNewConnection: Bool
    /// The correction of our clock when its request was sent, in seconds.
    var offset: Int64 = 0
    var isSecond = false
    /// Its request, while that is in progress.
    var transfer: (any Cancellable)?
    /// Retained until the end.
    private var endpoint: HTTPDNSEndpoint?
    private var done: (@Loop (UpstreamReply) -> Void)?

    /// - Parameter clientSubnet: the client network sent to the service; nil: none.
    init(
        _ question: UpstreamQuestion, clientSubnet: AddressPrefix?, onNewConnection: Bool, at endpoint: HTTPDNSEndpoint,
        done: @escaping @Loop (UpstreamReply) -> Void
    ) {
        self.question = question
        self.onNewConnection = onNewConnection
        asked = ServiceQuestion(
            name: question.name, types: question.types, dnssecOK: question.dnssecOK,
            checkingDisabled: question.checkingDisabled, clientSubnet: clientSubnet)
        self.endpoint = endpoint
        self.done = done
    }

    /// Takes the result of its request.
    func take(_ result: Result<HTTPResponse, HTTPFailure>) {
        transfer = nil
        endpoint?.take(result, of: self)
    }

    /// Calls `done`, unless the attempt was cancelled.
    func finish(_ reply: UpstreamReply) {
        endpoint = nil
        done.take()?(reply)
    }

    func cancel() {
        done = nil
        transfer.take()?.cancel()
        endpoint = nil
    }
}
