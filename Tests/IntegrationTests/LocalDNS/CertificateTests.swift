import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// LocalDNS's answers checked against the certificates of the servers at their addresses, with real servers on
    /// loopback.
    @Suite(.requires(.networkNamespaces))
    struct CertificateTests {
        typealias Kind = CertificateServers.Kind

        /// A daemon that trusts only the tests' authority, between a vendor that fails and a LocalDNS that returns one kind of
        /// server.
        struct CertificateStage {
            let servers: CertificateServers
            let vendor: FakeHTTPDNS
            let localDNS: FakeLocalDNS
            let daemon: Daemon

            static let name = CertificateServers.name

            init(_ kind: Kind, listed: Bool = false, subject: String = "leaf", clock: WrongClock? = nil) throws {
                servers = try CertificateServers(subject: subject)
                vendor = try FakeHTTPDNS(FakeZone())
                vendor.misbehave(.status(500))
                localDNS = try FakeLocalDNS()
                localDNS.behave(.lie([kind.address]))
                daemon = try Daemon(
                    DaemonConfiguration.aliyun(vendor.url)
                        + DaemonConfiguration.route(protect: listed ? ["example.com"] : nil)
                        + DaemonConfiguration.rest(
                            localDNS: localDNS.address, check: "auto", ports: [servers.port],
                            control: DaemonConfiguration.ownSocket),
                    environment: clock?.environment ?? [:],
                    wrapper: Daemon.trusting(servers.authority))
            }

            func ask(_ type: UInt16 = RecordType.a) throws -> TestMessage { try daemon.client().ask(Self.name, type) }

        }

        /// The number of the extended error of a reply.
        private func extendedError(_ reply: TestMessage) -> Int? {
            reply.edns?.option(15).map { Int($0[0]) << 8 | Int($0[1]) }
        }

        @Test(arguments: [true, false])
        func `HTTPDNS fails: what a client gets for each kind of server`(listed: Bool) throws {
            let stage = try CertificateStage(.honest, listed: listed)
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

        @Test func `HTTPDNS fails under an unset clock: LocalDNS answers, and a wrong name refutes nothing`() throws {
            let clock = try WrongClock(ahead: -Int64(Date().timeIntervalSince1970) + 1_000)
            let stage = try CertificateStage(.honest, clock: clock)
            for kind in [Kind.honest, .otherName] {
                stage.localDNS.behave(.lie([kind.address]), for: kind.name)
                let reply = try stage.daemon.client().ask(kind.name)
                #expect(reply.addresses == [kind.address] && reply.answers.allSatisfy { $0.ttl <= 60 })
            }
            var status = try stage.daemon.run("status", "--json").output
            #expect(status.contains("\"clock\":\"is before this version was released\""))
            #expect(status.contains("\"forged_checks\":0"))
            try clock.set(ahead: 0)
            status = try stage.daemon.run("status", "--json").output
            #expect(status.contains("\"clock\":\"\""))
            #expect(try stage.daemon.stop() == 0)
            #expect(stage.daemon.errors.split(separator: "\n").count { $0.contains("this machine's clock is") } == 1)
        }

        @Test func `a forgery is evidence: in status, in cache show, and once in the log`() throws {
            let stage = try CertificateStage(.otherName, listed: true, subject: "hijacker\u{1b}[2J")
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
            let doctor = try stage.daemon.run("doctor")
            #expect(doctor.status == 1)
            #expect(
                doctor.output.contains(
                    "LocalDNS \(stage.localDNS.address) gives forged addresses: www.example.com at 127"))
            let json = try stage.daemon.run("cache", "show", CertificateStage.name, "--json").output
            #expect(json.contains("\"server\":\"\(stage.localDNS.address)\""), "\(json)")
            let report = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
            let forged = try #require((report?["forged"] as? [[String: Any]])?.first)
            #expect(forged["address"] as? String == "127.0.77.2")
            #expect(forged["count"] as? Int == 1)
            #expect(try stage.daemon.run("status", "--json").output.contains("\"forged_checks\":1"))
        }
    }
}
