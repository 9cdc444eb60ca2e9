import CSystem.Linux
public import DNSWire
import Glibc

/// Finds which addresses are unreachable because the interface of their route has no carrier.
///
/// A packet sent there is lost, and does harm: with the first one the kernel begins neighbour discovery, and it retries
/// only after a second, even when the cable is plugged in right after. So nothing is sent there.
@Loop
public final class NetworkPaths {
    /// A route of the kernel.
    public struct Route: Equatable, Sendable {
        /// The index of its interface.
        public var interface: UInt32
        /// The address that packets are sent from; nil: the kernel reports none.
        public var source: IPAddress?

        public init(interface: UInt32, source: IPAddress? = nil) {
            self.interface = interface
            self.source = source
        }
    }

    /// Returns the route to an address; nil when there is none or the kernel does not report it.
    public typealias Lookup = @Loop (IPAddress) -> Route?

    private let kernelRoute: Lookup
    /// Indices of the interfaces that have an address but no carrier. Empty where the network cannot be watched.
    private var deadLinks: Set<UInt32> = []
    /// The prefix by which the network translates IPv4 addresses; nil: it does not, as far as is known.
    public var translator: NAT64Prefix?

    /// - Parameter route: asks the kernel, unless replaced in a test.
    public nonisolated init(route: @escaping Lookup = NetworkPaths.kernelRoute) { kernelRoute = route }

    public func update(deadLinks: Set<UInt32>) { self.deadLinks = deadLinks }

    /// The reason why sending to `address` is useless; nil when it is not.
    ///
    /// Costs nothing while all links have a carrier, and otherwise a look-up in the kernel's routes.
    public func unreachableReason(for address: IPAddress) -> String? {
        // A link-local address exists on every link: the routes do not say which one is meant.
        guard !deadLinks.isEmpty, !address.isLinkLocal else { return nil }
        guard let route = kernelRoute(address), deadLinks.contains(route.interface) else { return nil }
        return "the interface that leads there has no carrier"
    }

    /// Whether the kernel has a route to `address`, with or without a carrier; asks the kernel each time.
    public func hasRoute(to address: IPAddress) -> Bool { route(to: address) != nil }

    /// A link-local source is an address that a host chose for want of another one (RFC 3927): its packets do not leave
    /// the link, whatever a default route says.
    private func route(to address: IPAddress) -> Route? {
        guard let route = kernelRoute(address), address.isLinkLocal || route.source?.isLinkLocal != true else {
            return nil
        }
        return route
    }

    /// The address to connect to for `address`: where there is no way to an IPv4 address but through the network's translator,
    /// the one that stands for it; else itself. Asks the kernel each time while there is a translator.
    public func reached(_ address: IPAddress) -> IPAddress {
        guard let translator, !hasRoute(to: address) else { return address }
        return translator.address(for: address) ?? address
    }

    /// Whether the kernel knows a way to the IPv6 Internet and none to the IPv4 one: to the addresses of a root server of DNS,
    /// to which nothing is sent. Asks it each time.
    public var isIPv6Only: Bool { !hasRoute(to: Self.rootServer.ipv4) && hasRoute(to: Self.rootServer.ipv6) }

    /// a.root-servers.net: 198.41.0.4 and 2001:503:ba3e::2:30.
    private static let rootServer: (ipv4: IPAddress, ipv6: IPAddress) = (
        .v4(0xc629_0004), .v6(0x2001_0503_ba3e_0000_0000_0000_0002_0030)
    )

    /// The addresses in their order, but those first that are reachable as far as the kernel knows: with a route, and a
    /// carrier on its interface. On a network without IPv4, IPv6 comes first, and the reverse.
    ///
    /// Asks the kernel each time, so only for infrequent use.
    public func routedFirst(_ addresses: [SocketAddress]) -> [SocketAddress] {
        guard addresses.count > 1 else { return addresses }
        let hasRoute = addresses.map { route(to: $0.ip).map { !deadLinks.contains($0.interface) } ?? false }
        let order = addresses.indices.filter { hasRoute[$0] } + addresses.indices.filter { !hasRoute[$0] }
        return order.map { addresses[$0] }
    }

    /// The ways to these addresses, and to the Internet; asks the kernel for each.
    public func ways(to addresses: [IPAddress]) -> NetworkWays {
        let all = Set(addresses + [Self.rootServer.ipv4, Self.rootServer.ipv6])
        return NetworkWays(routes: Dictionary(uniqueKeysWithValues: all.map { ($0, route(to: $0)) }))
    }

    /// What the kernel says.
    public static func kernelRoute(to address: IPAddress) -> Route? {
        let family: Int32 =
            switch address {
            case .v4: AF_INET
            case .v6: AF_INET6
            }
        var source = [UInt8](repeating: 0, count: address.bytes.count)
        let result = unsafe clinux_route_lookup(family, address.bytes, &source)
        guard result > 0 else { return nil }
        let isReported = source.contains { $0 != 0 }
        return Route(interface: UInt32(result), source: isReported ? IPAddress(bytes: source[...]) : nil)
    }
}

/// The ways from here to what is asked. A machine changes its addresses, links and routes all the time, for containers and
/// for the addresses of its services: it is on another network only when that concerns one of these.
public struct NetworkWays: Sendable {
    /// By destination; nil: no route leads there.
    fileprivate let routes: [IPAddress: NetworkPaths.Route?]

    /// Whether one of them may have been another one for a moment, whatever they are now: its link, its source address or a
    /// route that may lead there has changed. A network that follows another one may give the same addresses.
    public func areTouched(by sign: NetworkSign) -> Bool {
        switch sign {
        case .link(let index): routes.values.contains { $0?.interface == index }
        case .newAddress: false
        case .goneAddress(let address): routes.values.contains { $0?.source == address }
        case .route(let route): routes.keys.contains(where: route.network.contains)
        case .unknown: true
        }
    }

    /// Whether a destination of both is reached by another link, or only now, or no longer. A source may change by itself
    /// (RFC 8981).
    public func differ(from earlier: NetworkWays) -> Bool {
        routes.contains { address, route in
            earlier.routes[address].map { $0?.interface != route?.interface } ?? false
        }
    }
}
