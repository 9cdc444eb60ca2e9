import DNSResolver
import DNSWire
import HTTPDNS
import Platform
import Scheduling

/// One address of an HTTPDNS provider.
@Loop
final class HTTPDNSEndpoint: Endpoint {
    nonisolated let name: String
    var health = EndpointHealth()
    let address: SocketAddress
    private let origin: HTTPOrigin
    private let service: any Service
    private let timeout: Duration
    private let clock: ServiceClock
    private let loop: EventLoop
    /// Made by the first request: an address that is never asked costs no descriptor.
    private var transfers: HTTPTransfers?
    /// Whether the service has answered here. Over https its certificate was valid then: the address is the service's.
    private(set) var isProven = false
    /// Called with every answer.
    var onAnswered: (@Loop () -> Void)?
    /// Called when a request got no reply at all, or there is no valid certificate here.
    var onUnreachable: (@Loop () -> Void)?

    init(_ settings: HTTPDNSSettings, _ address: SocketAddress, _ clock: ServiceClock, loop: EventLoop) {
        origin = settings.origin(at: address)
        name = origin.addressText
        self.address = address
        service = settings.service
        timeout = settings.timeout
        self.clock = clock
        self.loop = loop
    }

    /// Sends one request; a second one when the service told that our clock is wrong.
    func ask(_ question: UpstreamQuestion) async -> UpstreamReply {
        let asked = ServiceQuestion(
            name: question.name, types: question.types, dnssecOK: question.dnssecOK,
            checkingDisabled: question.checkingDisabled)
        var (outcome, date) = await attempt(asked, deadline: question.deadline)
        if case .success(.failure(.clockSkew(_, let serverTime))) = outcome, let time = serverTime ?? date,
            clock.learn(time)
        {
            (outcome, date) = await attempt(asked, deadline: question.deadline)
        }
        switch outcome {
        case .success(.results(let results)):
            isProven = true
            onAnswered?()
            return Self.reply(results, question.types)
        case .success(.failure(let failure)): return UpstreamReply(failure: .init(failure), types: question.types)
        case .failure(let failure):
            switch failure {
            case .timeout, .network, .certificate: onUnreachable?()
            case .slow, .cancelled, .overloaded, .unusable: break
            }
            return UpstreamReply(failure: .init(failure), types: question.types)
        }
    }

    /// One exchange: what the service said, and what time it was there.
    private func attempt(
        _ question: ServiceQuestion, deadline: Instant
    ) async -> (outcome: Result<ServiceOutcome, HTTPFailure>, date: Int64?) {
        let request: HTTPRequest
        do {
            request = try service.request(for: question, at: clock.now)
        } catch {
            return (.success(.failure(error)), nil)
        }
        let transfers: HTTPTransfers
        do {
            transfers = try readyTransfers()
        } catch {
            return (.failure(error), nil)
        }
        switch await transfers.perform(request, timeout: timeout, deadline: deadline) {
        case .success(let response): return (.success(service.outcome(of: response, to: question)), response.date)
        case .failure(let failure): return (.failure(failure), nil)
        }
    }

    /// Fails only without memory; the next request tries again.
    private func readyTransfers() throws(HTTPFailure) -> HTTPTransfers {
        if let transfers { return transfers }
        let made = try HTTPTransfers(origin, loop: loop)
        transfers = made
        return made
    }

    /// A result for every type asked, also those that the service left out.
    private static func reply(_ results: [RecordType: ServiceResult], _ types: [RecordType]) -> UpstreamReply {
        UpstreamReply(
            Dictionary(
                types.map { type in
                    switch results[type] {
                    case .answer(let answer): (type, .answer(answer))
                    case .unknownEmpty(let ttl): (type, .unknownEmpty(ttl: ttl))
                    case nil: (type, .failure(.unusable("the reply is silent on \(type)")))
                    }
                }, uniquingKeysWith: { first, _ in first }))
    }
}

extension UpstreamFailure {
    fileprivate init(_ failure: ServiceFailure) {
        self =
            switch failure {
            case .unavailable(let text, let seconds?): .busy(text, retryAfter: .seconds(Int64(seconds)))
            case .unavailable(let text, nil): .unusable(text)
            case .authentication(let text): .authentication(text)
            // Still wrong after the correction, or nothing to correct by: signatures will go on being refused.
            case .clockSkew(let text, _): .authentication(text)
            case .rejected(let text): .rejected(text)
            case .responseCode(let code): .responseCode(code)
            }
    }

    fileprivate init(_ failure: HTTPFailure) {
        self =
            switch failure {
            case .timeout: .timeout
            case .slow: .slow
            case .cancelled: .cancelled
            case .overloaded(let text): .overloaded(text)
            case .network(let text): .network(text)
            case .certificate(let text), .unusable(let text): .unusable(text)
            }
    }
}
