import TestServers
import TestSupport
import Testing

extension Integration {
    /// What is asked of the vendors, in which order, and how their replies are used.
    @Suite(.serialized)
    struct HTTPDNSTests {
        private static let secret = "0123456789abcdef0123456789abcdef"
        /// LocalDNS's answer for every name: seen when no vendor's answer was usable.
        private static let local = FakeZone(["*": .init(a: ["198.51.100.1"], aaaa: ["2001:db8:ffff::1"])])

        @Test func `the Aliyun form asks both families in one call`() throws {
            let stage = try Stage()
            #expect(try stage.ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(try stage.ask("www.example.com", RecordType.aaaa).addresses == ["2001:db8::1"])
            #expect(stage.vendor.calls == [.init(.aliyun, "www.example.com", "4,6")])
            #expect(stage.localDNS.questionCount() == 0)
        }

        @Test func `with a secret calls are signed`() throws {
            let stage = try Stage(secret: Self.secret)
            // The fake verifies with openssl, and refuses a wrong one.
            #expect(try stage.ask("WWW.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(stage.vendor.calls.map(\.kind) == [.aliyunSigned])
        }

        @Test func `a vendor that refuses the signature is asked once, and probed once`() throws {
            let second = try FakeHTTPDNS(Stage.zone)
            let first = try FakeHTTPDNS(Stage.zone, secret: "another secret of theirs")
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(first.url, secret: Self.secret)
                    + DaemonConfiguration.aliyun(second.url, name: "second") + DaemonConfiguration.rest())
            let client = try daemon.client()
            #expect(try client.ask("www.example.com").addresses.count == 2)
            #expect(daemon.waitForLog { $0.contains("access refused") })
            #expect(try client.ask("four.example.com").addresses == ["192.0.2.4"])
            #expect(first.callCount() == 2)
            #expect(second.callCount() == 2)
        }

        @Test func `the DoH form asks as RFC 8484 says`() throws {
            let stage = try Stage(.doh)
            #expect(try stage.ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(stage.vendor.calls.contains(.init(.doh, "www.example.com", "1")))
            let request = try #require(stage.vendor.requests.first)
            #expect(request.path == "/dns-query")
            #expect(request.header("accept") == "application/dns-message")
            if request.method == "GET" { #expect(request.parameters["dns"]?.hasPrefix("AAAB") == true) }
        }

        @Test func `the DoH form answers any type`() throws {
            let mail: [UInt8] = [0, 10] + TestName.wire("mail.example.com")
            let zone = FakeZone([
                "www.example.com": .init(
                    others: [RecordType.mx: [mail], RecordType.txt: [[2, 104, 105]], 65_280: [[1, 2, 3]]])
            ])
            let stage = try Stage(.doh, zone)
            #expect(try stage.ask("www.example.com", RecordType.mx).answers.first?.data == mail)
            #expect(try stage.ask("www.example.com", RecordType.txt).answers.first?.text == "hi")
            #expect(try stage.ask("www.example.com", 65_280).answers.first?.data == [1, 2, 3])
            #expect(stage.localDNS.questionCount() == 0)
        }

        @Test func `a CNAME chain reaches the client`() throws {
            let zone = FakeZone([
                "www.example.com": .init(alias: "edge.example.net", ttl: 30),
                "edge.example.net": .init(a: ["192.0.2.5"], ttl: 60),
            ])
            let reply = try Stage(.doh, zone).ask("www.example.com")
            #expect(reply.answers.map(\.type) == [RecordType.cname, RecordType.a])
            #expect(reply.answers.map(\.name) == ["www.example.com", "edge.example.net"])
            #expect(reply.addresses == ["192.0.2.5"])
        }

        @Test func `the Age of a DoH reply is taken off its TTLs`() throws {
            let stage = try Stage(.doh, FakeZone("www.example.com", a: ["192.0.2.1"], ttl: 600))
            stage.vendor.addHeaders(["Age: 250"])
            let ttl = try #require(try stage.ask("www.example.com").answers.first?.ttl)
            #expect((345...350).contains(ttl))
        }

        @Test func `an explicit NXDOMAIN of DoH is final`() throws {
            let stage = try Stage(.doh, FakeZone(negativeTTL: 33), localDNS: Self.local)
            let reply = try stage.ask("none.example.com")
            #expect(reply.rcode == ResponseCode.nxDomain)
            #expect(reply.soa.flatMap(\.soaMinimum).map { $0 <= 33 } == true)
            #expect(stage.localDNS.questionCount() == 0)
        }

        @Test func `an explicit NODATA of DoH is final`() throws {
            let stage = try Stage(.doh, localDNS: Self.local)
            let reply = try stage.ask("four.example.com", RecordType.aaaa)
            #expect(reply.rcode == ResponseCode.noError)
            #expect(reply.answers.isEmpty)
            #expect(reply.soa != nil)
            #expect(stage.localDNS.questionCount() == 0)
        }

        @Test func `an empty answer of unknown cause is asked of the next source`() throws {
            let stage = try Stage(.aliyun, FakeZone(), localDNS: Self.local)
            #expect(try stage.ask("unlisted.example.com").addresses == ["198.51.100.1"])
            #expect(stage.vendor.callCount("unlisted.example.com") == 1)
        }

        @Test func `an empty answer of unknown cause is asked of the next provider first`() throws {
            let first = try FakeHTTPDNS(FakeZone())
            let second = try FakeHTTPDNS(Stage.zone)
            let localDNS = try FakeLocalDNS(Self.local)
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(first.url) + DaemonConfiguration.doh(second.url)
                    + DaemonConfiguration.rest(localDNS: localDNS.address))
            #expect(try daemon.client().ask("www.example.com").addresses.count == 2)
            #expect(localDNS.questionCount() == 0)
        }

