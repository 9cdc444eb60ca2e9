import TestServers
import Testing

extension Integration {
    /// DoH with replies in JSON, in each dialect.
    @Suite(.serialized)
    struct DoHJSONTests {
        /// The dialects that need no account.
        private static let dialects: [FakeJSONDialect] = [.google, .cloudflare, .alidns(nil), .dnspod]
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

        /// The lines of a provider with an account.
        private static func credentials(secret: String = account.secret) -> String {
            """
            account = "\(account.id)"
            access_key_id = "\(account.accessKeyID)"
            secret = "\(secret)"
            """
        }

        private static func query(_ stage: Stage, _ arguments: String...) throws -> ChildProcess.Outcome {
            try Daemon.run(["query", "--config", stage.daemon.configurationFile] + arguments + ["--via", "json"])
        }

        @Test(arguments: dialects)
        func `both families, chains and all that is empty are answered in each dialect`(dialect: FakeJSONDialect) throws
        {
            let stage = try Stage(.dohJSON(dialect), Self.zone, localDNS: Self.local)
            #expect(try stage.ask("WWW.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(try stage.ask("www.example.com", RecordType.aaaa).addresses == ["2001:db8::1"])
            let chain = try stage.ask("alias.example.com")
            #expect(chain.answers.map(\.name) == ["alias.example.com", "edge.example.net"])
            #expect(chain.answers.map(\.type) == [RecordType.cname, RecordType.a])
            #expect(chain.addresses == ["192.0.2.5"])
            let nodata = try stage.ask("four.example.com", RecordType.aaaa)
            #expect(nodata.rcode == ResponseCode.noError)
            #expect(nodata.answers.isEmpty)
            #expect(nodata.soa != nil)
            let none = try stage.ask("none.example.com")
            #expect(none.rcode == ResponseCode.nxDomain)
            #expect(none.soa.flatMap(\.soaMinimum).map { $0 <= 33 } == true)
            #expect(stage.localDNS.questionCount() == 0)
            #expect(stage.vendor.calls.allSatisfy { $0.kind == .dohJSON })
            #expect(stage.vendor.calls.contains(.init(.dohJSON, "www.example.com", "A")))
            #expect(stage.vendor.calls.contains(.init(.dohJSON, "www.example.com", "AAAA")))
            #expect(stage.vendor.requests.allSatisfy { $0.header("accept") == "application/dns-json" })
        }

        @Test func `the vendor is asked with the name, the type and nothing else`() throws {
            let stage = try Stage(.dohJSON(.google), Self.zone)
            _ = try Self.query(stage, "www.example.com")
            #expect(stage.vendor.requests.map(\.target) == ["/resolve?name=www.example.com&type=A"])
            #expect(stage.vendor.requests.map(\.method) == ["GET"])
        }

