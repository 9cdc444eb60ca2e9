import TestServers
import TestSupport
import Testing

extension Integration {
    /// The network's own resolver: which one it is, and when it is asked.
    struct LocalDNSTests {
        private static let bypassed = DaemonConfiguration.route(bypass: ["example.net"])
        private static let lan = FakeZone([
            "*.example.net": .init(a: ["198.51.100.1"], aaaa: ["2001:db8:ffff::1"], ttl: 60)
        ])

        @Test func `a name that one group of servers denies is asked of the next`() throws {
            let vpn = try FakeLocalDNS(FakeZone("db.example.net", a: ["10.8.0.9"]))
            let lan = try FakeLocalDNS(FakeZone("nas.example.net", a: ["192.168.1.9"]))
            let other = try FakeLocalDNS(FakeZone("nas.example.net", a: ["192.168.1.9"]))
            let vendor = try FakeHTTPDNS(Stage.zone)
            let groups = "[[\"\(vpn.address)\"], [\"\(lan.address)\", \"\(other.address)\"]]"
            let rest = DaemonConfiguration.rest(localDNS: vpn.address, control: DaemonConfiguration.ownSocket)
                .replacing("[\"\(vpn.address)\"]", with: groups)
            let daemon = try Daemon(DaemonConfiguration.aliyun(vendor.url) + Self.bypassed + rest)
            #expect(try daemon.client().ask("db.example.net").addresses == ["10.8.0.9"])
            #expect(lan.questionCount() == 0)
            #expect(try daemon.client().ask("nas.example.net").addresses == ["192.168.1.9"])
            let none = try daemon.client().ask("none.example.net")
            #expect(none.rcode == ResponseCode.nxDomain && none.soa != nil)
            // On a busy machine a datagram may have been sent again before its reply came.
            #expect(vpn.questionCount("none.example.net") > 0 && lan.questionCount("none.example.net") > 0)
            #expect(other.questionCount() == 0)
            let status = try daemon.status()
            #expect(
                status.contains("\(vpn.address) used, group 1") && status.contains("\(other.address) used, group 2"))
            let check = try daemon.run("check").output
            #expect(check.contains("localdns  \(vpn.address), then \(lan.address), \(other.address)\n"))
        }

        @Test(.requires(.noSystemResolverLists))
        func `a server that starts before the network does answers through the vendor`() throws {
            let directory = try TemporaryDirectory()
            let list = try directory.write("", to: "resolv.conf")
            let vendor = try FakeHTTPDNS(Stage.zone)
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url)
                    + DaemonConfiguration.rest().replacing(
                        "[\"127.0.0.1:9\"]", with: "\"auto\"\nresolv_conf = \"\(list)\""))
            #expect(try daemon.client().ask("www.example.com").addresses.count == 2)
            #expect(try daemon.client().ask("printer").rcode == ResponseCode.servFail)
            #expect(daemon.waitForLog { $0.contains("localdns.servers") })
        }
    }
}