        @Test func `when all say empty it is NODATA with an SOA`() throws {
            let zone = FakeZone(["void.example.com": .init(ttl: 20)])
            let stage = try Stage(.aliyun, zone, localDNS: zone)
            let reply = try stage.ask("void.example.com")
            #expect(reply.rcode == ResponseCode.noError)
            #expect(reply.answers.isEmpty)
            #expect(reply.soa?.soaMinimum == reply.soa?.ttl)
        }

        @Test func `a second address is asked when the first is slow`() throws {
            let slow = try FakeHTTPDNS(Stage.zone)
            slow.misbehave(.hang)
            let fast = try FakeHTTPDNS(Stage.zone, host: "127.0.0.2", port: slow.address.port)
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(slow.url, #"addresses = ["127.0.0.1", "127.0.0.2"]"#)
                    + DaemonConfiguration.rest())
            let started = ContinuousClock.now
            #expect(try daemon.client().ask("www.example.com").addresses.count == 2)
            // After 300 ms.
            #expect(ContinuousClock.now - started > .milliseconds(250))
            // Beside a probe of the slow one, with a name of its own.
            #expect(slow.callCount("www.example.com") == 1)
            #expect(fast.callCount("www.example.com") == 1)
        }

        @Test func `a second address is asked at once when the first refuses`() throws {
            let port = try FreePort.next(on: ["127.0.0.1", "127.0.0.2"])
            let vendor = try FakeHTTPDNS(Stage.zone, host: "127.0.0.2", port: port)
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(
                    "http://127.0.0.1:\(port)", #"addresses = ["127.0.0.1", "127.0.0.2"]"#)
                    + DaemonConfiguration.rest())
            #expect(try daemon.client().ask("www.example.com").addresses.count == 2)
            #expect(vendor.callCount() == 1)
        }

        @Test func `a provider is asked only for its names`() throws {
            let metered = try FakeHTTPDNS(FakeZone(["*": .init(a: ["192.0.2.77"])]))
            let general = try FakeHTTPDNS(FakeZone(["*": .init(a: ["192.0.2.88"])]))
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(metered.url, #"names = ["example.com"]"#)
                    + DaemonConfiguration.doh(general.url) + DaemonConfiguration.rest())
            let client = try daemon.client()
            #expect(try client.ask("api.example.com").addresses == ["192.0.2.77"])
            #expect(try client.ask("example.com").addresses == ["192.0.2.77"])
            #expect(try client.ask("badexample.com").addresses == ["192.0.2.88"])
            #expect(metered.callCount("badexample.com") == 0)
        }

