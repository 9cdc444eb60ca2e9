/// The names under which a server passes on what it has.
package enum PassedKind: String, CaseIterable, Sendable {
    /// A UDP socket from which queries are received.
    case udp = "httpdnsd-udp"
    /// The UDP socket by which late responses of an address are sent.
    case replies = "httpdnsd-replies"
    /// A listening TCP socket.
    case tcp = "httpdnsd-tcp"
    /// A listening socket for DNS over TLS.
    case tls = "httpdnsd-tls"
    /// A listening socket for DNS over HTTPS.
    case https = "httpdnsd-https"
    /// A listening socket for HTTPDNS in plain http.
    case http = "httpdnsd-http"
    /// A TCP connection.
    case connection = "httpdnsd-connection"
    /// A file with the queries that were not answered yet.
    case queries = "httpdnsd-queries"
}
