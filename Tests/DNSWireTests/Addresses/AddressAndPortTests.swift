import DNSWire
import Testing

/// An address and a port, as people write them.
struct AddressAndPortTests {
    @Test(arguments: ["127.0.0.1:53", "[::1]:53", "0.0.0.0:0", "[fe80::1%eth0]:5353", "[2001:db8::1]:65535"])
    func `addresses with a port are read and written`(text: String) {
        #expect(AddressAndPort(text)?.description == text)
    }

    @Test(arguments: [
        "", ":53", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:+5", "127.0.0.1:5:5", "::1:53", "[::1]",
        "[::1]53", "[::1", "[127.0.0.1]:53", "127.0.0.1%lo:53", "[fe80::1%]:53", "[fe80::1%a/b]:53",
        "[fe80::1%0123456789abcdef]:53", "localhost:53", "127.0.0.1: 53", "127.0.0.1:-1", "127.0.0:53", "[::1]:",
        "127.0.0.1\0:53", "127.0.0.1:53\0",
    ])
    func `what is no address with a port is refused`(text: String) {
        #expect(AddressAndPort(text) == nil)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1:53"), ("::1", "[::1]:53"), ("[::1]", "[::1]:53"),
        ("fe80::1%eth0", "[fe80::1%eth0]:53"),
        ("192.0.2.1:5353", "192.0.2.1:5353"), ("[::1]:5353", "[::1]:5353"),
    ])
    func `a server may leave out its port`(text: String, full: String) {
        #expect(AddressAndPort(text, defaultPort: 53)?.description == full)
    }
}
