import DNSWire
import Testing

@testable import Upstreams

struct ResolvConfTests {
    @Test(arguments: [
        ("nameserver 192.0.2.53\n", ["192.0.2.53:53"]),
        ("nameserver 192.0.2.53", ["192.0.2.53:53"]),
        ("nameserver\t192.0.2.53 \r\nnameserver 2001:db8::53\r\n", ["192.0.2.53:53", "[2001:db8::53]:53"]),
        ("# nameserver 192.0.2.1\n; nameserver 192.0.2.2\n\nnameserver 192.0.2.3 # ours\n", ["192.0.2.3:53"]),
        ("search example.com\noptions ndots:5\nnameserver 192.0.2.53\ndomain x\n", ["192.0.2.53:53"]),
        ("  nameserver 192.0.2.53\n", ["192.0.2.53:53"]),
        ("nameserver fe80::1%eth0\n", ["[fe80::1%eth0]:53"]),
        ("nameserver 2001:db8::53%eth0\n", ["[2001:db8::53]:53"]),
        ("nameservers 192.0.2.53\nnameserver192.0.2.53\nNAMESERVER 192.0.2.53\n", []),
        ("", []),
    ])
    func `servers are read as the C library reads them`(text: String, servers: [String]) {
        let conf = ResolvConf(text.utf8)
        #expect(conf.servers.map(\.description) == servers)
    }

    @Test(arguments: [
        "nameserver", "nameserver dns.example", "nameserver 192.0.2.256", "nameserver 192.0.2.53:5353",
        "nameserver fe80::1", "nameserver fe80::1%", "nameserver fe80::1%0", "nameserver fe80::1%4294967295",
        "nameserver fe80::1%4294967296", "nameserver fe80::1%a-name-that-is-too-long", "nameserver \u{1b}[31m",
    ])
    func `a server that cannot be used is skipped`(text: String) {
        #expect(ResolvConf("\n\(text)\nnameserver 192.0.2.53\n".utf8).servers.map(\.description) == ["192.0.2.53:53"])
    }

    /// The loopback interface is the first one of every network namespace.
    @Test(arguments: [("fe80::1%1", "lo"), ("fe80::1%01", "lo"), ("fe80::1%1x", "1x")])
    func `an interface may be written as its number`(text: String, interface: String) {
        #expect(ResolvConf("nameserver \(text)\n".utf8).servers.map(\.interface) == [interface])
    }

    @Test(arguments: [
        ("options use-vc\nnameserver 192.0.2.53\n", [true]),
        ("nameserver 192.0.2.53\nnameserver fe80::1%eth0\noptions timeout:1 use-vc\n", [true, true]),
        ("options use-vc\noptions edns0\nnameserver 192.0.2.53\n", [true]),
        ("options edns0 use-vcs\n# options use-vc\nnameserver 192.0.2.53\n", [false]),
        ("nameserver 192.0.2.53\n", [false]),
    ])
    func `with use-vc all servers are asked over TCP`(text: String, usesTCP: [Bool]) {
        #expect(ResolvConf(text.utf8).servers.map(\.usesTCP) == usesTCP)
    }

    @Test func `what stands behind 64 KiB or 1,024 lines is not read`() {
        let server = "nameserver 192.0.2.53\n"
        #expect(ResolvConf((String(repeating: "#", count: 65_536) + "\n" + server).utf8).servers.isEmpty)
        #expect(ResolvConf((String(repeating: "\n", count: 1_023) + server).utf8).servers.count == 1)
        #expect(ResolvConf((String(repeating: "\n", count: 1_024) + server).utf8).servers.isEmpty)
    }

    @Test func `an address within which 64 KiB end is not read as another one`() {
        let start = "nameserver 192.0.2.5"
        let rest = String(repeating: "#", count: 65_535 - start.utf8.count) + "\n" + start
        #expect(ResolvConf((rest + "3\n").utf8).servers.isEmpty)
        #expect(ResolvConf(rest.utf8).servers.map(\.description) == ["192.0.2.5:53"])
    }
}

struct ResolvConfSearchTests {
    private func domains(_ text: String) -> [String] { ResolvConf(Array(text.utf8)).searchDomains.map(\.description) }

    @Test func `the search list is read`() {
        #expect(
            domains("search svc.cluster.local cluster.local\nnameserver 192.0.2.1\n") == [
                "svc.cluster.local", "cluster.local",
            ])
    }

    @Test func `the last search or domain line counts`() {
        #expect(domains("search one.example\ndomain two.example\n") == ["two.example"])
    }

    @Test func `the root and what is no name are left out`() {
        #expect(domains("search . a..b corp.example\n") == ["corp.example"])
    }
}
