import TestServers
import TestSupport
import Testing

extension Integration {
    /// HTTP/2 over TLS, with nginx as the vendor.
    @Suite(.serialized)
    struct HTTP2Tests {
        /// An `aliyun` provider at this nginx.
        private func provider(_ nginx: Nginx, _ certificates: TestCertificates?, names: [String]) -> String {
            let authority = certificates.map { "ca_file = \"\($0.authority)\"\n" } ?? ""
            return DaemonConfiguration.aliyun(
                nginx.url,
                authority + "addresses = [\"\(nginx.address.host)\"]\ntls_names = \(DaemonConfiguration.list(names))")
        }

        @Test func `one slow name among 60 fast ones costs no other anything, on one connection`() throws {
            let backend = try FakeHTTPDNS(FakeZone())
            backend.misbehave(.hang, for: "slow.example.com")
            let certificates = try TestCertificates()
            let nginx = try Nginx(certificates.leaf(names: ["vendor.example"]), backend: backend)
            let localDNS = try FakeLocalDNS(FakeZone("slow.example.com", a: ["198.51.100.1"]))
            let daemon = try Daemon(
                provider(nginx, certificates, names: ["vendor.example"])
                    + DaemonConfiguration.rest(localDNS: localDNS.address))
            let slow = try daemon.client()
            try slow.send(.query("slow.example.com"))
            #expect(backend.waitForCalls(1, for: "slow.example.com"))
            // All at once: as many as one connection takes.
            let clients = try (0..<4).map { try daemon.client(from: "127.0.4.\($0 + 1)") }
            for number in 0..<60 {
                try clients[number % 4].send(.query("fast\(number).example.com", id: UInt16(number)))
            }
            var failures = 0
            for number in 0..<60 {
                let reply = try clients[number % 4].receive().message
                let isRight = reply.questions.first?.name == "fast\(reply.id).example.com"
                if !isRight || reply.addresses != [Nginx.addresses[0]] { failures += 1 }
            }
            #expect(failures == 0)
            #expect(try slow.receive().message.addresses == ["198.51.100.1"])
            // One more after the slow one's time-out: it reset a stream, not the connection.
            let probe = try clients[0].ask(
                "after.example.com", until: { _ in nginx.requests.contains { $0.target.contains("slow") } })
            #expect(probe.addresses == [Nginx.addresses[0]])
            #expect(nginx.waitForRequests(62))
            #expect(nginx.connections == 1)
            #expect(nginx.requests.allSatisfy { $0.httpVersion == "HTTP/2.0" })
        }

        @Test(arguments: [
            (["right.example"], ["right.example"], [String]()),
            (["wrong.example", "right.example"], ["right.example"], []),
            (["wrong.example", "127.0.0.1"], [], ["127.0.0.1"]),
            (["127.0.0.1", "right.example"], ["right.example"], []),
        ])
        func `the accepted certificate names are tried in turn`(
            accepted: [String], names: [String], addresses: [String]
        ) throws {
            let certificates = try TestCertificates()
            let nginx = try Nginx(certificates.leaf(names: names, addresses: addresses))
            let daemon = try Daemon(provider(nginx, certificates, names: accepted) + DaemonConfiguration.rest())
            let client = try daemon.client()
            #expect(try client.ask("www.example.com").addresses == [Nginx.addresses[0]])
            #expect(try client.ask("other.example.com").addresses == [Nginx.addresses[0]])
            #expect(nginx.waitForRequests(2))
            // The name that was accepted is remembered, and an IP address is never sent as a server name.
            #expect(nginx.connections == 1)
            #expect(nginx.requests.allSatisfy { $0.serverName == (names.first ?? "") })
        }

        @Test func `a certificate for none of the accepted names is refused`() throws {
            let certificates = try TestCertificates()
            let nginx = try Nginx(certificates.leaf(names: ["other.example"]))
            let localDNS = try FakeLocalDNS(FakeZone("www.example.com", a: ["198.51.100.1"]))
            let daemon = try Daemon(
                provider(nginx, certificates, names: ["a.example", "b.example"])
                    + DaemonConfiguration.rest(localDNS: localDNS.address))
            #expect(try daemon.client().ask("www.example.com").addresses == ["198.51.100.1"])
            #expect(nginx.requests.isEmpty)
        }

        @Test func `a certificate of an unknown authority is refused`() throws {
            let nginx = try Nginx(TestCertificates().leaf(names: ["right.example"]))
            let localDNS = try FakeLocalDNS(FakeZone("www.example.com", a: ["198.51.100.1"]))
            let other = try TestCertificates()
            for authority in [nil, other] {
                let daemon = try Daemon(
                    provider(nginx, authority, names: ["right.example"])
                        + DaemonConfiguration.rest(localDNS: localDNS.address))
                #expect(try daemon.client().ask("www.example.com").addresses == ["198.51.100.1"])
            }
            #expect(nginx.requests.isEmpty)
        }

        @Test func `a vendor that speaks only HTTP 1 is good enough`() throws {
            let certificates = try TestCertificates()
            let nginx = try Nginx(certificates.leaf(names: ["vendor.example"]), http2: false)
            let daemon = try Daemon(
                provider(nginx, certificates, names: ["vendor.example"]) + DaemonConfiguration.rest())
            #expect(try daemon.client().ask("www.example.com").addresses == [Nginx.addresses[0]])
        }

        @Test func `DoH over TLS answers`() throws {
            let backend = try FakeHTTPDNS(Stage.zone)
            let certificates = try TestCertificates()
            let nginx = try Nginx(certificates.leaf(addresses: ["127.0.0.1"]), backend: backend)
            let daemon = try Daemon(
                DaemonConfiguration.doh(nginx.url, "ca_file = \"\(certificates.authority)\"")
                    + DaemonConfiguration.rest())
            #expect(try daemon.client().ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(nginx.waitForRequests(1))
            #expect(nginx.requests.first?.httpVersion == "HTTP/2.0")
        }

        @Test func `an HTTPS record from DoH over TLS reaches the client without its hints`() throws {
            let alpn: (UInt16, [UInt8]) = (1, [2, 104, 50])
            let original = TestServiceBinding.rdata(1, ".", [alpn, (4, [198, 51, 100, 7])])
            let zone = FakeZone(["www.example.com": .init(a: ["192.0.2.1"], others: [RecordType.https: [original]])])
            let certificates = try TestCertificates()
            let backend = try FakeHTTPDNS(zone)
            let nginx = try Nginx(certificates.leaf(addresses: ["127.0.0.1"]), backend: backend)
            let daemon = try Daemon(
                DaemonConfiguration.doh(nginx.url, "ca_file = \"\(certificates.authority)\"")
                    + DaemonConfiguration.rest())
            let reply = try daemon.client().ask("www.example.com", RecordType.https)
            #expect(reply.answers.map(\.data) == [TestServiceBinding.rdata(1, ".", [alpn])])
            #expect(backend.callCount() > 0)
        }
    }
}