        @Test func `query asks the provider by its name`() throws {
            let stage = try Stage(.dohJSON(.google), Self.zone, localDNS: Self.local)
            let address = try Self.query(stage, "www.example.com", "AAAA")
            #expect(address.status == 0)
            #expect(address.output.contains("www.example.com AAAA: NOERROR, from provider json in "))
            #expect(address.output.contains("www.example.com 60 AAAA 2001:db8::1"))
            let chain = try Self.query(stage, "alias.example.com")
            #expect(chain.output.contains("alias.example.com 30 CNAME edge.example.net"))
            #expect(chain.output.contains("edge.example.net 60 A 192.0.2.5"))
            let none = try Self.query(stage, "none.example.com")
            #expect(none.status == 1)
            #expect(none.output.contains(": NXDOMAIN, from provider json in "))
            let nodata = try Self.query(stage, "four.example.com", "AAAA")
            #expect(nodata.status == 1)
            #expect(nodata.output.contains(": NODATA, from provider json in "))
            stage.vendor.misbehave(
                .body(Array(#"{"Status":0,"Question":[{"name":"void.example.com.","type":1}]}"#.utf8)))
            let unknown = try Self.query(stage, "void.example.com")
            #expect(unknown.status == 1)
            #expect(unknown.output.contains(": no answer: empty, for a reason that the service does not give, after "))
        }

        @Test func `empty without a cause is asked of the next source`() throws {
            let stage = try Stage(.dohJSON(.google), Self.zone, localDNS: Self.local)
            stage.vendor.misbehave(
                .body(Array(#"{"Status":0,"Question":[{"name":"void.example.com.","type":1}]}"#.utf8)))
            #expect(try stage.ask("void.example.com").addresses == ["198.51.100.1"])
            // Each family: addresses of the other one would show that it knows the name. A probe may have come since.
            #expect(Set(stage.vendor.calls.map(\.types)) == ["A", "AAAA"])
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
            #expect(json.requests.isEmpty)
            #expect(localDNS.questionCount() == 0)
        }

        @Test func `with an account at AliDNS calls are signed`() throws {
            let stage = try Stage(
                .dohJSON(.alidns(Self.account)), Self.zone, localDNS: Self.local, provider: Self.credentials())
            // The fake verifies with openssl, and refuses a wrong one.
            #expect(try stage.ask("WWW.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            let parameters = try #require(stage.vendor.requests.first).parameters
            #expect(parameters["uid"] == "123456")
            #expect(parameters["ak"] == "ak0001")
        }

        @Test func `a clock that is wrong costs AliDNS one refusal`() throws {
            var account = Self.account
            account.clockOffset = 86_400
            let stage = try Stage(
                .dohJSON(.alidns(account)), Self.zone, localDNS: Self.local, provider: Self.credentials())
            #expect(try stage.ask("www.example.com").addresses.count == 2)
            #expect(try stage.ask("four.example.com").addresses == ["192.0.2.4"])
            #expect(stage.vendor.callCount("www.example.com") == 2)
            #expect(stage.vendor.callCount("four.example.com") == 1)
        }

        @Test
        func
            `AliDNS that refuses the key is in backoff after one question and its probe, and nothing of the key is logged`()
            throws
        {
            let secret = "not-the-secret-they-have"
            let stage = try Stage(
                .dohJSON(.alidns(Self.account)), Self.zone, localDNS: Self.local,
                provider: Self.credentials(secret: secret))
            #expect(try stage.ask("www.example.com").addresses == ["198.51.100.1"])
            #expect(stage.daemon.waitForLog { $0.contains("InvalidKey (HTTP 403)") })
            #expect(try stage.ask("four.example.com").addresses == ["198.51.100.1"])
            #expect(stage.vendor.callCount() == 2)
            let keys = stage.vendor.requests.compactMap { $0.parameters["key"] }
            #expect(keys.count == 2)
            #expect(!([secret] + keys).contains { stage.daemon.errors.contains($0) })
        }

        @Test func `over TLS the certificate is checked and HTTP 2 is used`() throws {
            let backend = try FakeHTTPDNS(Self.zone)
            let certificates = try TestCertificates()
            let nginx = try Nginx(certificates.leaf(addresses: ["127.0.0.1"]), backend: backend)
            let localDNS = try FakeLocalDNS(Self.local)
            func daemon(_ extra: String) throws -> Daemon {
                try Daemon(
                    DaemonConfiguration.dohJSON(
                        nginx.url + "/resolve", "ca_file = \"\(certificates.authority)\"\n" + extra)
                        + DaemonConfiguration.rest(localDNS: localDNS.address))
            }
            let right = try daemon("")
            #expect(try right.client().ask("alias.example.com").addresses == ["192.0.2.5"])
            #expect(nginx.waitForRequests(1))
            #expect(nginx.requests.allSatisfy { $0.httpVersion == "HTTP/2.0" })
            let wrong = try daemon(#"tls_names = ["other.example"]"#)
            #expect(try wrong.client().ask("alias.example.com").addresses == ["198.51.100.1"])
        }

        /// What the connection does is the same in each form.
        @Test(arguments: [
            HTTPFault.truncatedBody, .wrongName, .body(Array(#"{"Status":2}"#.utf8)),
            .body(
                Array(
                    #"{"Status":0,"Answer":[{"name":"www.example.com.","type":1,"TTL":9,"data":"203.0.113.66"}]}"#.utf8)
            ),
        ])
        func `a bad reply is no answer, the next source is asked`(fault: HTTPFault) throws {
            let stage = try Stage(.dohJSON(.google), Self.zone, localDNS: Self.local)
            stage.vendor.misbehave(fault)
            #expect(try stage.ask("www.example.com").addresses == ["198.51.100.1"])
            #expect(stage.daemon.isRunning)
        }

        @Test func `the JSON form is read under any content type`() throws {
            let stage = try Stage(.dohJSON(.google), Self.zone)
            stage.vendor.misbehave(.contentType("text/html"))
            #expect(try stage.ask("www.example.com").addresses.count == 2)
        }
    }
}
