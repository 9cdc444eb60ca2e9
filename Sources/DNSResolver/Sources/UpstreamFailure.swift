package import DNSWire

/// Why an upstream gave no answer. Texts are for logs and for clients (extended errors): without secrets, and without the
/// addresses of the servers of LocalDNS, which are the business of this machine alone.
package enum UpstreamFailure: Error, Hashable, Sendable {
    /// Nothing came in time.
    case timeout
    /// Nothing came in time, but other questions are answered there meanwhile: asking the same again would change nothing.
    case slow
    /// It has no server that could be asked.
    case noServer(String)
    /// No connection, or one that broke.
    case network(String)
    /// The upstream answered, but not with DNS: HTTP 4xx and 5xx, garbage.
    case unusable(String)
    /// No certificate there proves that it is the service; nothing was sent.
    case certificate(String)
    /// It said when to come back (`Retry-After`).
    case busy(String, retryAfter: Duration)
    /// Its addresses were found out to be a liar's.
    case forged(String)
    /// It answered SERVFAIL, REFUSED or another failure code.
    case responseCode(ResponseCode)
    /// Account, signature or token refused: the whole provider is put aside.
    case authentication(String)
    /// It refuses this question and would again: another address of it is not asked.
    case rejected(String)
    /// A limit of ours is reached.
    case overloaded(String)
    /// The asker gave up.
    case cancelled
}

extension UpstreamFailure: CustomStringConvertible {
    /// For people: what went wrong, without the name asked.
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

    /// The failure of both sources as one; a network failure only if nothing was heard of either.
    static func combined(httpdns: UpstreamFailure, localDNS: UpstreamFailure) -> UpstreamFailure {
        let text = "HTTPDNS: \(httpdns); LocalDNS: \(localDNS)"
        if case .forged = localDNS { return .forged(text) }
        if httpdns.isOurs || localDNS.isOurs { return .overloaded(text) }
        return httpdns.isTransport && localDNS.isTransport ? .network(text) : .unusable(text)
    }

    /// Whether nothing was heard at all: no connection, or silence.
    var isTransport: Bool {
        switch self {
        case .timeout, .noServer, .network: true
        default: false
        }
    }

    /// Whether the cause is here: it says nothing of the question.
    var isOurs: Bool {
        switch self {
        case .overloaded, .cancelled: true
        default: false
        }
    }
}
