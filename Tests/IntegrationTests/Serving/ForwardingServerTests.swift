import TestServers
import Testing

extension Integration {
    /// Other DNS servers in front of the daemon.
    @Suite(.requires(.networkNamespaces))
    struct ForwardingServerTests {
        /// The server in front.
        enum Kind: CaseIterable {
            case unbound, dnsmasq

            func start(on host: ClientHost) throws -> ResolverProgram {
                switch self {
                // The strictest setting: it refuses replies whose letter case is not the question's.
                case .unbound: try .unbound(on: host, options: "use-caps-for-id: yes")
                case .dnsmasq: try .dnsmasq(on: host)
                }
            }
        }

        @Test(arguments: Kind.allCases)
        func `addresses, few and many, nothing, no such name, and a failure come through`(kind: Kind) throws {
            let host = try ClientHost()
            var zone = Stage.zone
            zone.entries["large.example.com"] = .init(a: (1...200).map { "192.0.2.\($0)" })
            // Not even on a busy machine is it late, and LocalDNS asked too.
            let stage = try Stage(.doh, zone, provider: "timeout = \"2s\"", inside: host)
            let server = try kind.start(on: host)
            func dig(_ name: String, _ type: String = "A") throws -> Dig {
                try Dig(server.address, name, type, namespace: host.namespace)
            }
            #expect(Set(try dig("www.example.com").addresses) == ["192.0.2.1", "192.0.2.2"])
            #expect(try dig("www.example.com", "AAAA").addresses == ["2001:db8::1"])
            let large = try dig("large.example.com")
            #expect(large.addresses.count == 200 && large.wasTruncated)
            let empty = try dig("four.example.com", "AAAA")
            #expect(empty.status == "NOERROR" && empty.answers.isEmpty)
            #expect(try dig("none.example.com").status == "NXDOMAIN")
            #expect(stage.localDNS.questionCount() == 0)
            stage.vendor.misbehave(.status(500), for: "struck.example.com")
            stage.localDNS.behave(.rcode(ResponseCode.servFail))
            #expect(try dig("struck.example.com").status == "SERVFAIL")
            #expect(try dig("four.example.com").addresses == ["192.0.2.4"])
        }
    }
}
