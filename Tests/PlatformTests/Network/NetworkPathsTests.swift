import DNSWire
import TestSupport
import Testing

@testable import Platform

/// Which way leads to an address, by routes of the test's own.
@Suite(.onLoop) struct NetworkPathsTests {
    /// - Parameters:
    ///   - families: to which there are routes.
    ///   - source: of these routes.
    ///   - prefix: of a translator.
    @Loop private func paths(_ families: RecordType..., from source: IPAddress? = nil, by prefix: String? = nil)
        -> NetworkPaths
    {
        let paths = NetworkPaths { families.contains($0.recordType) ? .init(interface: 1, source: source) : nil }
        paths.translator = prefix.flatMap { NAT64Prefix($0) }
        return paths
    }

    private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

    @Test @Loop func `a machine with routes for IPv6 alone is on a network of IPv6 alone`() {
        #expect(paths(.aaaa).isIPv6Only)
        #expect(!paths(.a, .aaaa).isIPv6Only)
        #expect(!paths(.a).isIPv6Only)
        #expect(!paths().isIPv6Only)
    }

    @Test @Loop func `a default route from a link-local address is no way to the Internet`() throws {
        let (ipv4, ipv6) = (try address("169.254.7.9"), try address("2001:db8::9"))
        let paths = NetworkPaths { .init(interface: 1, source: $0.recordType == .a ? ipv4 : ipv6) }
        #expect(paths.isIPv6Only)
        #expect(try !paths.hasRoute(to: address("192.0.2.1")) && paths.hasRoute(to: address("169.254.1.1")))
        paths.translator = NAT64Prefix("64:ff9b::/96")
        #expect(try paths.reached(address("192.0.2.1")) == address("64:ff9b::192.0.2.1"))
    }

    @Test @Loop func `a route from a private address may lead to the Internet`() throws {
        #expect(try !paths(.a, .aaaa, from: address("172.17.0.2")).isIPv6Only)
    }

    @Test @Loop func `addresses with a route and a carrier come first, and the order is as it was otherwise`() throws {
        let paths = NetworkPaths { $0.recordType == .a ? .init(interface: $0.isPrivate ? 2 : 1) : nil }
        paths.update(deadLinks: [2])
        let addresses = try ["[2001:db8::1]:53", "192.0.2.1:53", "10.0.0.1:53", "192.0.2.2:53"].map {
            try #require(SocketAddress($0))
        }
        #expect(paths.routedFirst(addresses) == [1, 3, 0, 2].map { addresses[$0] })
    }

    @Test @Loop func `what leads over a link without a carrier is unreachable, but for link-local addresses`() throws {
        let paths = paths(.a)
        #expect(try paths.unreachableReason(for: address("192.0.2.1")) == nil)
        paths.update(deadLinks: [1])
        #expect(try paths.unreachableReason(for: address("192.0.2.1")) != nil)
        #expect(try paths.unreachableReason(for: address("169.254.1.1")) == nil)
        #expect(try paths.unreachableReason(for: address("2001:db8::1")) == nil)
        paths.update(deadLinks: [2])
        #expect(try paths.unreachableReason(for: address("192.0.2.1")) == nil)
    }

    @Test @Loop func `an IPv4 address without a route is reached through the translator`() throws {
        let paths = paths(.aaaa, by: "64:ff9b::/96")
        #expect(try paths.reached(address("192.0.2.1")) == address("64:ff9b::192.0.2.1"))
        #expect(try paths.reached(address("2001:db8::1")) == address("2001:db8::1"))
        #expect(try paths.reached(address("10.0.0.1")) == address("10.0.0.1"))
    }

    @Test @Loop func `with a route, or without a translator, an address is reached as it is`() throws {
        #expect(try paths(.a, .aaaa, by: "64:ff9b::/96").reached(address("192.0.2.1")) == address("192.0.2.1"))
        #expect(try paths(.aaaa).reached(address("192.0.2.1")) == address("192.0.2.1"))
    }

    // MARK: Ways

    /// The ways of a machine on two networks: link 1 leads to the Internet, link 2 to 10.0.0.0/8, none to IPv6.
    @Loop private func ways(_ link: UInt32 = 1) -> NetworkWays {
        let paths = NetworkPaths { address in
            guard case .v4(let number) = address else { return nil }
            let isPrivate = number >> 24 == 10
            return .init(
                interface: isPrivate ? 2 : link, source: IPAddress(isPrivate ? "10.0.0.7" : "198.51.100.9"))
        }
        return paths.ways(to: [.v4(0x0a00_0001)])
    }

    private func route(_ text: String, _ length: Int) throws -> NetworkSign {
        let network = try #require(AddressPrefix(try address(text), length: length))
        return .route(RouteMessage.Route(network: network, interface: 9, table: 254))
    }

    @Test @Loop func `the link, the source and the routes of a way touch it`() throws {
        let signs: [NetworkSign] = try [
            .link(1), .link(2), .goneAddress(address("198.51.100.9")), .goneAddress(address("10.0.0.7")), .unknown,
            route("0.0.0.0", 0), route("::", 0), route("10.0.0.0", 16), route("128.0.0.0", 1),
        ]
        for sign in signs { #expect(ways().areTouched(by: sign), "\(sign)") }
    }

    @Test @Loop func `what containers, services and other nodes bring and take touches no way`() throws {
        let signs: [NetworkSign] = try [
            .newAddress, .link(7), .goneAddress(address("198.51.100.77")), .goneAddress(address("10.96.1.2")),
            route("10.244.3.0", 24), route("172.18.0.0", 16), route("fd00::", 8),
        ]
        for sign in signs { #expect(!ways().areTouched(by: sign), "\(sign)") }
    }

    @Test @Loop func `ways differ by another link, a new one or none; what is asked only now is no difference`() {
        let none = NetworkPaths { _ in nil }
        #expect(ways(3).differ(from: ways()))
        #expect(none.ways(to: []).differ(from: ways()) && ways().differ(from: none.ways(to: [])))
        #expect(!ways().differ(from: ways()))
        let all = NetworkPaths { _ in .init(interface: 1) }
        #expect(!all.ways(to: [.v4(1)]).differ(from: all.ways(to: [.v4(2)])))
    }
}
