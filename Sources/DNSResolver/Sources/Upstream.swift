public import DNSWire

/// What can be asked: one address of a provider, or LocalDNS, or the servers of a `forward` entry, which do their own retries.
@Loop
public protocol Upstream: AnyObject, Sendable {
    /// Its name in logs and extended errors: of an address of a provider, with its port.
    nonisolated var name: String { get }

    /// Begins to ask. The reply comes by the question's deadline.
    ///
    /// A provider's address is asked for both families together only if its provider answers them together.
    ///
    /// - Parameters:
    ///   - delayed: called when it waits, since the service has said "not so fast"; never before this returns.
    ///   - done: called once, on the loop, never before this returns; not after `cancel()`, which ends the
    ///     attempt at once and does not affect others on the same connection.
    func begin(
        _ question: UpstreamQuestion, delayed: @escaping @Loop () -> Void,
        done: @escaping @Loop (UpstreamReply) -> Void
    ) -> any Cancellable
}

extension Upstream {
    /// Asks, and returns the reply by the question's deadline.
    public func ask(_ question: UpstreamQuestion) async -> UpstreamReply {
        await withCheckedContinuation { continuation in
            _ = begin(question, delayed: {}) { continuation.resume(returning: $0) }
        }
    }
}

extension UpstreamQuestion {
    /// The question of a flight for some of its types.
    init(_ key: FlightKey, _ types: [RecordType], until deadline: Instant) {
        self.init(
            name: key.name, types: types, dnssecOK: key.dnssecOK, checkingDisabled: key.checkingDisabled,
            clientNetwork: key.scope?.network, holder: key.holder, deadline: deadline)
    }
}

/// The result of asking an upstream, for every type asked for.
public struct UpstreamReply: Equatable, Sendable {
    public var results: UpstreamResults
    /// The address and port of the server that answered; empty when none did.
    public var server: String

    public init(_ results: UpstreamResults, server: String = "") {
        self.results = results
        self.server = server
    }

    /// A result for each of `types`.
    public init(_ types: [RecordType], server: String = "", result: (RecordType) -> UpstreamResult) {
        var results = UpstreamResults()
        for type in types { results[type] = result(type) }
        self.init(results, server: server)
    }

    /// The same failure for each of `types`.
    public init(failure: UpstreamFailure, types: [RecordType]) {
        self.init(types) { _ in .failure(failure) }
    }
}

extension UpstreamReply {
    /// Why the reply has no result at all, `.cancelled` only if nothing else is known; nil when it has one.
    public var failure: UpstreamFailure? {
        var last: UpstreamFailure?
        let found = results.count { result in
            guard case .failure(let failure) = result else { return true }
            if last == nil || failure != .cancelled { last = failure }
            return false
        }
        return found == 0 ? last : nil
    }
}

extension UpstreamReply {
    func traceText(_ types: [RecordType]) -> String {
        types.compactMap { type in results[type].map { "\(type): \($0.traceText(type))" } }.joined(separator: "; ")
    }
}

extension UpstreamResult {
    func traceText(_ type: RecordType) -> String {
        switch self {
        case .answer(let answer): answer.traceText(type)
        case .indeterminateEmpty: "nothing, and it does not say why"
        case .failure(let failure): "\(failure)"
        }
    }
}

extension UpstreamFailure {
    /// The failure of both sources as one; a network failure only if neither responded.
    static func combined(httpdns: UpstreamFailure, localDNS: UpstreamFailure) -> UpstreamFailure {
        let text = "HTTPDNS: \(httpdns); LocalDNS: \(localDNS)"
        if case .forged = localDNS { return .forged(text) }
        if httpdns.isOurs || localDNS.isOurs { return .overloaded(text) }
        return httpdns.isTransport && localDNS.isTransport ? .network(text) : .unusable(text)
    }

    /// Whether there was no response at all: no connection, or silence.
    var isTransport: Bool {
        switch self {
        case .timeout, .noServer, .network: true
        default: false
        }
    }

    /// Whether the cause is on this host: it says nothing about the question.
    public var isOurs: Bool {
        switch self {
        case .overloaded, .cancelled: true
        default: false
        }
    }
}

extension UpstreamFailure {
    /// The extended error that a client with EDNS gets for it (RFC 8914 sections 4.23 and 4.24).
    var extendedError: ExtendedError {
        switch self {
        case .network(let text): ExtendedError(.networkError, text)
        case .forged(let text): ExtendedError(.forgedAnswer, text)
        case .overloaded(let text): ExtendedError(.other, text)
        default: ExtendedError(.noReachableAuthority, description)
        }
    }
}

/// The answers that several servers share: looked at before a provider is asked.
@Loop
public protocol SharedAnswers: AnyObject, Sendable {
    /// Begins a look-up.
    ///
    /// - Parameter done: called once, never before this returns, with the answers found; not after `cancel()`. Whatever is
    ///   missing is to be asked of a provider.
    /// - Returns: nil when nothing is looked up now.
    func begin(
        _ key: FlightKey, _ types: [RecordType], done: @escaping @Loop ([SharedAnswer]) -> Void
    ) -> (any SharedLookup)?
}

/// One look-up among the shared answers, and the turn to ask that goes with it, until `cancel()`.
@Loop
public protocol SharedLookup: Cancellable {
    /// Shares what an authenticated provider, by its index in the policy, has answered from this address and port meanwhile.
    func share(_ answer: Answer, _ type: RecordType, of provider: Int, from server: String)
}

/// An answer that another server has received.
public struct SharedAnswer: Hashable, Sendable {
    public let type: RecordType
    /// With the TTLs that remain.
    public let answer: Answer
    /// Seconds for which it may be used at most, whatever TTLs are raised to here.
    public let remaining: UInt32
    /// The index in the policy of the provider that gave it.
    public let provider: Int
    /// The address and port of the server that answered.
    public let server: String

    public init(type: RecordType, answer: Answer, remaining: UInt32, provider: Int, server: String) {
        self.type = type
        self.answer = answer
        self.remaining = remaining
        self.provider = provider
        self.server = server
    }
}
