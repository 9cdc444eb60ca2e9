import HTTPDNS

/// How an attempt to send a request has ended, as its connection tells.
enum HTTPEnd: Error {
    case reply(HTTPResponse, isHTTP2: Bool)
    /// The connection's certificate is not valid for the name; nothing was sent.
    case refusedName(HTTPFailure)
    /// The connection or its stream broke. One that had worked before may just have ended: on a new one the same request
    /// may succeed.
    case broken(HTTPFailure, wasReused: Bool)
    /// The server told that it did nothing with the request, for it takes no more on this connection (RFC 9113 section 8.7);
    /// whether it took others there.
    case unprocessed(HTTPFailure, tookOthers: Bool)
    /// We broke the connection, for it may lead nowhere.
    case evicted(HTTPFailure)
    /// The server does not speak HTTP/2, or not for this request, with which it did nothing.
    case lacksHTTP2
    case failed(HTTPFailure)
}
