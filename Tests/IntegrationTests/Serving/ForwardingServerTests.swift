import TestServers
import Testing

extension Integration {
    /// Other DNS servers in front of the daemon.
    @Suite(.serialized, .requires(.networkNamespaces))
    struct ForwardingServerTests {
        /// The server in front.
        enum Kind: CaseIterable {
            case unbound, dnsmasq

            func start(on host: ClientHost) throws -> ForwardingServer {
                switch self {
                // The strictest setting: it refuses replies whose letter case is not the question's.
                case .unbound: try .unbound(on: host, options: "use-caps-for-id: yes")
                case .dnsmasq: try .dnsmasq(on: host)
                }
            }
        }

        @Test(arguments: Kind.allCases)
        func `addresses, nothing, and no such name come through`(kind: Kind) throws {
            let host = try ClientHost()
            let stage = try Stage(.doh, inside: host)
            let server = try kind.start(on: host)
            func dig(_ name: String, _ type: String = "A") throws -> Dig {
                try Dig(server.address, name, type, namespace: host.namespace)
            }
            #expect(Set(try dig("www.example.com").addresses) == ["192.0.2.1", "192.0.2.2"])
            #expect(try dig("www.example.com", "AAAA").addresses == ["2001:db8::1"])
            let empty = try dig("four.example.com", "AAAA")
            #expect(empty.status == "NOERROR")
            #expect(empty.answers.isEmpty)
            #expect(try dig("none.example.com").status == "NXDOMAIN")
            #expect(stage.localDNS.questionCount() == 0)
        }

        @Test(arguments: Kind.allCases)
        func `200 addresses come through`(kind: Kind) throws {
            let host = try ClientHost()
            let stage = try Stage(.aliyun, .large("large.example.com", count: 200), inside: host)
            let server = try kind.start(on: host)
            let dig = try Dig(server.address, "large.example.com", namespace: host.namespace)
            #expect(dig.addresses.count == 200)
            #expect(dig.wasTruncated)
            withExtendedLifetime(stage) {}
        }

        @Test(arguments: Kind.allCases)
        func `a name whose sources fail is SERVFAIL, and other names go on`(kind: Kind) throws {
            let host = try ClientHost()
            let stage = try Stage(inside: host)
            let server = try kind.start(on: host)
            stage.vendor.misbehave(.status(500), for: "www.example.com")
            stage.localDNS.behave(.rcode(ResponseCode.servFail))
            #expect(try Dig(server.address, "www.example.com", namespace: host.namespace).status == "SERVFAIL")
            #expect(try Dig(server.address, "four.example.com", namespace: host.namespace).addresses == ["192.0.2.4"])
        }
    }

    /// The results of a validator behind the daemon: see `Documentation/DNSSEC.md`.
    @Suite(.serialized, .requires(.networkNamespaces))
    struct SignatureTests {
        private let host: ClientHost
        private let certificates: TestCertificates
        private let zone: SignedZone

        init() throws {
            host = try ClientHost()
            certificates = try TestCertificates()
            zone = try SignedZone(certificates, on: host)
        }

        private func daemon(_ provider: String) throws -> Daemon {
            try Daemon(provider + DaemonConfiguration.rest(), port: 53, namespace: host.namespace)
        }

        private func dohDaemon() throws -> Daemon {
            try daemon(
                """
                [[provider]]
                type = "doh"
                url = "\(zone.url)"
                ca_file = "\(certificates.authority)"

                """)
        }

        private func dig(_ server: ForwardingServer, _ name: String, _ type: String = "A") throws -> Dig {
            try Dig(server.address, name, type, ["+dnssec"], namespace: host.namespace)
        }

        @Test func `through a DoH provider signed answers are validated`() throws {
            let daemon = try dohDaemon()
            let server = try ForwardingServer.unbound(on: host, trustAnchor: zone.trustAnchor)
            for (type, address) in zip(["A", "AAAA"], SignedZone.addresses) {
                let dig = try dig(server, "www.signed.example", type)
                #expect(dig.addresses == [address], "\(dig.text)")
                #expect(dig.flags.contains("ad"))
            }
            withExtendedLifetime(daemon) {}
        }

        @Test(arguments: ["none.signed.example", "www.signed.example"])
        func `through a DoH provider proofs of absence are validated`(name: String) throws {
            let daemon = try dohDaemon()
            let server = try ForwardingServer.unbound(on: host, trustAnchor: zone.trustAnchor)
            let dig = try dig(server, name, "TXT")
            #expect(dig.status == (name.hasPrefix("none") ? "NXDOMAIN" : "NOERROR"), "\(dig.text)")
            #expect(dig.flags.contains("ad"))
            withExtendedLifetime(daemon) {}
        }

        @Test func `through a DoH provider a forged address is refused`() throws {
            let daemon = try dohDaemon()
            let server = try ForwardingServer.unbound(on: host, trustAnchor: zone.trustAnchor)
            #expect(try dig(server, "forged.signed.example").status == "SERVFAIL")
            withExtendedLifetime(daemon) {}
        }

        @Test func `through an address service signed names fail at a validator, and the others do not`() throws {
            let vendor = try host.namespace.inside {
                try FakeHTTPDNS(
                    FakeZone([
                        "www.signed.example": .init(a: ["192.0.2.1"]), "www.example.com": .init(a: ["192.0.2.2"]),
                    ]))
            }
            let daemon = try daemon(DaemonConfiguration.aliyun(vendor.url))
            let server = try ForwardingServer.unbound(on: host, trustAnchor: zone.trustAnchor)
            #expect(try dig(server, "www.signed.example").status == "SERVFAIL")
            let unsigned = try dig(server, "www.example.com")
            #expect(unsigned.addresses == ["192.0.2.2"])
            #expect(!unsigned.flags.contains("ad"))
            withExtendedLifetime(daemon) {}
        }

        @Test func `a validator with a negative trust anchor for a name gets its addresses`() throws {
            let vendor = try host.namespace.inside { try FakeHTTPDNS(FakeZone("www.signed.example", a: ["192.0.2.1"])) }
            let daemon = try daemon(DaemonConfiguration.aliyun(vendor.url))
            let server = try ForwardingServer.unbound(
                on: host, trustAnchor: zone.trustAnchor, options: "domain-insecure: \"www.signed.example\"")
            #expect(try dig(server, "www.signed.example").addresses == ["192.0.2.1"])
            withExtendedLifetime(daemon) {}
        }
    }
}
