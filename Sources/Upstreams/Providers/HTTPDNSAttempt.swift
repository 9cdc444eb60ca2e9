import DNSResolver
import DNSWire
import HTTPDNS
import Scheduling

/// One question to one address of a service: a request and its reply, twice if our clock has to be corrected.
@Loop
final class HTTPDNSAttempt: Cancellable {
    let question: UpstreamQuestion
    /// The question as the service knows it.
    let asked: ServiceQuestion
    /// Whether a connection is made for it.
    let onNewConnection: Bool
    /// When its request was handed over.
    var began = Instant(nanoseconds: 0)
    /// By how much our clock was corrected then.
    var offset: Int64 = 0
    var isSecond = false
    /// Its request, while that is under way.
    var transfer: (any Cancellable)?
    /// Kept until the end.
    private var endpoint: HTTPDNSEndpoint?
    private var done: (@Loop (UpstreamReply) -> Void)?

    /// - Parameter clientSubnet: what the service is told of who asks.
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

    /// Takes what came of its request.
    func take(_ result: Result<HTTPResponse, HTTPFailure>) {
        transfer = nil
        endpoint?.take(result, of: self)
    }

    /// Tells the asker, unless it was cancelled.
    func finish(_ reply: UpstreamReply) {
        endpoint = nil
        done.take()?(reply)
    }

    func cancel() {
        done = nil
        transfer.take()?.cancel()
        endpoint.take()?.giveUp(self)
    }
}
