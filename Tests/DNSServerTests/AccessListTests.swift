import DNSServer
import DNSWire
import Testing

@Suite struct AccessListTests {
    @Test(arguments: [
        (
            ["127.0.0.0/8", "::1/128"], ["127.0.0.1", "127.255.255.255", "::1"],
            ["126.255.255.255", "128.0.0.0", "10.0.0.1", "::", "::2", "::7f00:1", "2001:db8::1"]
        ),
        ([], [], ["127.0.0.1", "::1"]),
        // This machine is not answered unless it is listed, and not all of it where one address is.
        (["10.0.0.0/8", "2001:db8::/32"], [], ["127.0.0.1", "::1"]),
        (["::/128", "::2/127"], [], ["::1"]),
        (["127.0.0.1/32"], ["127.0.0.1"], ["127.0.0.2"]),
        (
            ["192.0.2.7/32", "10.1.0.0/16", "2001:db8::/32"],
            ["10.1.0.0", "10.1.255.255", "192.0.2.7", "2001:db8:ffff::1"],
            ["10.2.0.0", "10.0.255.255", "192.0.2.6", "192.0.2.8", "2001:db9::"]
        ),
        // A prefix within another changes nothing.
        (
            ["10.0.0.0/8", "10.1.0.0/16", "10.255.0.0/16", "11.0.0.0/8"],
            ["10.0.0.0", "10.1.2.3", "10.200.0.1", "10.255.255.255", "11.0.0.0"], ["12.0.0.0"]
        ),
        (["0.0.0.0/0"], ["255.255.255.255"], ["2001:db8::1"]),
        (["::/0"], ["ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], ["127.0.0.1"]),
    ])
    func `a list answers the clients within its prefixes, and no neighbour`(
        prefixes: [String], answered: [String], others: [String]
    ) throws {
        let list = AccessList(prefixes.compactMap { AddressPrefix($0) })
        for client in answered { #expect(list.allows(try #require(IPAddress(client))), "\(client)") }
        for client in others { #expect(!list.allows(try #require(IPAddress(client))), "\(client)") }
    }
}
