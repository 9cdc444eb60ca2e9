import TestServers
import TestSupport
import Testing

extension Integration {
    /// Names that no vendor is asked for: CH, the special-use names, and those of the network.
    @Suite(.serialized)
    struct LocalAnswersTests {
        /// A vendor and a LocalDNS that answer every name, so that a leak shows as an answer.
        private func stage(_ route: String = "") throws -> Stage {
            let zone = FakeZone(["*": .init(a: ["192.0.2.1"], others: [RecordType.ptr: [TestName.wire("x.example")]])])
            return try Stage(.aliyun, zone, localDNS: zone, route: route)
        }

        private func expectNothingAsked(_ stage: Stage) {
            #expect(stage.vendor.callCount() == 0)
            #expect(stage.localDNS.questionCount() == 0)
        }

        @Test(arguments: ["version.bind", "hostname.bind", "id.server", "VERSION.bind"])
        func `CH TXT names are answered without version digits`(name: String) throws {
            let stage = try stage()
            let reply = try stage.daemon.client().ask(.query(name, RecordType.txt, class: 3))
            #expect(reply.rcode == ResponseCode.noError)
            let record = try #require(reply.answers.first)
            #expect(record.class == 3)
            #expect(record.text?.isEmpty == false)
            if name.lowercased() == "version.bind" { #expect(record.text?.contains { $0.isNumber } == false) }
            expectNothingAsked(stage)
        }

        @Test func `other CH names are refused`() throws {
            let stage = try stage()
            let reply = try stage.daemon.client().ask(.query("www.example.com", RecordType.txt, class: 3))
            #expect(reply.rcode == ResponseCode.refused)
            expectNothingAsked(stage)
        }

        @Test(arguments: ["localhost", "LocalHost", "app.localhost"])
        func `localhost is loopback`(name: String) throws {
            let stage = try stage()
            #expect(try stage.ask(name).addresses == ["127.0.0.1"])
            #expect(try stage.ask(name, RecordType.aaaa).addresses == ["::1"])
            let other = try stage.ask(name, RecordType.mx)
            #expect(other.rcode == ResponseCode.noError)
            #expect(other.answers.isEmpty)
            #expect(other.soa != nil)
            expectNothingAsked(stage)
        }

        @Test(arguments: [
            "x.invalid", "abcdefghijklmnop.onion", "printer.local", "x.alt", "x.test", "1.2.0.192.in-addr.arpa",
        ])
        func `a special-use name is NXDOMAIN with an SOA, and no upstream is asked`(name: String) throws {
            let stage = try stage()
            for type in [RecordType.a, RecordType.ptr] {
                let reply = try stage.ask(name, type)
                #expect(reply.rcode == ResponseCode.nxDomain)
                #expect(reply.answers.isEmpty)
                #expect(reply.soa != nil)
            }
            expectNothingAsked(stage)
        }

        @Test(arguments: [
            "nas.lan", "git.corp.internal", "nas.home.arpa", "nas.fritz.box", "dc.corp.local",
            "1.1.168.192.in-addr.arpa", "1.0.0.0.d.f.ip6.arpa",
        ])
        func `a name of the network is asked of LocalDNS alone, and passed on whole`(name: String) throws {
            let zone = FakeZone([
                "*": .init(
                    a: ["192.0.2.1"], others: [RecordType.ptr: [TestName.wire("x.example")]], ttl: 7_200)
            ])
            let directory = try TemporaryDirectory()
            let list = try directory.write("nameserver 127.0.0.1\nsearch corp.local\n", to: "resolv.conf")
            let stage = try Stage(.aliyun, zone, localDNS: zone, resolvConf: list)
            for type in [RecordType.a, RecordType.ptr] {
                #expect(try stage.ask(name, type).answers.map(\.ttl) == [7_200])
            }
            #expect(stage.vendor.callCount() == 0)
            #expect(stage.localDNS.questionCount(name) == 2)
        }

        @Test func `the reverse of loopback is localhost`() throws {
            let stage = try stage()
            let reply = try stage.ask("1.0.0.127.in-addr.arpa", RecordType.ptr)
            #expect(reply.answers.first.map { $0.data == TestName.wire("localhost") } ?? (reply.soa != nil))
            expectNothingAsked(stage)
        }

        @Test func `resolver discovery finds no encrypted resolver`() throws {
            let stage = try stage()
            let reply = try stage.ask("_dns.resolver.arpa", 64)
            #expect(reply.rcode == ResponseCode.noError)
            #expect(reply.answers.isEmpty)
            #expect(reply.soa != nil)
            expectNothingAsked(stage)
        }

        @Test func `a special-use name that the route names is asked there`() throws {
            let other = try FakeLocalDNS(FakeZone("nas.home.arpa", a: ["198.51.100.9"]))
            let stage = try stage(DaemonConfiguration.route(bypass: ["local"], forward: ["home.arpa": other.address]))
            #expect(try stage.ask("nas.home.arpa").addresses == ["198.51.100.9"])
            #expect(other.questionCount("nas.home.arpa") == 1)
            #expect(try stage.ask("printer.local").addresses == ["192.0.2.1"])
            #expect(stage.localDNS.questionCount("printer.local") == 1)
        }

        @Test(arguments: ["x.localhost", "x.invalid", "x.onion"])
        func `localhost, invalid and onion stay local whatever the route says`(name: String) throws {
            let stage = try stage(DaemonConfiguration.route(bypass: ["localhost", "invalid", "onion"]))
            _ = try stage.ask(name)
            expectNothingAsked(stage)
        }

        @Test func `a name of one label never reaches a vendor`() throws {
            let stage = try stage()
            _ = try stage.ask("nas")
            _ = try stage.ask("com", RecordType.aaaa)
            #expect(stage.vendor.callCount() == 0)
        }

        @Test func `why.NAME shows dig where its answer came from`() throws {
            let stage = try Stage()
            _ = try stage.ask("www.example.com")
            let dig = try Dig(stage.daemon.address, "why.www.example.com", "TXT", ["-t", "TXT", "-c", "CH", "-q"])
            let address = "\(stage.vendor.address)"
            #expect(
                dig.text.contains(
                    "type=A route=protect source=provider provider=vendor server=\(address) state=fresh age="))
            #expect(dig.text.contains("\"decision=protect: no list has it\""))
            #expect(dig.answers.count == 3)
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
