package import Platform

/// The sockets of all listen addresses, bound before privileges are dropped; nothing is received from them yet.
package struct ServerSockets: Sendable {
    /// The UDP sockets of each address, with one receiver for each thread.
    let udp: [UDPSockets]
    /// One listening TCP socket for each address.
    let tcp: [ListeningSocket]

    /// The listen addresses, in the order given, with the actual ports.
    package var addresses: [SocketAddress] { tcp.map(\.address) }

    /// Attempts at finding a port that is free over both UDP and TCP, for port 0.
    private static let attempts = 16

    /// Blocking sockets: each thread only waits for its own.
    static var udpOptions: UDPSocket.Options {
        var options = UDPSocket.Options()
        options.isBlocking = true
        return options
    }

    /// Binds UDP and TCP on each address.
    ///
    /// - Parameters:
    ///   - addresses: port 0 means any port that is free over both UDP and TCP.
    ///   - threads: threads that receive from each address, at least 1.
    /// - Throws: the first error, as one line that says what to do; nothing remains bound then.
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
