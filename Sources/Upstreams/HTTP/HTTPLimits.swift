/// The constants of HTTP transfers, each for one address of a service.
package enum HTTPLimits {
    /// Transfers at once; further ones wait in our queue. So many names may come at once after an idle time, and of a
    /// service that takes 0.7 s a name, a second turn would come too late for some of them.
    package static let requests = 256
    /// Transfers at once on an HTTP/2 connection; further ones get another connection.
    package static let streams = 64
    /// Transfers at once where each needs a connection of its own (HTTP/1.1).
    package static let connections = 8
    /// Requests that wait for their turn; further ones are refused.
    package static let waiting = 4_096
    /// How often a request is sent again because the server did nothing with it, nor with others beside it. Where it takes
    /// one on each connection, a request may have to wait for as many as there are at once.
    static let refusals = 8
    /// Bytes of a reply's body.
    package static let body = 65_536
    /// Bytes that libcurl takes for each transfer to receive into; longer bodies come in parts. Most replies fit, and what
    /// is not longer the allocator hands out again at once.
    static let buffer = 1_024
    /// Bytes of a reply's header, all lines together.
    package static let header = 16_384
    /// Bytes that may come on an HTTP/2 connection beside those of replies, TLS's own among them: so many at first, and
    /// with each request so many more, but never more than at first. Replies of usual servers bring some 50 each. Beyond
    /// that the connection is broken; with less than half of it left no further request is sent there.
    static let overhead = 131_072
    static let overheadPerRequest = 1_024
    /// Streams of an HTTP/2 connection that may end without a reply, given up by us or reset by the server, until no further
    /// request is sent there. Servers count them and close the connection, with all that is on it (CVE-2023-44487).
    static let lostStreams = 20
    /// Bytes that a TLS handshake and the proxy's reply before it may bring.
    static let handshake = 262_144
    /// Seconds without use after which a connection is not used again: less than servers usually wait (nginx 75).
    static let connectionIdle = 55
    /// Seconds after which a connection is not used again: so that the certificate is looked at once in a while.
    static let connectionLifetime = 3_600
    /// Seconds of silence after which the kernel asks whether the other end is still there, and between two askings.
    static let keepAliveIdle = 20
    static let keepAliveInterval = 5
    /// How long a connection with a request on it may bring no reply, at least, until no further one is sent there.
    static let silence: Duration = .seconds(1)
    /// How long after its last use a spare connection is made anew: while the old one still would do.
    static let spareRenewal: Duration = .seconds(50)
    /// Seconds after which the file of authorities is read again.
    static let authorityCache = 86_400
}
