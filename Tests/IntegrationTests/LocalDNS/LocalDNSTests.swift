import TestServers
import TestSupport
import Testing

extension Integration {
    /// The network's own resolver: when it is asked, how, and which of its responses are accepted.
    @Suite(.serialized)
    struct LocalDNSTests {
        private static let bypassed = DaemonConfiguration.route(bypass: ["example.net"])
        private static let lan = FakeZone([
            "*.example.net": .init(a: ["198.51.100.1"], aaaa: ["2001:db8:ffff::1"], ttl: 60)
        ])

        @Test func `a bypassed name is asked of LocalDNS and of no vendor`() throws {
            let stage = try Stage(localDNS: Self.lan, route: Self.bypassed)
            #expect(try stage.ask("lan.example.net").addresses == ["198.51.100.1"])
            #expect(stage.vendor.callCount() == 0)
            #expect(try stage.ask("www.example.com").addresses.count == 2)
            #expect(stage.localDNS.questionCount("www.example.com") == 0)
        }

        @Test func `a forwarded name is asked of its servers`() throws {
            let cluster = try FakeLocalDNS(FakeZone("api.cluster.example", a: ["10.96.0.7"]))
            let stage = try Stage(route: DaemonConfiguration.route(forward: ["cluster.example": cluster.address]))
            #expect(try stage.ask("api.cluster.example").addresses == ["10.96.0.7"])
            #expect(stage.vendor.callCount() == 0)
            #expect(stage.localDNS.questionCount() == 0)
        }

        @Test func `the longest suffix decides, and forward before bypass`() throws {
            let server = try FakeLocalDNS(FakeZone(["*": .init(a: ["10.96.0.7"])]))
            let stage = try Stage(
                .aliyun, FakeZone(["*": .init(a: ["192.0.2.1"])]),
                localDNS: FakeZone(["*": .init(a: ["198.51.100.1"])]),
                route: DaemonConfiguration.route(
                    protect: ["example.com", "safe.lan.example.com"], bypass: ["lan.example.com", "both.example.com"],
                    forward: ["both.example.com": server.address]))
            #expect(try stage.ask("www.example.com").addresses == ["192.0.2.1"])
            #expect(try stage.ask("x.lan.example.com").addresses == ["198.51.100.1"])
            #expect(try stage.ask("x.safe.lan.example.com").addresses == ["192.0.2.1"])
            #expect(try stage.ask("x.both.example.com").addresses == ["10.96.0.7"])
            #expect(try stage.ask("xlan.example.com").addresses == ["192.0.2.1"])
        }

        @Test func `types that no provider answers are asked of LocalDNS`() throws {
            let mail: [UInt8] = [0, 10] + TestName.wire("mail.example.com")
            let zone = FakeZone(["www.example.com": .init(others: [RecordType.mx: [mail]])])
            let stage = try Stage(localDNS: zone)
            #expect(try stage.ask("www.example.com", RecordType.mx).answers.map(\.data) == [mail])
            #expect(stage.vendor.callCount() == 0)
        }

        @Test func `HTTPS records of protected names are NODATA`() throws {
            let zone = FakeZone(["www.example.com": .init(others: [RecordType.https: [[0, 1, 0]]])])
            let stage = try Stage(localDNS: zone)
            let reply = try stage.ask("www.example.com", RecordType.https)
            #expect(reply.rcode == ResponseCode.noError)
            #expect(reply.answers.isEmpty)
            #expect(reply.soa != nil)
        }

        @Test(arguments: [FakeLocalDNS.Behaviour.silentOverUDP, .copiesOPT])
        func `a server that lacks UDP, or mishandles EDNS, answers every name`(behaviour: FakeLocalDNS.Behaviour) throws
        {
            let stage = try Stage(localDNS: Self.lan, route: Self.bypassed)
            stage.localDNS.behave(behaviour)
            for number in 0..<20 {
                #expect(try stage.ask("n\(number).example.net").addresses == ["198.51.100.1"])
            }
            // The names of the end are asked once each.
            #expect(stage.localDNS.questionCount("n19.example.net") == 1)
        }

