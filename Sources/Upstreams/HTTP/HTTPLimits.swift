/// The limits of HTTP transfers, each for one address of a service.
package enum HTTPLimits {
    /// Concurrent transfers; further ones are queued. So many names may be queried at once after an idle time, and with
    /// a service that takes 0.7 s per name, some would wait too long for a second batch.
    package static let requests = 256
    /// Concurrent transfers on an HTTP/2 connection; further ones get another connection.
    package static let streams = 64
    /// HTTP/2 connections, beside one that replaces them; and the HTTP/1.1 connections that stay open without a request.
    package static let connections = 8
    /// Concurrent transfers where each needs its own connection (HTTP/1.1).
    package static let unsharedRequests = 64
    /// Queued requests; further ones are refused.
    package static let waiting = 4_096
    /// How often a request is sent again because the server processed neither it nor others on its connection. Where
    /// the server processes one request per connection, a request may have to be sent again as often as there are
    /// concurrent requests.
    static let refusals = 8
    /// The most bytes of a reply's body.
    package static let body = 65_536
    /// The same of a document, such as a signed policy.
    static let document = 4 << 20
    /// The longest entity tag that is sent back.
    static let entityTag = 256
    /// The most bytes of a reply's header, all lines together.
    package static let header = 16_384
    /// Bytes received on an HTTP/2 connection that are not part of replies, TLS's own included: the initial allowance,
    /// and what each request adds to it, up to the initial value. Usual servers need some 50 per reply. When the
    /// allowance is exceeded the connection is closed; with less than half of it left no further request is sent there.
    static let overhead = 131_072
    static let overheadPerRequest = 1_024
    /// Streams of an HTTP/2 connection that may end without a reply, cancelled by us or reset by the server, before no
    /// further request is sent there. Servers count them and close the connection, with all streams on it
    /// (CVE-2023-44487).
    static let lostStreams = 20
    /// The most bytes of a TLS handshake.
    static let handshake = 262_144
    /// Seconds without use after which a connection is not used again: fewer than servers usually wait (nginx 75).
    static let connectionIdle = 55
    /// Seconds after which a connection is not used again, so that the certificate is verified from time to time.
    static let connectionLifetime = 3_600
    /// Seconds of silence before the kernel's first TCP keep-alive probe, and between two probes.
    static let keepAliveIdle = 20
    static let keepAliveInterval = 5
    /// The connections for requests whose connection broke, or that the server wants over HTTP/1.1: one request on each.
    static let separateConnections = 32
    /// The time without a reply after which the other end is asked for a sign of life (PING), and how long after that it is
    /// dead without one.
    package static let test: Duration = .milliseconds(300)
    package static let silence: Duration = .milliseconds(600)
    /// The time since its last use after which a spare connection is renewed, while the old one is still usable.
    static let spareRenewal: Duration = .seconds(50)
    /// Seconds after which the file of trust anchors is read again.
    static let authorityCache = 86_400
}