        /// The shape of the recipes in `conf/`.
        @Test func `with one provider that has names, and no list, any other name comes whole and unchecked`() throws {
            let (https, binding): (UInt16, [UInt8]) = (65, [0, 1, 0])
            let zone = FakeZone([
                "other.example.net": .init(a: ["192.0.2.77"], others: [https: [binding]], ttl: 3_600)
            ])
            let stage = try Stage(.aliyun, localDNS: zone, provider: #"names = ["example.com"]"#)
            let reply = try stage.ask("other.example.net")
            // Of a protected name it would be 60 s at most, and SERVFAIL where a certificate is wrong.
            #expect(reply.addresses == ["192.0.2.77"] && reply.answers.allSatisfy { $0.ttl > 3_590 })
            #expect(try stage.ask("other.example.net", https).answers.map(\.data) == [binding])
            #expect(stage.vendor.callCount("other.example.net") == 0)
            #expect(try stage.ask("www.example.com").addresses.count == 2)
        }

        @Test(arguments: [
            HTTPFault.closeBeforeReply, .closeMidBody, .garbage, .status(500), .status(404, body: "no"),
            .status(429, retryAfter: 5), .oversizedBody(70_000), .truncatedBody, .wrongLength, .body([]),
            .body(Array("<html>sign in</html>".utf8)), .wrongName, .hang,
        ])
        func `a bad reply in the Aliyun form is no answer, the next source is asked`(fault: HTTPFault) throws {
            let stage = try Stage(.aliyun, localDNS: Self.local)
            stage.vendor.misbehave(fault)
            #expect(try stage.ask("www.example.com").addresses == ["198.51.100.1"])
            #expect(stage.daemon.isRunning)
        }

        /// What the connection does is the same in each form.
        @Test(arguments: [HTTPFault.truncatedBody, .body([0xff]), .wrongName, .contentType("text/html")])
        func `a bad reply in the DoH form is no answer, the next source is asked`(fault: HTTPFault) throws {
            let stage = try Stage(.doh, localDNS: Self.local)
            stage.vendor.misbehave(fault)
            #expect(try stage.ask("www.example.com").addresses == ["198.51.100.1"])
            #expect(stage.daemon.isRunning)
        }

        @Test func `the Aliyun form is read under any content type`() throws {
            let stage = try Stage()
            stage.vendor.misbehave(.contentType("text/plain"))
            #expect(try stage.ask("www.example.com").addresses.count == 2)
        }

        @Test func `a redirect is not followed`() throws {
            let elsewhere = try FakeHTTPDNS(Stage.zone)
            let stage = try Stage(localDNS: Self.local)
            stage.vendor.addHeaders(["Location: \(elsewhere.url)/139450/d?host=www.example.com"])
            stage.vendor.misbehave(.status(302))
            #expect(try stage.ask("www.example.com").addresses == ["198.51.100.1"])
            #expect(elsewhere.requests.isEmpty)
        }

        @Test func `a proxy in the environment is not used`() throws {
            let vendor = try FakeHTTPDNS(Stage.zone)
            let proxy = try FakeHTTPDNS(FakeZone())
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url) + DaemonConfiguration.rest(),
                environment: ["http_proxy": proxy.url, "all_proxy": proxy.url, "no_proxy": ""])
            #expect(try daemon.client().ask("www.example.com").addresses.count == 2)
            #expect(proxy.requests.isEmpty)
        }

        @Test func `one connection is used again and again`() throws {
            let stage = try Stage(.aliyun, FakeZone(["*": .init(a: ["192.0.2.7"])]))
            let client = try stage.daemon.client()
            for number in 1...20 { #expect(try client.ask("n\(number).example.com").addresses == ["192.0.2.7"]) }
            #expect(stage.vendor.connections == 1)
        }

        @Test func `a connection that the vendor closed meanwhile costs no question`() throws {
            let stage = try Stage(localDNS: Self.local)
            let client = try stage.daemon.client()
            #expect(try client.ask("www.example.com").addresses.count == 2)
            stage.vendor.closeConnections()
            #expect(stage.vendor.waitForOpenConnections(atMost: 0))
            #expect(try client.ask("four.example.com").addresses == ["192.0.2.4"])
        }

        @Test func `secrets stay out of logs, streams and the process list`() throws {
            let stage = try Stage(secret: Self.secret, extra: "queries = true\n")
            #expect(try stage.ask("www.example.com").addresses.count == 2)
            // Failures of every kind are when programs log what they were doing.
            for (number, fault) in [HTTPFault.status(500), .garbage, .truncatedBody, .closeBeforeReply].enumerated() {
                stage.vendor.misbehave(fault)
                _ = try stage.ask("n\(number).example.com")
            }
            let commandLine = try ChildProcess.succeed(["cat", "/proc/\(stage.daemon.pid)/cmdline"])
            #expect(commandLine.contains("serve"))
            try stage.daemon.stop()
            let signatures = stage.vendor.requests.compactMap { $0.parameters["s"] }
            // After two failures in a row the address is in backoff.
            #expect(signatures.count >= 3)
            for text in [stage.daemon.errors, stage.daemon.output, commandLine] {
                #expect(!text.contains(Self.secret))
                #expect(!signatures.contains { text.contains($0) })
            }
            #expect(!stage.daemon.errors.isEmpty)
        }

        @Test func `an error in the configuration does not print the secret`() throws {
            let text =
                Daemon.listenTable([TestAddress("127.0.0.1", port: 5_300)])
                + DaemonConfiguration.aliyun("http://127.0.0.1:9", secret: Self.secret, "timeout = \"soon\"")
            let outcome = try Daemon.check(text)
            #expect(outcome.status == 78)
            #expect(!(outcome.output + outcome.errors).contains(Self.secret))
        }
    }
}
