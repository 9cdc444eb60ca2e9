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
}
