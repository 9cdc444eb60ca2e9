package import DNSWire
import Glibc

/// What about the host's network has changed. Whether that concerns the way to anything is for `NetworkWays` to say.
package enum NetworkSign: Hashable, Sendable {
    /// The link with this index has got or lost its carrier.
    case link(UInt32)
    case newAddress
    case goneAddress(IPAddress)
    case route(RouteMessage.Route)
    /// Reports were lost: anything.
    case unknown
}

/// The known state of the host's links, addresses and routes; separates changes of the network from noise.
///
/// Noise: loopback and link-local addresses, addresses that are tentative or temporary, objects reported again
/// unchanged (each router advertisement, each renewed lease), links without an address, ports of bridges, the bridges
/// of containers and virtual machines on this host, routes to single hosts, and routes made by the kernel and by
/// routing daemons.
package struct NetworkState: Sendable {
    /// The most addresses, and the most routes, that are stored; each one beyond counts as new.
    package static let limit = 4_096

    private struct Link {
        var isUp: Bool
        var isForeign: Bool
    }

    private var links: [UInt32: Link] = [:]
    private var addresses: Set<RouteMessage.Address> = []
    private var routes: Set<RouteMessage.Route> = []

    package init() {}

    /// Applies a message.
    ///
    /// - Parameter isDump: whether it reports an object that existed before.
    /// - Returns: what has changed; nil: nothing.
    package mutating func take(_ message: RouteMessage, isDump: Bool) -> NetworkSign? {
        switch message {
        case .link(let link): return take(link) && !isDump ? .link(link.index) : nil
        case .linkGone(let index):
            links[index] = nil
            addresses = addresses.filter { $0.index != index }
            loseRoutes(through: index)
            return nil
        case .address(let address, isGone: false):
            guard address.isLasting, !isForeign(address.index), !addresses.contains(address) else { return nil }
            if addresses.count < Self.limit { addresses.insert(address) }
            return isDump ? nil : .newAddress
        case .address(var address, isGone: true):
            // A message about a removed address may have other flags than the one that added it.
            address.isLasting = true
            return addresses.remove(address).map { .goneAddress($0.address) }
        case .route(let route, let isGone):
            guard route.isChosen, !(route.interface.map(isForeign) ?? false) else { return nil }
            guard isGone || !routes.contains(route) else { return nil }
            if isGone { routes.remove(route) } else if routes.count < Self.limit { routes.insert(route) }
            return .route(route)
        case .dumpEnded: return nil
        }
    }

    /// Indices of the links, ours only, that have an address and no carrier: the kernel still routes packets to them.
    package var deadLinks: Set<UInt32> {
        let down = links.filter { !$0.value.isUp && !$0.value.isForeign }
        guard !down.isEmpty else { return [] }
        return Set(addresses.lazy.map(\.index).filter { down[$0] != nil })
    }

    private mutating func take(_ link: RouteMessage.Link) -> Bool {
        let old = links[link.index]
        let isForeign = link.isLoopback || link.isPort || Self.isForGuests(link.name)
        links[link.index] = Link(isUp: link.isUp, isForeign: isForeign)
        if !link.isUp { loseRoutes(through: link.index) }
        guard let old, old.isUp != link.isUp, !isForeign else { return false }
        return addresses.contains { $0.index == link.index }
    }

    /// The kernel does not report the removal of routes together with their link.
    private mutating func loseRoutes(through index: UInt32) { routes = routes.filter { $0.interface != index } }

    private func isForeign(_ index: UInt32) -> Bool { links[index]?.isForeign ?? false }

    /// Whether a link has the name of a bridge that Docker, Podman, libvirt, LXC or Kubernetes makes for guests: such
    /// bridges come and go with the guests, and do not lead to other networks.
    private static func isForGuests(_ name: String) -> Bool {
        if ["docker", "podman", "virbr", "lxcbr", "lxdbr", "incusbr", "cni"].contains(where: name.hasPrefix) {
            return true
        }
        // Docker's user-defined networks; not "br-lan" and the like.
        guard name.hasPrefix("br-"), name.utf8.count == 15 else { return false }
        return name.dropFirst(3).allSatisfy(\.isHexDigit)
    }
}

/// This machine's name, as `hostname` prints it; empty when it has none.
package func hostName() -> String {
    // POSIX limits it to 255 bytes; Linux to 64.
    var buffer = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&buffer, buffer.count - 1) == 0 else { return "" }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
}
