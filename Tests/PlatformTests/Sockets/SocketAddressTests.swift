import DNSWire
import Glibc
import Platform
import Testing

struct SocketAddressTests {
    @Test(arguments: [
        "127.0.0.1:53", "0.0.0.0:0", "255.255.255.255:65535", "[::1]:53", "[::]:5353", "[2001:db8::1]:443",
        "[fe80::1%lo]:53",
    ])
    func `a text is read and written back unchanged`(text: String) {
        #expect(SocketAddress(text)?.description == text)
    }

    @Test func `an interface may be given by number, and must be one of this machine`() {
        #expect(SocketAddress("[fe80::1%1]:53")?.scope == 1)
        #expect(SocketAddress("[fe80::1%nosuchdevice]:53") == nil)
    }

    @Test(arguments: ["192.0.2.7:53", "[2001:db8:1:2:3:4:5:6]:53", "[fe80::1%lo]:53"])
    func `an address survives the way through C`(text: String) throws {
        let address = try #require(SocketAddress(text))
        #expect(address.withSockaddr { SocketAddress($0, length: $1) } == address)
    }

    @Test func `a C address that is cut short is refused`() throws {
        let address = try #require(SocketAddress("[::1]:53"))
        #expect(address.withSockaddr { SocketAddress($0, length: $1 - 1) } == nil)
    }

    @Test(arguments: ["192.0.2.7:53", "[2001:db8::7]:53"])
    func `the address alone and the port make the same address again`(text: String) throws {
        let address = try #require(SocketAddress(text))
        #expect(SocketAddress(address.ip, port: 53) == address)
    }

    @Test(arguments: [
        ("0.0.0.0:53", true), ("[::]:53", true), ("127.0.0.1:53", false), ("[::1]:53", false),
        ("[2001:db8::]:53", false),
    ])
    func `only the address of zeros stands for all of the machine`(text: String, isWildcard: Bool) {
        #expect(SocketAddress(text)?.isWildcard == isWildcard)
    }
}
