package import DNSWire

/// Why an upstream gave no answer. Texts are for logs and for clients (extended errors): without secrets, and without
/// the addresses of LocalDNS servers, which stay on this host.
package enum UpstreamFailure: Error, Hashable, Sendable {
    /// No response in time.
    case timeout
    /// No response in time, but other questions are answered there meanwhile: asking the same again would change
    /// nothing.
    case slow
    /// It has no server that can be asked.
    case noServer(String)
    /// No connection, or the connection was lost.
    case network(String)
    /// The upstream responded, but not with DNS: HTTP 4xx and 5xx, malformed data.
    case unusable(String)
    /// No certificate there identifies the service; nothing was sent.
    case certificate(String)
    /// It said when to retry (`Retry-After`).
    case busy(String, retryAfter: Duration)
    /// Its addresses were detected as forged.
    case forged(String)
    /// It answered SERVFAIL, REFUSED or another failure code.
    case responseCode(ResponseCode)
    /// Account, signature or token refused: the whole provider is put in backoff.
    case authentication(String)
    /// It refuses this question and would again: none of its other addresses is asked.
    case rejected(String)
    /// A limit of this server is reached.
    case overloaded(String)
    /// The caller gave up.
    case cancelled
}

extension UpstreamFailure: CustomStringConvertible {
    /// For users: what failed, without the name asked for.
    package var description: String {
        switch self {
        case .timeout: "no answer in time"
        case .slow: "no answer in time to this question"
        case .noServer(let text), .network(let text), .unusable(let text), .certificate(let text), .forged(let text),
            .rejected(let text),
            .overloaded(let text):
            text
        case .responseCode(let code): "answered \(code)"
        case .authentication(let text): "access refused: \(text)"
        case .cancelled: "given up"
        case .busy(let text, _): text
        }
    }

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
