package import Platform

/// The sockets of all listen addresses, bound and silent: made before privileges are dropped.
package struct ServerSockets: Sendable {
    /// For each address; one receiver for each thread.
    let udp: [UDPSockets]
    /// One for each address.
    let tcp: [ListeningSocket]

    /// What we listen on, in the order given, with real ports.
    package var addresses: [SocketAddress] { tcp.map(\.address) }

    /// How often a port that is free over UDP is looked for that is so over TCP too, when any will do.
    private static let attempts = 16

    /// Each thread only waits for its socket.
    static var udpOptions: UDPSocket.Options {
        var options = UDPSocket.Options()
        options.isBlocking = true
        return options
    }

    /// Binds UDP and TCP on each address.
    ///
    /// - Parameters:
    ///   - addresses: port 0 means any port that is free over both.
    ///   - threads: threads that receive from each address, at least 1.
    /// - Throws: the first error, in one line that says what to do; nothing stays bound then.
    package static func bind(_ addresses: [SocketAddress], threads: Int) throws(SystemError) -> ServerSockets {
        var udp: [UDPSockets] = []
        var tcp: [ListeningSocket] = []
        for address in addresses {
            let pair = try bind(address, threads: threads)
            udp.append(pair.udp)
            tcp.append(pair.tcp)
        }
        return ServerSockets(udp: udp, tcp: tcp)
    }

    private static func bind(
        _ address: SocketAddress, threads: Int
    ) throws(SystemError) -> (udp: UDPSockets, tcp: ListeningSocket) {
        var attempt = 1
        while true {
            let udp = try UDPSocket.bind(address, count: max(1, threads), options: udpOptions)
            do {
                return (udp, try ListeningSocket(udp.sender.address))
            } catch {
                guard address.port == 0, attempt < attempts else { throw error }
                attempt += 1
            }
        }
    }
}
