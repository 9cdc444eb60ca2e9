import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// LocalDNS's answers checked against the certificates of the servers at their addresses, with real servers on
    /// loopback.
    @Suite(.serialized, .requires(.networkNamespaces))
    struct CertificateTests {
        typealias Kind = CertificateServers.Kind

        /// A daemon that trusts only the tests' authority, between a vendor and a LocalDNS that returns one kind of
        /// server.
        struct CertificateStage {
            let servers: CertificateServers
            let vendor: FakeHTTPDNS
            let localDNS: FakeLocalDNS
            let daemon: Daemon
            private let directory: TemporaryDirectory

            static let name = CertificateServers.name
            static let right = "192.0.2.1"

            init(
                _ kinds: [Kind], vendor kind: Kind? = nil, check: String = "auto", mode: String? = nil,
                listed: Bool = false,
                subject: String = "leaf", clock: WrongClock? = nil
            ) throws {
                servers = try CertificateServers(subject: subject)
                let port = servers.port
                vendor = try FakeHTTPDNS(FakeZone(Self.name, a: [Self.right], ttl: 600))
                localDNS = try FakeLocalDNS()
                localDNS.behave(.lie(kinds.map(\.address)))
                directory = try TemporaryDirectory()
                let mount = "mount --bind \"$1\" /etc/ssl/certs/ca-certificates.crt && shift && exec \"$@\""
                daemon = try Daemon(
                    DaemonConfiguration.aliyun(
                        kind.map { "https://\($0.address):\(port)" } ?? vendor.url, "tls_names = [\"\(Self.name)\"]")
                        + DaemonConfiguration.route(mode: mode, protect: listed ? ["example.com"] : nil)
                        + DaemonConfiguration.rest(
                            localDNS: localDNS.address, check: check, ports: [servers.port],
                            control: directory.path + "/control.sock"),
                    environment: clock?.environment ?? [:],
                    wrapper: ["unshare", "--mount", "sh", "-c", mount, "sh", servers.authority])
            }

            /// Makes the vendor fail all questions from now on.
            func cutHTTPDNS() { vendor.misbehave(.status(500)) }

            func ask(_ type: UInt16 = RecordType.a) throws -> TestMessage { try daemon.client().ask(Self.name, type) }

            func run(_ arguments: String...) throws -> ChildProcess.Outcome {
                try Daemon.run(arguments + ["--config", daemon.configurationFile])
            }
        }

        /// The number of the extended error of a reply.
        private func extendedError(_ reply: TestMessage) -> Int? {
            reply.edns?.option(15).map { Int($0[0]) << 8 | Int($0[1]) }
        }

        @Test(arguments: [true, false])
        func `HTTPDNS fails: what a client gets for each kind of server`(listed: Bool) throws {
            let stage = try CertificateStage([.honest], listed: listed)
            stage.cutHTTPDNS()
            let client = try stage.daemon.client()
            for kind in Kind.allCases {
                stage.localDNS.behave(.lie([kind.address]), for: kind.name)
                let reply = try client.ask(kind.name)
                switch kind {
                case .honest:
                    #expect(reply.addresses == [kind.address] && reply.answers.allSatisfy { $0.ttl <= 30 })
                case .otherName, .selfSigned, .commonName, .forged:
                    #expect(reply.rcode == ResponseCode.servFail && extendedError(reply) == 4, "\(kind)")
                case .plain, .silent, .refusing, .expired, .early:
                    #expect(reply.addresses == (listed ? [] : [kind.address]), "\(kind)")
                    #expect(reply.rcode == (listed ? ResponseCode.servFail : ResponseCode.noError), "\(kind)")
                    #expect(extendedError(reply) != 4, "\(kind)")
                }
            }
        }

        @Test
        func
            `HTTPDNS fails under a clock that was never set: LocalDNS answers for a minute, and a wrong name refutes nothing`()
            throws
        {
            let clock = try WrongClock(ahead: -Int64(Date().timeIntervalSince1970) + 1_000)
            let stage = try CertificateStage([.honest], clock: clock)
            stage.cutHTTPDNS()
            for kind in [Kind.honest, .otherName] {
                stage.localDNS.behave(.lie([kind.address]), for: kind.name)
                let reply = try stage.daemon.client().ask(kind.name)
                #expect(reply.addresses == [kind.address] && reply.answers.allSatisfy { $0.ttl <= 60 })
            }
            var status = try stage.run("status", "--json").output
            #expect(status.contains("\"clock\":\"is before this version was released\""))
            #expect(status.contains("\"forged_checks\":0"))
            try clock.set(ahead: 0)
            status = try stage.run("status", "--json").output
            #expect(status.contains("\"clock\":\"\""))
            #expect(try stage.daemon.stop() == 0)
            #expect(stage.daemon.errors.split(separator: "\n").count { $0.contains("this machine's clock is") } == 1)
        }

        @Test func `under a clock beyond the time of all certificates LocalDNS answers, also a listed name`() throws {
            let clock = try WrongClock(ahead: 40 * 365 * 86_400)
            let stage = try CertificateStage([.honest], vendor: .honest, listed: true, clock: clock)
            // This one finds the vendor's certificate, and the next one goes by it.
            _ = try stage.daemon.client().ask("first.example.com")
            #expect(stage.daemon.waitForLog { $0.contains("outside the time of vendor's certificate") })
            #expect(try stage.ask().addresses == [Kind.honest.address])
        }

        @Test(arguments: [
            (Kind.otherName.address, "LocalDNS gives \(Kind.otherName.address) for unrelated names", "portal"),
            (Kind.secondAddress, "unrelated names show one certificate", "intercepted"),
        ])
        func `HTTPDNS fails: one address or certificate for names of different sites shows, until HTTPDNS is back`(
            second: String, text: String, key: String
        ) throws {
            let stage = try CertificateStage([.otherName])
            stage.cutHTTPDNS()
            let client = try stage.daemon.client()
            let isShown = try eventually {
                for (name, address) in [("www.example.com", Kind.otherName.address), ("www.example.net", second)] {
                    stage.localDNS.behave(.lie([address]))
                    _ = try client.ask(name, RecordType.a)
                }
                return try stage.run("status").output.contains(text)
            }
            #expect(isShown)
            #expect(try stage.run("doctor", "--json").output.contains("\"key\":\"network.\(key)\""))
            guard key == "portal" else { return }
            stage.vendor.misbehave(nil)
            let isOver = try eventually {
                _ = try client.ask(CertificateStage.name, RecordType.a)
                return try !stage.run("status").output.contains("unrelated names")
            }
            #expect(isOver)
        }

        @Test func `HTTPDNS fails: of 150 names at once none gets an address with another certificate`() throws {
            let stage = try CertificateStage([.otherName])
            // "Not so fast" gives the checks of so many their time on a busy machine.
            stage.vendor.misbehave(.status(503))
            let client = try BulkClient(stage.daemon.address, window: 300)
            let lookups = try client.ask(
                (0..<150).flatMap { number in
                    [RecordType.a, RecordType.aaaa].map { .init("n\(number).example.com", $0) }
                })
            let forged = lookups.count { $0.reply?.addresses.isEmpty == false }
            #expect(forged == 0)
            #expect(lookups.allSatisfy { $0.reply != nil })
        }

        @Test func `of all kinds of addresses at once only the verified one is left`() throws {
            // As many as are checked.
            let stage = try CertificateStage(Kind.allCases.prefix(8).reversed(), check: "strict")
            stage.cutHTTPDNS()
            #expect(try stage.ask().addresses == [Kind.honest.address])
        }

        @Test func `LocalDNS first: no client gets a forged address, and HTTPDNS is asked once for it`() throws {
            let stage = try CertificateStage([.otherName], mode: "localdns-first")
            for _ in 0..<3 { #expect(try stage.ask().addresses == [CertificateStage.right]) }
            #expect(stage.vendor.callCount(CertificateStage.name) == 1)
        }

        @Test func `LocalDNS first: for an honest one HTTPDNS is not asked, and the answer is verified`() throws {
            let stage = try CertificateStage([.honest], mode: "localdns-first")
            #expect(try stage.ask().addresses == [Kind.honest.address])
            let text = try stage.run("cache", "show", CertificateStage.name).output
            #expect(text.contains("from localdns_verified"))
            #expect(stage.vendor.callCount() == 0)
        }

        @Test func `a forgery is evidence: in status, in cache show, and once in the log`() throws {
            let stage = try CertificateStage([.otherName], listed: true, subject: "hijacker\u{1b}[2J")
            stage.cutHTTPDNS()
            _ = try stage.ask()
            #expect(
                stage.daemon.waitForLog {
                    $0.contains(
                        "LocalDNS is hijacked: it answered 127.0.77.2 for www.example.com, and the certificate is for another name: subject CN=hijacker\\1B[2J, issuer CN=httpdnsd tests"
                    )
                })
            for arguments in [["status"], ["cache", "show", CertificateStage.name]] {
                let outcome = try Daemon.run(arguments + ["--config", stage.daemon.configurationFile])
                #expect(outcome.output.contains("www.example.com at 127.0.77.2 port \(stage.servers.port)"))
                #expect(outcome.output.contains("subject CN=hijacker\\1B[2J, issuer CN=httpdnsd tests, SHA-256 "))
                #expect(outcome.output.contains("; seen 1 time, 20"))
            }
            let doctor = try stage.run("doctor")
            #expect(doctor.status == 1)
            #expect(
                doctor.output.contains(
                    "LocalDNS \(stage.localDNS.address) gives forged addresses: www.example.com at 127"))
            let json = try stage.run("cache", "show", CertificateStage.name, "--json").output
            #expect(json.contains("\"server\":\"\(stage.localDNS.address)\""), "\(json)")
            let report = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
            let forged = try #require((report?["forged"] as? [[String: Any]])?.first)
            #expect(forged["address"] as? String == "127.0.77.2")
            #expect(forged["count"] as? Int == 1)
            #expect(try stage.run("status", "--json").output.contains("\"forged_checks\":1"))
        }
    }
}