        @Test func `TTLs of LocalDNS and of forward have a bound, those of providers have not`() throws {
            let zone = FakeZone(["*": .init(a: ["198.51.100.1"], ttl: 600)])
            let (vendor, localDNS) = (try FakeHTTPDNS(zone), try FakeLocalDNS(zone))
            let rest = DaemonConfiguration.rest(localDNS: localDNS.address)
                .replacing("[localdns]", with: "[localdns]\nmax_ttl = \"30s\"")
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url)
                    + DaemonConfiguration.route(bypass: ["example.net"], forward: ["docker": localDNS.address]) + rest)
            let client = try daemon.client()
            for name in ["www.example.net", "db.docker"] {
                let ttl = try #require(try client.ask(name).answers.first?.ttl)
                #expect((25...30).contains(ttl))
            }
            let ttl = try #require(try client.ask("www.example.com").answers.first?.ttl)
            #expect((580...600).contains(ttl))
        }

        @Test func `80 overlapping questions leave from more than 60 source ports, in random letter case`() throws {
            let stage = try Stage(localDNS: Self.lan, route: Self.bypassed)
            stage.localDNS.behave(.hold)
            let names = (0..<80).map { "overlapping-\($0).example.net" }
            // A client may have 64 questions outstanding.
            let clients = try (0..<4).map { try stage.daemon.client(from: "127.0.5.\($0 + 1)") }
            for (number, name) in names.enumerated() {
                try clients[number % 4].send(.query(name, id: UInt16(number)))
            }
            #expect(stage.localDNS.waitForQuestions(80))
            let questions = stage.localDNS.questions
            stage.localDNS.behave(.honest)
            #expect(Set(questions.map(\.from.port)).count > 60)
            #expect(Set(questions.map(\.id)).count > 60)
            #expect(questions.count { $0.name != $0.name.lowercased() } > 60)
            for number in names.indices {
                let reply = try clients[number % 4].receive().message
                #expect(reply.questions.first?.name == names[Int(reply.id)])
                #expect(reply.addresses == ["198.51.100.1"])
            }
        }

        @Test func `a forged reply is not taken, the honest one after it is`() throws {
            let stage = try Stage(localDNS: Self.lan, route: Self.bypassed)
            stage.localDNS.behave(.forged("203.0.113.66"))
            #expect(try stage.ask("lan.example.net").addresses == ["198.51.100.1"])
        }

        @Test func `addresses in the additional section are dropped`() throws {
            let stage = try Stage(localDNS: Self.lan, route: Self.bypassed)
            stage.localDNS.behave(.extraAddresses(["203.0.113.66", "2001:db8:bad::1"]))
            let reply = try stage.ask("lan.example.net")
            #expect(reply.addresses == ["198.51.100.1"])
            #expect(reply.additionals.map(\.type) == [RecordType.opt])
        }

        @Test func `a cut reply is asked again over TCP`() throws {
            let stage = try Stage(localDNS: Self.lan, route: Self.bypassed)
            stage.localDNS.behave(.truncated)
            #expect(try stage.ask("lan.example.net").addresses == ["198.51.100.1"])
            // On a busy machine the datagram may have been sent again before its reply came.
            let ways = stage.localDNS.questions.map(\.overTCP)
            #expect(ways.first == false && ways.last == true && ways.count { $0 } == 1)
        }

        @Test(arguments: [ResponseCode.servFail, ResponseCode.refused])
        func `a server that refuses is passed over`(rcode: Int) throws {
            let bad = try FakeLocalDNS()
            bad.behave(.rcode(rcode))
            let good = try FakeLocalDNS(Self.lan)
            let vendor = try FakeHTTPDNS(Stage.zone)
            let rest = DaemonConfiguration.rest(localDNS: bad.address)
                .replacing("[\"\(bad.address)\"]", with: "[\"\(bad.address)\", \"\(good.address)\"]")
            let daemon = try Daemon(DaemonConfiguration.aliyun(vendor.url) + Self.bypassed + rest)
            #expect(try daemon.client().ask("lan.example.net").addresses == ["198.51.100.1"])
            #expect(bad.questionCount() == 1)
        }

        @Test func `a name that one group of servers denies is asked of the next`() throws {
            let vpn = try FakeLocalDNS(FakeZone("db.example.net", a: ["10.8.0.9"]))
            let lan = try FakeLocalDNS(FakeZone("nas.example.net", a: ["192.168.1.9"]))
            let other = try FakeLocalDNS(FakeZone("nas.example.net", a: ["192.168.1.9"]))
            let vendor = try FakeHTTPDNS(Stage.zone)
            let directory = try TemporaryDirectory()
            let groups = "[[\"\(vpn.address)\"], [\"\(lan.address)\", \"\(other.address)\"]]"
            let rest = DaemonConfiguration.rest(localDNS: vpn.address, control: directory.path + "/control.sock")
                .replacing("[\"\(vpn.address)\"]", with: groups)
            let daemon = try Daemon(DaemonConfiguration.aliyun(vendor.url) + Self.bypassed + rest)
            #expect(try daemon.client().ask("db.example.net").addresses == ["10.8.0.9"])
            #expect(lan.questionCount() == 0)
            #expect(try daemon.client().ask("nas.example.net").addresses == ["192.168.1.9"])
            let none = try daemon.client().ask("none.example.net")
            #expect(none.rcode == ResponseCode.nxDomain && none.soa != nil)
            #expect((vpn.questionCount("none.example.net"), lan.questionCount("none.example.net")) == (1, 1))
            #expect(other.questionCount() == 0)
            let status = try Daemon.run(["status", "--config", daemon.configurationFile]).output
            #expect(
                status.contains("\(vpn.address) used, group 1") && status.contains("\(other.address) used, group 2"))
            let check = try Daemon.run(["check", "--config", daemon.configurationFile]).output
            #expect(check.contains("localdns  \(vpn.address), then \(lan.address), \(other.address)\n"))
        }

        @Test func `NXDOMAIN of LocalDNS for a bypassed name reaches the client with its SOA`() throws {
            let stage = try Stage(localDNS: FakeZone(negativeTTL: 17), route: Self.bypassed)
            let reply = try stage.ask("none.example.net")
            #expect(reply.rcode == ResponseCode.nxDomain)
            #expect(reply.soa.map { $0.ttl <= 17 } == true)
        }

        @Test(.requires(.noSystemResolverLists))
        func `check warns of a resolv.conf that names only ourselves, and says what to write`() throws {
            let outcome = try Self.checkAuto("nameserver 127.0.0.1\nnameserver ::1\n")
            #expect(outcome.status == 0)
            #expect(outcome.errors.contains("warning: localdns.servers: no resolver of the network found"))
            #expect(outcome.errors.contains("localdns.servers = [\"192.0.2.53\"]"))
            #expect(outcome.output.contains("localdns  none found\n"))
        }

        @Test func `a resolv.conf that names another server passes the check`() throws {
            #expect(try Self.checkAuto("nameserver 127.0.0.1\nnameserver 192.0.2.53\n").status == 0)
        }

        @Test(.requires(.noSystemResolverLists))
        func `a server that starts before the network does answers through the vendor`()
            throws
        {
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

        private static func checkAuto(_ resolvConf: String) throws -> ChildProcess.Outcome {
            let directory = try TemporaryDirectory()
            let file = try directory.write(resolvConf, to: "resolv.conf")
            return try Daemon.check(
                """
                [listen]
                addresses = ["127.0.0.1:53", "[::1]:53"]
                [[provider]]
                type = "doh"
                url = "https://192.0.2.1/dns-query"
                [localdns]
                servers = "auto"
                resolv_conf = "\(file)"
                """)
        }

        @Test(.requires(.privilegedPorts), .requires(.noSystemResolverLists))
        func `auto passes over ourselves in resolv.conf`() throws {
            let localDNS = try FakeLocalDNS(Self.lan, host: "127.0.53.7", port: 53)
            let vendor = try FakeHTTPDNS(Stage.zone)
            let directory = try TemporaryDirectory()
            let file = try directory.write("nameserver 127.0.53.6\nnameserver 127.0.53.7\n", to: "resolv.conf")
            let rest = DaemonConfiguration.rest(localDNS: localDNS.address)
                .replacing("[\"\(localDNS.address)\"]", with: "\"auto\"\nresolv_conf = \"\(file)\"")
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url) + Self.bypassed + rest, on: ["127.0.53.6"], port: 53)
            #expect(try daemon.client().ask("lan.example.net").addresses == ["198.51.100.1"])
            #expect(localDNS.questionCount() == 1)
        }
    }
}
