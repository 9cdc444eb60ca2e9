import TestServers
import TestSupport
import Testing

extension Integration {
    /// The four modes, and the sources that remain when others fail.
    @Suite(.serialized)
    struct RoutingTests {
        private static let local = FakeZone(["*": .init(a: ["198.51.100.1"], aaaa: ["2001:db8:ffff::1"])])

        private func stage(mode: String) throws -> Stage {
            try Stage(localDNS: Self.local, route: DaemonConfiguration.route(mode: mode))
        }

        @Test func `httpdns-first asks the vendor alone while it answers`() throws {
            let stage = try stage(mode: "httpdns-first")
            #expect(try stage.ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(stage.localDNS.questionCount() == 0)
        }

        @Test func `httpdns-only never asks LocalDNS`() throws {
            let stage = try stage(mode: "httpdns-only")
            stage.vendor.misbehave(.status(500))
            #expect(try stage.ask("www.example.com").rcode == ResponseCode.servFail)
            #expect(stage.localDNS.questionCount() == 0)
        }

        @Test func `localdns-only never asks a vendor`() throws {
            let stage = try stage(mode: "localdns-only")
            #expect(try stage.ask("www.example.com").addresses == ["198.51.100.1"])
            #expect(stage.vendor.callCount() == 0)
        }

        /// In mode `localdns-first`, where LocalDNS is believed without certificates.
        private func daemon(_ vendor: FakeHTTPDNS, _ localDNS: FakeLocalDNS) throws -> Daemon {
            let rest = DaemonConfiguration.rest(localDNS: localDNS.address, check: "auto")
                .replacing("[cache.disk]", with: "unverified = [\"example.com\"]\n[cache.disk]")
            let route = DaemonConfiguration.route(mode: "localdns-first")
            return try Daemon(DaemonConfiguration.aliyun(vendor.url) + route + rest)
        }

        @Test func `localdns-first answers from LocalDNS, and makes no call`() throws {
            let (vendor, localDNS) = (try FakeHTTPDNS(Stage.zone), try FakeLocalDNS(Self.local))
            let daemon = try daemon(vendor, localDNS)
            #expect(try daemon.client().ask("www.example.com").addresses == ["198.51.100.1"])
            #expect(vendor.callCount() == 0)
        }

        @Test func `localdns-first asks the vendor when LocalDNS fails`() throws {
            let (vendor, localDNS) = (try FakeHTTPDNS(Stage.zone), try FakeLocalDNS(Self.local))
            localDNS.behave(.rcode(ResponseCode.servFail))
            let daemon = try daemon(vendor, localDNS)
            #expect(try daemon.client().ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
        }

        @Test func `with protect set, other names are asked of LocalDNS`() throws {
            let stage = try Stage(
                localDNS: Self.local, route: DaemonConfiguration.route(protect: ["www.example.com"]))
            #expect(try stage.ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(try stage.ask("four.example.com").addresses == ["198.51.100.1"])
            #expect(stage.vendor.callCount("four.example.com") == 0)
        }

        @Test func `HTTPDNS down, LocalDNS answers as fallback`() throws {
            let stage = try Stage(localDNS: Self.local)
            stage.vendor.stop()
            #expect(try stage.ask("www.example.com").addresses == ["198.51.100.1"])
        }

        @Test func `both refusing, SERVFAIL comes, and without EDNS has no OPT`() throws {
            let stage = try Stage()
            stage.vendor.stop()
            stage.localDNS.stop()
            let reply = try stage.daemon.client().ask(.query("www.example.com"))
            #expect(reply.rcode == ResponseCode.servFail)
            #expect(reply.edns == nil)
        }

        @Test func `a failure is remembered for a moment only`() throws {
            let stage = try Stage()
            stage.vendor.misbehave(.status(500))
            stage.localDNS.behave(.rcode(ResponseCode.servFail))
            let client = try stage.daemon.client()
            #expect(try client.ask("www.example.com").rcode == ResponseCode.servFail)
            let calls = stage.vendor.callCount()
            for _ in 0..<20 { #expect(try client.ask("www.example.com").rcode == ResponseCode.servFail) }
            #expect(stage.vendor.callCount() <= calls + 1)
            stage.vendor.misbehave(nil)
            let reply = try client.ask("www.example.com", until: { !$0.addresses.isEmpty })
            #expect(reply.addresses == ["192.0.2.1", "192.0.2.2"])
        }
    }
}
