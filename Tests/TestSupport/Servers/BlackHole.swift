/// Addresses of a service at which nothing ever answers, and nothing refuses.
package final class BlackHole: Sendable {
    package enum Kind: Sendable, CaseIterable {
        /// Connections are made, and nothing comes on them: no TLS.
        case silent
        /// Packets that would make a connection get lost.
        case dropping
    }

    /// With the port.
    package let addresses: [TestAddress]
    private let sockets: [TestSocket]

    /// - Parameter network: the third number of the addresses: those of two of them must differ.
    package init(_ kind: Kind, addresses count: Int, network: Int) throws {
        let hosts = (1...count).map { "127.0.\(network).\($0)" }
        let port = try FreePort.next(on: hosts)
        addresses = hosts.map { TestAddress($0, port: port) }
        sockets = try addresses.flatMap { address in
            switch kind {
            case .silent: return [try TestSocket.listener(address)]
            case .dropping:
                // The kernel takes one connection that is not accepted; while it is there, it answers no other.
                let listener = try TestSocket.listener(address, backlog: 0)
                return [listener, try TestSocket.connection(to: address, from: nil)]
            }
        }
    }

    /// A `[[provider]]` of it.
    package func table(_ name: String) -> String {
        DaemonConfiguration.doh(
            "https://\(addresses[0])", name: name,
            "addresses = \(DaemonConfiguration.list(addresses.map { "\($0)" }))")
    }
}
