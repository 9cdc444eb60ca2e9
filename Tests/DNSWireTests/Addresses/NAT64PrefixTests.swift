import DNSWire
import Testing

/// Prefixes of translators from IPv6 to IPv4.
struct NAT64PrefixTests {
    private func addresses(_ texts: String...) -> [IPAddress] { texts.compactMap { IPAddress($0) } }

    /// RFC 6052 section 2.4, tables 1 and 2.
    @Test(arguments: [
        ("2001:db8::/32", "2001:db8:c000:221::"), ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
        ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"), ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
        ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"),
        ("2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"), ("64:ff9b::/96", "64:ff9b::192.0.2.33"),
    ])
    func `192.0.2.33 stands where RFC 6052 has it`(prefix: String, address: String) throws {
        let prefix = try #require(NAT64Prefix(prefix))
        #expect(prefix.address(for: .v4(0xc000_0221)) == IPAddress(address))
    }

    @Test(arguments: [
        "64:ff9b::/96", "64:ff9b:1::/48", "2001:db8::/32", "2001:db8:100::/40", "2001:db8:122::/48",
        "2001:db8:122:300::/56", "2001:db8:122:344::/64", "2001:db8:122:344::/96", "fd00:64::/96",
    ])
    func `the prefix is found in the addresses of ipv4only dot arpa, and its text survives the way there and back`(
        text: String
    ) throws {
        let prefix = try #require(NAT64Prefix(text))
        #expect(prefix.description == text)
        let known = addresses("192.0.0.170", "192.0.0.171").compactMap { prefix.address(for: $0) }
        #expect(NAT64Prefix.prefixes(in: known) == [prefix])
        #expect(NAT64Prefix.prefixes(in: Array(known.suffix(1))) == [prefix])
    }

    @Test(arguments: [
        ("64:ff9b::/96", String(repeating: "0.", count: 16) + "b.9.f.f.4.6.0.0.ip6.arpa"),
        ("2001:db8::/32", "8.b.d.0.1.0.0.2.ip6.arpa"), ("2001:db8:100::/40", "1.0.8.b.d.0.1.0.0.2.ip6.arpa"),
    ])
    func `the names of its addresses are below one zone`(prefix: String, zone: String) throws {
        #expect(try NAT64Prefix(prefix)?.reverseZone == Name(zone))
    }

    @Test func `several prefixes are found, each once, and other addresses are ignored`() {
        let found = NAT64Prefix.prefixes(
            in: addresses(
                "2001:db8::1", "2001:db8:64::c000:ab", "64:ff9b::c000:aa", "192.0.0.170", "64:ff9b::c000:ab"))
        #expect(found.map(\.description) == ["2001:db8:64::/96", "64:ff9b::/96"])
    }

    @Test(arguments: [
        // Twice the same address: a prefix of 32 bits or one of 96.
        "2001:db8:c000:aa::c000:aa",
        // As an IPv4 address in an IPv6 one, of this machine, of this link, of a group.
        "::ffff:192.0.0.170", "::192.0.0.170", "fe80::192.0.0.170", "ff0e::192.0.0.170",
        // Bits 64 to 71 are set.
        "2001:db8:0:0:100::192.0.0.170",
        "2001:db8::192.0.0.172",
    ])
    func `an address that could be of no prefix, or of more than one, is ignored`(text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(NAT64Prefix.prefixes(in: [address]) == [])
    }

    @Test(arguments: [
        "", "64:ff9b::", "64:ff9b::/95", "64:ff9b::/97", "64:ff9b::/0", "2001:db8::/128", "192.0.2.0/24", "::/96",
        "::ffff:0:0/96", "fe80::/64", "ff00::/32", "2001:db8:0:0:100::/96", "auto",
    ])
    func `what leads to no translator is no prefix`(text: String) {
        #expect(NAT64Prefix(text) == nil)
    }

    @Test(arguments: ["127.0.0.1", "0.0.0.0", "169.254.1.1", "224.0.0.1", "255.255.255.255", "2001:db8::1"])
    func `addresses of this machine, its link, of groups and of IPv6 are not embedded`(text: String) throws {
        let address = try #require(IPAddress(text))
        for prefix in ["64:ff9b::/96", "2001:db8:64::/96", "2001:db8::/32"] {
            #expect(NAT64Prefix(prefix)?.address(for: address) == nil)
        }
    }

    @Test(arguments: ["10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1"])
    func `private addresses are embedded in a network's own prefix, not in the well-known one`(text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(NAT64Prefix("64:ff9b::/96")?.address(for: address) == nil)
        #expect(NAT64Prefix("2001:db8:64::/96")?.address(for: address) == IPAddress("2001:db8:64::\(text)"))
        #expect(NAT64Prefix("64:ff9b:1::/96")?.address(for: address) == IPAddress("64:ff9b:1::\(text)"))
    }
}
