import TestServers
import TestSupport
import Testing

extension Integration {
    /// The network's list of resolvers and search domains, replaced while the daemon runs.
    @Suite(.serialized, .requires(.networkNamespaces), .requires(.noSystemResolverLists))
    struct SearchListTests {
        @Test func `the network's search list does not change which names HTTPDNS answers`() throws {
            let host = try ClientHost(addresses: ["10.9.5.1", "10.9.5.2"])
            let directory = try TemporaryDirectory()
            let (vendor, resolvers) = try host.namespace.inside {
                (
                    try FakeHTTPDNS(FakeZone("*", a: ["192.0.2.1"])),
                    try [1, 2].map { number in
                        let zone = FakeZone("*", a: ["198.51.100.\(number)"], ttl: 3_600)
                        return try FakeLocalDNS(zone, host: "10.9.5.\(number)", port: 53)
                    }
                )
            }
            try directory.write("nameserver 10.9.5.1\n", to: "resolv.conf")
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url) + """
                    [localdns]
                    resolv_conf = "\(directory.path)/resolv.conf"
                    certificate_check = "off"
                    [cache.disk]
                    path = ""
                    [control]
                    socket = ""

                    """, port: 53, namespace: host.namespace)
            func ask(_ name: String) throws -> [String] {
                try Dig(daemon.address, name, namespace: host.namespace).addresses
            }
            for name in ["www.bank.example", "www.shop.co.uk"] { #expect(try ask(name) == ["192.0.2.1"]) }
            #expect(try ask("printer0") == ["198.51.100.1"])

            try directory.write("nameserver 10.9.5.2\nsearch bank.example co.uk\n", to: "resolv.conf")
            // Names of one label belong to the network: its new resolver answers them once the new list has been read.
            let end = ContinuousClock.now + .patience
            var number = 1
            while try ask("printer\(number)") != ["198.51.100.2"], ContinuousClock.now < end { number += 1 }
            #expect(resolvers[1].questionCount() > 0)
            // Names asked for before, names that were not, and the domains themselves.
            for name in ["www.bank.example", "www.shop.co.uk", "login.bank.example", "bank.example", "other.co.uk"] {
                #expect(try ask(name) == ["192.0.2.1"], "\(name)")
            }
            withExtendedLifetime(resolvers) {}
        }

        @Test(arguments: [CertificateServers.Kind.otherName, .silent, .refusing], [true, false])
        func
            `a name of the search list that HTTPDNS denies is LocalDNS's, below a listed domain only with its certificate`(
                kind: CertificateServers.Kind, listed: Bool
            ) throws
        {
            let servers = try CertificateServers()
            let vendor = try FakeHTTPDNS(FakeZone())
            let localDNS = try FakeLocalDNS()
            localDNS.behave(.lie([kind.address]))
            let directory = try TemporaryDirectory()
            try directory.write("search example.com\n", to: "resolv.conf")
            let daemon = try Daemon(
                DaemonConfiguration.doh(vendor.url)
                    + DaemonConfiguration.route(protect: listed ? ["example.com"] : nil)
                    + DaemonConfiguration.rest(
                        localDNS: localDNS.address, check: "auto", ports: [servers.port],
                        control: directory.path + "/control.sock", resolvConf: directory.path + "/resolv.conf"))
            let reply = try daemon.client().ask(CertificateServers.name, RecordType.a)
            #expect(reply.addresses == (listed ? [] : [kind.address]))
            #expect(reply.rcode == (listed ? ResponseCode.nxDomain : ResponseCode.noError))
        }
    }
}
