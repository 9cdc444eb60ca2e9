import CLinux
import Glibc
package import DNSWire
package import Scheduling

/// Tells which addresses cannot be reached because the interface that leads there has no carrier.
///
/// What is sent there is lost, and does harm: with the first packet the kernel begins to look for the neighbour, and it
/// repeats that only after a second, also when the cable is plugged in right after. So it is better not to send.
@Loop
package final class NetworkPaths {
    /// The interface by which an address is reached; nil when there is no route or the kernel does not tell.
    package typealias Lookup = @Loop (IPAddress) -> UInt32?

    private let interface: Lookup
    /// The interfaces with an address that have no carrier, by index. Empty where the network cannot be watched.
    private var deadLinks: Set<UInt32> = []

    /// - Parameter interface: asks the kernel unless a test knows better.
    package nonisolated init(interface: @escaping Lookup = NetworkPaths.routedInterface) {
        self.interface = interface
    }

    package func update(deadLinks: Set<UInt32>) { self.deadLinks = deadLinks }

    /// Why it is no use to send anything to `address`; nil when it may be of use.
    ///
    /// Costs nothing while all links are well, and otherwise a look at the kernel's routes.
    package func obstacle(to address: IPAddress) -> String? {
        // A link-local address is there on every link: the routes do not tell which one is meant.
        guard !deadLinks.isEmpty, !address.isLinkLocal else { return nil }
        guard let index = interface(address), deadLinks.contains(index) else { return nil }
        return "the interface that leads there has no carrier"
    }

    /// Whether the kernel knows a way to `address`, with or without a carrier; asks it each time.
    package func hasRoute(to address: IPAddress) -> Bool { interface(address) != nil }

    /// The addresses in their order, those first to which there is a way as far as the kernel tells: a route, and a carrier
    /// on its interface. On a network without IPv4 IPv6 comes first, and the other way round.
    ///
    /// Asks the kernel each time: for those who rarely want to know.
    package func routedFirst(_ addresses: [SocketAddress]) -> [SocketAddress] {
        guard addresses.count > 1 else { return addresses }
        let hasRoute = addresses.map { interface($0.ip).map { !deadLinks.contains($0) } ?? false }
        let order = addresses.indices.filter { hasRoute[$0] } + addresses.indices.filter { !hasRoute[$0] }
        return order.map { addresses[$0] }
    }

    package static func routedInterface(to address: IPAddress) -> UInt32? {
        let family: Int32 =
            switch address {
            case .v4: AF_INET
            case .v6: AF_INET6
            }
        let result = address.bytes.withUnsafeBytes { clinux_route_interface(family, $0.baseAddress) }
        return result > 0 ? UInt32(result) : nil
    }
}
