import DNSWire

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
