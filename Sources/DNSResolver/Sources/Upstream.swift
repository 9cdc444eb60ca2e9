package import DNSWire
package import Scheduling

/// An upstream that does its own retries: LocalDNS, or the servers of a `forward` entry.
@Loop
package protocol Upstream: AnyObject, Sendable {
    /// Its name in logs and extended errors.
    nonisolated var name: String { get }

    /// Asks, and returns by the question's deadline in any case; sooner when the task is cancelled.
    func ask(_ question: UpstreamQuestion) async -> UpstreamReply
}

/// A question to an upstream.
package struct UpstreamQuestion: Hashable, Sendable {
    /// Lower-cased.
    package var name: Name
    /// One type, or A and AAAA together.
    package var types: [RecordType]
    package var dnssecOK: Bool
    package var checkingDisabled: Bool
    /// The network of the clients for which it is asked, which may be sent to a service; nil: none.
    package var clientNetwork: AddressPrefix?
    /// The client network whose fair share it counts against.
    package var holder: ClientNetwork
    /// When the caller stops waiting.
    package var deadline: Instant

    package init(
        name: Name, types: [RecordType], dnssecOK: Bool = false, checkingDisabled: Bool = false,
        clientNetwork: AddressPrefix? = nil, holder: ClientNetwork = .daemon, deadline: Instant
    ) {
        self.holder = holder
        self.name = name
        self.types = types
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
        self.clientNetwork = clientNetwork
        self.deadline = deadline
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
package struct UpstreamReply: Equatable, Sendable {
    package var results: RecordTypeMap<UpstreamResult>
    /// The address and port of the server that answered; empty when none did.
    package var server: String

    package init(_ results: RecordTypeMap<UpstreamResult>, server: String = "") {
        self.results = results
        self.server = server
    }

    /// A result for each of `types`.
    package init(_ types: [RecordType], server: String = "", result: (RecordType) -> UpstreamResult) {
        var results = RecordTypeMap<UpstreamResult>()
        for type in types { results[type] = result(type) }
        self.init(results, server: server)
    }

    /// The same failure for each of `types`.
    package init(failure: UpstreamFailure, types: [RecordType]) {
        self.init(RecordTypeMap(types.lazy.map { ($0, .failure(failure)) }))
    }
}

extension UpstreamReply {
    /// Whether the attempt was cancelled without any result.
    var isCancelled: Bool {
        !results.containsValue { if case .failure(.cancelled) = $0 { false } else { true } }
    }

    /// Why the reply has no result at all; nil when it has one, or the attempt was cancelled.
    package var failure: UpstreamFailure? {
        var last: UpstreamFailure?
        let hasResult = results.containsValue { result in
            guard case .failure(let failure) = result else { return true }
            if failure != .cancelled { last = failure }
            return false
        }
        return hasResult ? nil : last
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
    package var isOurs: Bool {
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
