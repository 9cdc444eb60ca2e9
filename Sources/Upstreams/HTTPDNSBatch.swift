import DNSResolver
import DNSWire
import HTTPDNS
import Scheduling

/// Several questions to one address of a service in one request. Each ends on its own: answered, failed, or asked alone.
@Loop
final class HTTPDNSBatch: Cancellable {
    let service: any BatchService
    let asked: BatchQuestion
    /// No two for the same name, at least two.
    private let attempts: [HTTPDNSAttempt]
    /// By how much our clock was corrected when it was sent.
    var offset: Int64 = 0
    var isSecond = false
    var transfer: (any Cancellable)?
    /// Kept until the end.
    private var endpoint: HTTPDNSEndpoint?

    private init(_ attempts: [HTTPDNSAttempt], _ service: any BatchService, at endpoint: HTTPDNSEndpoint) {
        self.service = service
        self.attempts = attempts
        asked = BatchQuestion(
            names: attempts.map(\.question.name), types: attempts[0].asked.types,
            clientSubnet: attempts[0].asked.clientSubnet)
        self.endpoint = endpoint
        for attempt in attempts { attempt.transfer = self }
    }

    /// Puts questions together that may stand in one request, and returns those for which there is no other apart.
    static func make(
        of attempts: [HTTPDNSAttempt], _ service: any BatchService, at endpoint: HTTPDNSEndpoint
    ) -> (batches: [HTTPDNSBatch], alone: [HTTPDNSAttempt]) {
        let maximumNames = type(of: service).maximumNames
        var groups: [[HTTPDNSAttempt]] = []
        for attempt in attempts {
            let index = groups.firstIndex { group in
                group.count < maximumNames && group[0].asked.types == attempt.asked.types
                    && group[0].asked.clientSubnet == attempt.asked.clientSubnet
                    && !group.contains { $0.asked.name == attempt.asked.name }
            }
            if let index { groups[index].append(attempt) } else { groups.append([attempt]) }
        }
        return (
            groups.filter { $0.count > 1 }.map { HTTPDNSBatch($0, service, at: endpoint) },
            groups.filter { $0.count == 1 }.map { $0[0] }
        )
    }

    /// Those who still wait.
    var open: [HTTPDNSAttempt] { attempts.filter { !$0.isEnded } }

    /// When the first of those who ask stops waiting.
    var deadline: Instant {
        attempts.dropFirst().reduce(attempts[0].question.deadline) { min($0, $1.question.deadline) }
    }

    /// When it was handed over.
    var began: Instant {
        get { attempts[0].began }
        set { for attempt in attempts { attempt.began = newValue } }
    }

    /// Takes what came of its request.
    func take(_ result: Result<HTTPResponse, HTTPFailure>) {
        transfer = nil
        endpoint?.take(result, of: self)
    }

    /// Tells all who wait of the failure, of which the first speaks for the request.
    func fail(_ failure: UpstreamFailure) {
        var isRepetition = false
        for attempt in end() {
            var reply = UpstreamReply(failure: failure, types: attempt.question.types)
            reply.isRepetition = isRepetition
            isRepetition = true
            attempt.finish(reply)
        }
    }

    /// Lets go of its questions.
    ///
    /// - Returns: those that are to be answered or asked otherwise.
    func end() -> [HTTPDNSAttempt] {
        endpoint = nil
        let open = open
        for attempt in open { attempt.transfer = nil }
        return open
    }

    /// One of those who wait has given up: the last one ends the request.
    func cancel() {
        guard open.isEmpty else { return }
        endpoint = nil
        transfer.take()?.cancel()
    }
}
