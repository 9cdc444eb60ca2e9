package import Platform

/// The sockets of all listen addresses, bound before privileges are dropped, or taken over; nothing is received from
/// them yet.
package struct ServerSockets: Sendable {
    /// The UDP sockets of each address, with one receiver for each thread.
    let udp: [UDPSockets]
    /// One listening TCP socket for each address.
    let tcp: [ListeningSocket]
    /// The listening sockets for DNS over TLS, and over HTTPS.
    var tls: [ListeningSocket] = []
    var https: [ListeningSocket] = []
    /// Those for HTTPDNS in plain http.
    var http: [ListeningSocket] = []
    /// What the process before did not finish.
    var work = UnfinishedWork()
    /// The addresses whose sockets were passed to this process.
    package var adopted: [SocketAddress] = []

    /// The listen addresses, in the order given, with the actual ports.
    package var addresses: [SocketAddress] { tcp.map(\.address) }

    /// Those at which DNS is served encrypted, with the actual ports.
    package var encrypted: [(transport: Transport, address: SocketAddress)] {
        tls.map { (.tls, $0.address) } + https.map { (.https, $0.address) }
    }

    /// Those at which HTTPDNS is served in plain http, with the actual ports.
    package var httpAddresses: [SocketAddress] { http.map(\.address) }

    /// How many threads add messages to dnstap: those over UDP, and the loop.
    package var dnstapProducers: Int { 1 + udp.reduce(0) { $0 + $1.receivers.count } }

    /// Attempts at finding a port that is free over both UDP and TCP, for port 0.
    private static let attempts = 16

    /// The descriptors of all sockets, to be passed to another process.
    package var descriptors: [(kind: PassedKind, numbers: [Int32])] {
        let replies = udp.filter { $0.sender !== $0.receivers.first }
        return [
            (.udp, udp.flatMap { $0.receivers.map { $0.descriptor.number } }),
            (.replies, replies.map { $0.sender.descriptor.number }), (.tcp, tcp.map { $0.descriptor.number }),
            (.tls, tls.map { $0.descriptor.number }), (.https, https.map { $0.descriptor.number }),
            (.http, http.map { $0.descriptor.number }),
        ]
    }

    /// Binds UDP and TCP on each address, and what DNS is served on encrypted.
    ///
    /// - Parameters:
    ///   - addresses: port 0 means any port that is free over both UDP and TCP.
    ///   - tls: where DNS over TLS is served.
    ///   - https: where DNS over HTTPS is served.
    ///   - http: where HTTPDNS is served in plain http.
    ///   - threads: threads that receive from each address, at least 1; from one that was passed as many as it has sockets.
    ///   - passed: what is not bound again.
    /// - Throws: the first error, as one line that says what to do; nothing remains bound then.
    package static func bind(
        _ addresses: [SocketAddress], tls: [SocketAddress] = [], https: [SocketAddress] = [],
        http: [SocketAddress] = [], threads: Int,
        adopting passed: PassedSockets = PassedSockets()
    ) throws(SystemError) -> ServerSockets {
        var udp: [UDPSockets] = []
        var tcp: [ListeningSocket] = []
        for address in addresses {
            let pair = try bind(address, threads: threads, passed)
            udp.append(pair.udp)
            tcp.append(pair.tcp)
        }
        var sockets = ServerSockets(udp: udp, tcp: tcp, work: passed.work)
        for address in tls { sockets.tls.append(try listen(on: address, passed)) }
        for address in https { sockets.https.append(try listen(on: address, passed)) }
        for address in http { sockets.http.append(try listen(on: address, passed)) }
        sockets.adopted = (addresses + tls + https + http).filter {
            passed.udp(at: $0) != nil || passed.listener(at: $0) != nil
        }
        return sockets
    }

    private static func bind(
        _ address: SocketAddress, threads: Int, _ passed: PassedSockets
    ) throws(SystemError) -> (udp: UDPSockets, tcp: ListeningSocket) {
        if let udp = passed.udp(at: address) {
            return (udp, try listen(on: address, passed))
        }
        if let sender = passed.sender(at: address) {
            let udp = try UDPSocket.receivers(beside: sender, count: threads, isBlocking: true)
            return (udp, try listen(on: address, passed))
        }
        var attempt = 1
        while true {
            let udp = try UDPSocket.bind(
                address, count: max(1, threads), isBlocking: true, sharesPort: passed.isHeld(address.port))
            do {
                return (udp, try listen(on: udp.sender.address, passed))
            } catch {
                guard address.port == 0, attempt < attempts else { throw error }
                attempt += 1
            }
        }
    }

    private static func listen(
        on address: SocketAddress, _ passed: PassedSockets
    ) throws(SystemError) -> ListeningSocket {
        if let socket = passed.listener(at: address) { return socket }
        return try ListeningSocket(address, sharesPort: passed.isHeld(address.port))
    }
}
