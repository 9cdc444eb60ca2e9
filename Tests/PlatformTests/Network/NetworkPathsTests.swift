import DNSWire
import Platform
import Scheduling
import TestSupport
import Testing

/// Which way leads to an address, by routes of the test's own.
@Suite(.onLoop)
struct NetworkPathsTests {
    /// - Parameters:
    ///   - families: to which there are routes.
    ///   - source: of these routes.
    ///   - prefix: of a translator.
    @Loop
    private func paths(_ families: RecordType..., from source: IPAddress? = nil, by prefix: String? = nil)
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
}
