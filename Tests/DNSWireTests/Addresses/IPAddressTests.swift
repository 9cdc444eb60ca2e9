import DNSWire
import Testing

/// Addresses as text and bytes.
struct IPAddressTests {
    @Test(arguments: [
        "2001:db8::1", "::", "::1", "1::", "2001:db8:0:1:1:1:1:1", "2001:0:0:1::1", "2001:db8:a:b:c:d:e:f",
        "192.0.2.1", "0.9.10.100", "255.255.255.255", "fe80::1:0:0:1",
    ])
    func `canonical text survives the way there and back`(text: String) {
        #expect(IPAddress(text)?.description == text)
    }

    @Test(arguments: [
        ("2001:0DB8:0000:0000:0000:0000:0000:0001", "2001:db8::1"), ("2001:db8:0:0:0:0:0:1", "2001:db8::1"),
        ("240e:f7:a093:101:3:0:0:3e8", "240e:f7:a093:101:3::3e8"), ("0:0:0:0:0:0:0:0", "::"),
        ("1:0:0:2:0:0:0:3", "1:0:0:2::3"), ("1:0:0:2:0:0:3:4", "1::2:0:0:3:4"), ("2001:db8::0:1", "2001:db8::1"),
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"), ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
        ("64:ff9b::192.0.2.1", "64:ff9b::c000:201"),
    ])
    func `IPv6 text is written in the form of RFC 5952`(text: String, canonical: String) {
        #expect(IPAddress(text)?.description == canonical)
    }

    @Test func `loopback and link-local addresses are known`() {
        let loopback = ["127.0.0.1", "127.255.0.9", "::1"]
        let linkLocal = ["169.254.0.0", "169.254.255.255", "fe80::", "febf:ffff::"]
        let others = ["128.0.0.1", "::2", "169.253.255.255", "169.255.0.0", "fe7f:ffff::", "fec0::"]
        for text in loopback + linkLocal + others {
            #expect(IPAddress(text)?.isLoopback == loopback.contains(text))
            #expect(IPAddress(text)?.isLinkLocal == linkLocal.contains(text))
        }
    }

    @Test(arguments: [
        "", ".", "1.2.3", "1.2.3.", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.04", "1.2.3.+4", "1.2.3.-4", "1.2..4",
        " 1.2.3.4",
        "1.2.3.4 ", "1.2.3.٤", "0x1.2.3.4", "1234", ":", ":::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3",
        "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "12345::", "g::", "::1%eth0", "[::1]", "::1.2.3", "1.2.3.4::", "::+1",
        "::1/64", ":1:2:3:4:5:6:7", "1:2:3:4:5:6:7:", "::1.2.3.4:5", "1:2:3:4:5:6:7:1.2.3.4", "１::", "::ſ",
    ])
    func `text that is no address is refused`(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test func `bytes survive the way there and back`() {
        #expect(IPAddress(bytes: [192, 0, 2, 1]) == IPAddress("192.0.2.1"))
        let bytes = [0x20, 0x01, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [1]
        #expect(IPAddress(bytes: bytes[...]) == IPAddress("2001:db8::1"))
        #expect(IPAddress(bytes: bytes[...])?.bytes == bytes)
        #expect(IPAddress(bytes: [1, 2, 3]) == nil)
        #expect(IPAddress(bytes: []) == nil)
    }
}

/// Networks as text.
struct AddressPrefixTests {
    @Test(arguments: [
        "192.0.2.0/33", "192.0.2.0/-1", "192.0.2.0/", "192.0.2.0/+8", "192.0.2.0/8/8", "::/129", "/8", "", "x/8",
        "192.0.2.0/99999999999999999999", "192.0.2.0/ 8", "192.0.2.0/\u{301}8",
    ])
    func `text that is no network is refused`(text: String) {
        #expect(AddressPrefix(text) == nil)
    }

    @Test func `host bits are cleared, so equal networks are equal`() {
        #expect(AddressPrefix("192.0.2.77/24") == AddressPrefix("192.0.2.0/24"))
        #expect(AddressPrefix("2001:db8::1/32")?.description == "2001:db8::/32")
    }

    @Test func `a length outside the family's range is refused`() throws {
        let address = try #require(IPAddress("192.0.2.1"))
        #expect(AddressPrefix(address, length: 33) == nil)
        #expect(AddressPrefix(address, length: -1) == nil)
    }
}
