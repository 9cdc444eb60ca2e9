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
        // With a backlog of none the kernel queues one connection that is not accepted; while it is queued, no other is
        // answered.
        let (port, listeners) = try FreePort.listeners(on: hosts, backlog: kind == .dropping ? 0 : 4_096)
        let addresses = hosts.map { TestAddress($0, port: port) }
        self.addresses = addresses
        let queued = try kind == .dropping ? addresses.map { try TestSocket.connection(to: $0, from: nil) } : []
        sockets = listeners + queued
    }

    /// A `[[provider]]` with these addresses.
    package func table(_ name: String) -> String {
        DaemonConfiguration.doh(
            "https://\(addresses[0])", name: name,
            "addresses = \(DaemonConfiguration.list(addresses.map { "\($0)" }))")
    }
}
