import DNSServer
import DNSWire
import Testing

@Suite struct AccessListTests {
    private func list(_ prefixes: String...) -> AccessList { AccessList(prefixes.compactMap { AddressPrefix($0) }) }

    private func allows(_ list: AccessList, _ client: String) throws -> Bool {
        list.allows(try #require(IPAddress(client)))
    }

    @Test(arguments: ["127.0.0.1", "127.255.255.255", "::1"])
    func `by default this machine is answered`(client: String) throws {
        #expect(try allows(list("127.0.0.0/8", "::1/128"), client))
    }

    @Test(arguments: ["126.255.255.255", "128.0.0.0", "10.0.0.1", "::", "::2", "::7f00:1", "2001:db8::1"])
    func `by default no other machine is answered`(client: String) throws {
        #expect(try !allows(list("127.0.0.0/8", "::1/128"), client))
    }

    @Test func `an empty list answers no client`() throws {
        #expect(try !allows(list(), "127.0.0.1"))
        #expect(try !allows(list(), "::1"))
    }

    @Test func `loopback is not answered unless it is listed`() throws {
        #expect(try !allows(list("10.0.0.0/8"), "127.0.0.1"))
        #expect(try !allows(list("2001:db8::/32"), "::1"))
        #expect(try !allows(list("::/128", "::2/127"), "::1"))
    }

    @Test func `one address of 127.0.0.0/8 does not open all of it`() throws {
        #expect(try allows(list("127.0.0.1/32"), "127.0.0.1"))
        #expect(try !allows(list("127.0.0.1/32"), "127.0.0.2"))
    }

    @Test(arguments: [
        ("10.1.0.0", true), ("10.1.255.255", true), ("10.2.0.0", false), ("10.0.255.255", false),
        ("192.0.2.7", true), ("192.0.2.6", false), ("192.0.2.8", false), ("2001:db8:ffff::1", true),
        ("2001:db9::", false),
    ])
    func `a prefix holds its addresses and no neighbour`(client: String, isAllowed: Bool) throws {
        let list = list("192.0.2.7/32", "10.1.0.0/16", "2001:db8::/32")
        #expect(try allows(list, client) == isAllowed)
    }

    @Test func `a prefix within another changes nothing`() throws {
        let list = list("10.0.0.0/8", "10.1.0.0/16", "10.255.0.0/16", "11.0.0.0/8")
        for client in ["10.0.0.0", "10.1.2.3", "10.200.0.1", "10.255.255.255", "11.0.0.0"] {
            #expect(try allows(list, client))
        }
        #expect(try !allows(list, "12.0.0.0"))
    }

    @Test func `the prefix of length zero answers its whole family`() throws {
        #expect(try allows(list("0.0.0.0/0"), "255.255.255.255"))
        #expect(try !allows(list("0.0.0.0/0"), "2001:db8::1"))
        #expect(try allows(list("::/0"), "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"))
    }
}
