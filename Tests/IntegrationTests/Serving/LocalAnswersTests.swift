import TestServers
import TestSupport
import Testing

extension Integration {
    /// Names that no vendor is asked for: CH, the special-use names, and those of the network.
    struct LocalAnswersTests {
        /// A vendor and a LocalDNS that answer every name, so that a leak shows as an answer.
        private static let zone = FakeZone([
            "*": .init(a: ["192.0.2.1"], others: [RecordType.ptr: [TestName.wire("x.example")]], ttl: 7_200)
        ])

        @Test func `names of the network are asked of LocalDNS alone, and passed on whole`() throws {
            let directory = try TemporaryDirectory()
            let list = try directory.write("nameserver 127.0.0.1\nsearch corp.local\n", to: "resolv.conf")
            let stage = try Stage(.aliyun, Self.zone, localDNS: Self.zone, resolvConf: list)
            for name in [
                "nas", "nas.lan", "git.corp.internal", "nas.home.arpa", "nas.fritz.box", "dc.corp.local",
                "1.1.168.192.in-addr.arpa", "1.0.0.0.d.f.ip6.arpa",
            ] {
                for type in [RecordType.a, RecordType.ptr] {
                    #expect(try stage.ask(name, type).answers.map(\.ttl) == [7_200], "\(name)")
                }
                #expect(stage.localDNS.questionCount(name) == 2, "\(name)")
            }
            #expect(stage.vendor.callCount() == 0)
        }

        @Test(.requires(.networkNamespaces))
        func `why.NAME is answered to programs of this machine alone, and asks nothing`() throws {
            let host = try ClientHost()
            let stage = try Stage(
                on: ["127.0.0.1", "10.9.0.1"], listen: "allow = [\"127.0.0.0/8\", \"10.9.0.0/24\"]", inside: host)
            let ask = { (server: String, namespace: NetworkNamespace) in
                try namespace.run(["dig", "-r", "@" + server, "+tries=1", "why.www.example.com", "CH", "TXT"])
            }
            let own = try ask("127.0.0.1", host.namespace)
            #expect(own.contains("status: NOERROR") && own.contains("\"route=protect state=not-cached\""))
            let other = try ask("10.9.0.1", host.neighbour)
            #expect(other.contains("status: REFUSED") && other.contains("EDE: 18 (Prohibited): (only programs"))
            #expect(stage.vendor.callCount() == 0 && stage.localDNS.questionCount("www.example.com") == 0)
        }
    }
}
