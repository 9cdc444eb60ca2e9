/// Addresses of a service that neither respond nor refuse.
package final class BlackHole: Sendable {
    package enum Kind: Sendable, CaseIterable {
        /// Connections are established, but nothing is sent on them: no TLS.
        case silent
        /// Packets that would establish a connection are lost.
        case dropping
    }

    /// Including the port.
    package let addresses: [TestAddress]
    private let sockets: [TestSocket]

    /// - Parameter network: the third byte of the addresses, which must differ between black holes.
    package init(_ kind: Kind, addresses count: Int, network: Int) throws {
        let hosts = (1...count).map { "127.0.\(network).\($0)" }
        let port = try FreePort.next(on: hosts)
        addresses = hosts.map { TestAddress($0, port: port) }
        sockets = try addresses.flatMap { address in
            switch kind {
            case .silent: return [try TestSocket.listener(address)]
            case .dropping:
                // The kernel queues one connection that is not accepted; while it is queued, no other is answered.
                let listener = try TestSocket.listener(address, backlog: 0)
                return [listener, try TestSocket.connection(to: address, from: nil)]
            }
        }
    }

    /// A `[[provider]]` with these addresses.
    package func table(_ name: String) -> String {
        DaemonConfiguration.doh(
            "https://\(addresses[0])", name: name,
            "addresses = \(DaemonConfiguration.list(addresses.map { "\($0)" }))")
    }
}
