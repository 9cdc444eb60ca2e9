import TestServers
import TestSupport
import Testing

extension Integration {
    /// DoH with replies in JSON, in each dialect.
    @Suite(.serialized)
    struct DoHJSONTests {
        private static let account = FakeAliDNSAccount(id: "123456", accessKeyID: "ak0001", secret: "s3cr3ts3cr3t")
        /// LocalDNS's answer for every name: seen when no vendor's answer was usable.
        private static let local = FakeZone(["*": .init(a: ["198.51.100.1"], aaaa: ["2001:db8:ffff::1"])])
        private static let zone = FakeZone(
            [
                "www.example.com": .init(a: ["192.0.2.1", "192.0.2.2"], aaaa: ["2001:db8::1"], ttl: 60),
                "four.example.com": .init(a: ["192.0.2.4"], ttl: 60),
                "alias.example.com": .init(alias: "edge.example.net", ttl: 30),
                "edge.example.net": .init(a: ["192.0.2.5"], ttl: 60),
            ], negativeTTL: 33)

        @Test(arguments: [FakeJSONDialect.google, .cloudflare, .alidns(nil), .alidns(account), .dnspod])
        func `both families, chains and all that is empty are answered in each dialect`(dialect: FakeJSONDialect) throws
        {
            var credentials = ""
            // The fake verifies signatures with openssl, and refuses a wrong one.
            if case .alidns(let account?) = dialect {
                credentials = """
                    account = "\(account.id)"
                    access_key_id = "\(account.accessKeyID)"
                    secret = "\(account.secret)"
                    """
            }
            let stage = try Stage(
                .dohJSON(dialect), Self.zone, localDNS: Self.local, provider: "timeout = \"2s\"\n" + credentials)
            #expect(try stage.ask("WWW.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(try stage.ask("www.example.com", RecordType.aaaa).addresses == ["2001:db8::1"])
            let chain = try stage.ask("alias.example.com")
            #expect(chain.answers.map(\.name) == ["alias.example.com", "edge.example.net"])
            #expect(chain.answers.map(\.type) == [RecordType.cname, RecordType.a])
            #expect(chain.addresses == ["192.0.2.5"])
            let nodata = try stage.ask("four.example.com", RecordType.aaaa)
            #expect(nodata.rcode == ResponseCode.noError && nodata.answers.isEmpty && nodata.soa != nil)
            let none = try stage.ask("none.example.com")
            #expect(none.rcode == ResponseCode.nxDomain)
            #expect(none.soa.flatMap(\.soaMinimum).map { $0 <= 33 } == true)
            #expect(stage.localDNS.questionCount() == 0)
            #expect(stage.vendor.calls.allSatisfy { $0.kind == .dohJSON })
            #expect(stage.vendor.requests.allSatisfy { $0.header("accept") == "application/dns-json" })
        }

        @Test func `other types go to the DoH provider behind it`() throws {
            let mail: [UInt8] = [0, 10] + TestName.wire("mail.example.com")
            let json = try FakeHTTPDNS(Self.zone)
            let wire = try FakeHTTPDNS(FakeZone(["www.example.com": .init(others: [RecordType.mx: [mail]])]))
            let localDNS = try FakeLocalDNS(Self.local)
            let daemon = try Daemon(
                DaemonConfiguration.dohJSON(json.jsonURL) + DaemonConfiguration.doh(wire.url)
                    + DaemonConfiguration.rest(localDNS: localDNS.address))
            #expect(try daemon.client().ask("www.example.com", RecordType.mx).answers.first?.data == mail)
            #expect(json.requests.isEmpty && localDNS.questionCount() == 0)
        }
    }
}
