import DNSWire
import HTTPDNS

/// The end of an attempt to send a request, as reported by its connection.
enum HTTPEnd: Error {
    case reply(HTTPResponse, isHTTP2: Bool)
    /// The connection's certificate is not valid for the name; nothing was sent.
    case refusedName(UpstreamFailure)
    /// The connection could not be made.
    case unmade(UpstreamFailure)
    /// The connection or the stream on which the request was sent failed. That may be another request's fault: alone on a new
    /// connection the same request may succeed.
    case broken(UpstreamFailure)
    /// The server has not processed the request, since it accepts no more on this connection (RFC 9113 section 8.7).
    /// - Parameter tookOthers: whether it processed others there.
    case unprocessed(UpstreamFailure, tookOthers: Bool)
    /// We closed the connection, since it may be dead.
    case evicted(UpstreamFailure)
    /// The server does not support HTTP/2, or not for this request, which it has not processed.
    /// - Parameter time: for how long it is not tried again.
    case lacksHTTP2(for: Duration)
    case failed(UpstreamFailure)
}
