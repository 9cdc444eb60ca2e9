import DNSResolver
import DNSWire
import HTTPDNS
import Platform
import Scheduling

/// One address of an HTTPDNS provider.
@Loop
final class HTTPDNSEndpoint: Endpoint {
    nonisolated let name: String
    nonisolated var family: AddressFamily { address.ip.recordType == .aaaa ? .ipv6 : .ipv4 }
    var health = EndpointHealth()
    nonisolated let address: SocketAddress
    private let origin: HTTPOrigin
    private let service: any Service
    private let clientSubnet: ToldNetwork
    private let timeout: Duration
    private let account: ServiceAccount
    private let loop: EventLoop
    /// Made by the first request: an address that is never asked costs no descriptor.
    private var transfers: HTTPTransfers?
    /// When its connection was last used or made ready.
    private var lastUse: Instant?
    /// Whether the service has answered here. Over https its certificate was valid then: the address is the service's.
    private(set) var isProven = false
    /// Called with every answer.
    var onAnswered: (@Loop () -> Void)?
    /// Called when a request got no reply at all, or there is no valid certificate here.
    var onUnreachable: (@Loop () -> Void)?

    init(_ settings: HTTPDNSSettings, _ address: SocketAddress, _ account: ServiceAccount, loop: EventLoop) {
        origin = settings.origin(at: address)
        name = origin.addressText
        self.address = address
        service = settings.service
        clientSubnet = settings.clientSubnet
        timeout = settings.timeout
        self.account = account
        self.loop = loop
    }

    func networkChanged() {
        health.forget(at: loop.now)
        transfers?.renewConnections()
    }

    /// Whether it speaks HTTP/2, as far as is known.
    var isMultiplexed: Bool { transfers?.isMultiplexed ?? false }

    /// Makes a connection ready behind the asker's back, unless there is one.
    ///
    /// No timer: it is renewed by whoever asks next, so an idle daemon stays idle.
    func keepReady() {
        guard lastUse.map({ loop.now - $0 >= HTTPLimits.spareRenewal }) ?? true,
            let transfers = try? readyTransfers()
        else { return }
        lastUse = loop.now
        Loop.spawn { [timeout] in await transfers.connect(timeout: timeout) }
    }

    func begin(_ question: UpstreamQuestion, done: @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable {
        SpawnedWork({ [self] in await ask(question) }, done: done)
    }

    /// Sends one request; a second one when the service told that our clock is wrong.
    func ask(_ question: UpstreamQuestion) async -> UpstreamReply {
        let asked = ServiceQuestion(
            name: question.name, types: question.types, dnssecOK: question.dnssecOK,
            checkingDisabled: question.checkingDisabled, clientSubnet: clientSubnet.told(of: question.clientNetwork))
        let offset = account.clock.offset
        var (outcome, date) = await attempt(asked, deadline: question.deadline)
        if case .success(.failure(.clockSkew(_, let serverTime))) = outcome {
            if let time = serverTime ?? date { account.learn(time) }
            // Another question may have learnt it meanwhile.
            if account.clock.offset != offset { (outcome, date) = await attempt(asked, deadline: question.deadline) }
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
            case .slow, .cancelled, .withheld, .overloaded, .unusable: break
            }
            return UpstreamReply(failure: .init(failure), types: question.types)
        }
    }

    /// One exchange: what the service said, and what time it was there.
    private func attempt(
        _ question: ServiceQuestion, deadline: Instant
    ) async -> (outcome: Result<ServiceOutcome, HTTPFailure>, date: Int64?) {
        guard account.mayCall else { return (.failure(.overloaded(account.limitText)), nil) }
        let request: HTTPRequest
        do {
            request = try service.request(for: question, at: account.clock.now)
        } catch {
            return (.success(.failure(error)), nil)
        }
        let transfers: HTTPTransfers
        do {
            transfers = try readyTransfers()
        } catch {
            return (.failure(error), nil)
        }
        let began = loop.now
        lastUse = began
        let result = await transfers.perform(request, timeout: timeout, deadline: deadline) { [account] in
            account.takeCall()
        }
        switch result {
        case .success(let response): return (.success(service.outcome(of: response, to: question)), response.date)
        case .failure(.withheld): return (.failure(.overloaded(account.limitText)), nil)
        case .failure(let failure):
            switch failure {
            case .timeout, .slow: health.responseTime.gaveUp(after: loop.now - began)
            // Given up because another address was asked later and answered sooner.
            case .cancelled where loop.now - began >= Budget.hedge:
                health.responseTime.gaveUp(after: loop.now - began)
            case .cancelled, .network, .certificate, .withheld, .overloaded, .unusable: break
            }
            return (.failure(failure), nil)
        }
    }

    /// Fails only without memory; the next request tries again.
    private func readyTransfers() throws(HTTPFailure) -> HTTPTransfers {
        if let transfers { return transfers }
        let made = try HTTPTransfers(origin, loop: loop)
        made.onFirstByte = { [weak self] in self?.health.responseTime.take($0) }
        transfers = made
        return made
    }

    /// A result for every type asked, also those that the service left out.
    private static func reply(_ results: [RecordType: ServiceResult], _ types: [RecordType]) -> UpstreamReply {
        var told = RecordTypeMap<UpstreamResult>()
        for type in types {
            told[type] =
                switch results[type] {
                case .answer(let answer): .answer(answer)
                case .unknownEmpty(let ttl): .unknownEmpty(ttl: ttl)
                case nil: .failure(.unusable("the reply is silent on \(type)"))
                }
        }
        return UpstreamReply(told)
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
            case .certificate(let text): .certificate(text)
            case .unusable(let text): .unusable(text)
            case .withheld: .cancelled
            }
    }
}
