/// The result of asking an upstream for one type.
package enum UpstreamResult: Hashable, Sendable {
    /// Records, or an NXDOMAIN or NODATA response. Indirect, since it is passed on many times.
    indirect case answer(Answer)
    /// An indeterminate empty response: without a reason, such as a name unknown to the service, NXDOMAIN or NODATA. The
    /// next source is asked. `ttl`: seconds that the service gave for it, if any.
    case indeterminateEmpty(ttl: UInt32?)
    case failure(UpstreamFailure)
}

/// Why an upstream gave no answer: the one vocabulary of the HTTP client, the providers' formats, LocalDNS and the resolver.
///
/// Texts are for logs and for clients (extended errors): without secrets, without anything of the request, and without the
/// addresses of LocalDNS servers, which stay on this host.
package enum UpstreamFailure: Error, Hashable, Sendable {
    /// No response in time. Over HTTP: nor to any other request since this one was dispatched.
    case timeout
    /// No response in time, but other questions are answered there meanwhile: asking the same again would change
    /// nothing.
    case slow
    /// It has no server that can be asked.
    case noServer(String)
    /// No connection, or the connection was lost.
    case network(String)
    /// The upstream responded, but not with DNS: HTTP 4xx and 5xx, malformed data, more than the limit.
    case unusable(String)
    /// No certificate there is valid for one of the names, or none has a pinned key; nothing was sent.
    case certificate(String)
    /// It said when to retry (`Retry-After`).
    case busy(String, retryAfter: Duration)
    /// Its addresses were detected as forged.
    case forged(String)
    /// It answered SERVFAIL, REFUSED or another failure code.
    case responseCode(ResponseCode)
    /// Account, signature or token refused: the whole provider is put in backoff.
    case authentication(String)
    /// The same, since our clock differs from the service's by more than it accepts. `serverTime`: the service's time, in
    /// seconds since 1970, if it sent that. The request is signed and sent once more if that corrects our clock.
    case clockSkew(String, serverTime: Int64?)
    /// It refuses this question and would again (HTTP 400 and the like), because of its name or as it refuses all: none of its
    /// other addresses is asked.
    case refused(String)
    /// The question cannot be sent to it, or its answer cannot be used: that would be so at its other addresses too.
    case rejected(String)
    /// A limit of this server is reached: nothing was sent.
    case overloaded(String)
    /// The caller gave up, or did not permit the request.
    case cancelled
}

extension UpstreamFailure: CustomStringConvertible {
    /// For users: what failed, without the name asked for.
    package var description: String {
        switch self {
        case .timeout: "no answer in time"
        case .slow: "no answer in time to this question"
        case .noServer(let text), .network(let text), .unusable(let text), .certificate(let text), .forged(let text),
            .refused(let text), .rejected(let text), .overloaded(let text), .busy(let text, _):
            text
        case .responseCode(let code): "answered \(code)"
        case .authentication(let text), .clockSkew(let text, _): "access refused: \(text)"
        case .cancelled: "given up"
        }
    }
}

extension UpstreamFailure {
    /// Whether the account is refused, at every address of the service.
    package var isAccessRefused: Bool {
        switch self {
        case .authentication, .clockSkew: true
        default: false
        }
    }
}
