import DNSServer
import Platform

/// The addresses at which a server listens, by what it serves there.
struct ListenPlaces {
    var dns: [SocketAddress]
    var tls: [SocketAddress]
    var https: [SocketAddress]
    var http: [SocketAddress]

    var all: [SocketAddress] { dns + tls + https + http }

    /// Those of IPv4; nil when there is none for DNS over UDP and TCP, without which nothing is served.
    var ofIPv4: ListenPlaces? {
        let rest = ListenPlaces(
            dns: dns.filter { $0.family == .ipv4 }, tls: tls.filter { $0.family == .ipv4 },
            https: https.filter { $0.family == .ipv4 }, http: http.filter { $0.family == .ipv4 })
        return rest.dns.isEmpty ? nil : rest
    }

    /// Those at which another server has passed its sockets on.
    func served(by passed: PassedSockets) -> ListenPlaces {
        ListenPlaces(
            dns: dns.filter { passed.serves($0) }, tls: tls.filter { passed.listens(at: $0) },
            https: https.filter { passed.listens(at: $0) }, http: http.filter { passed.listens(at: $0) })
    }

    /// - Throws: the first error; nothing remains bound then.
    func bind(threads: Int, adopting passed: PassedSockets) throws(SystemError) -> ServerSockets {
        try ServerSockets.bind(dns, tls: tls, https: https, http: http, threads: threads, adopting: passed)
    }
}
