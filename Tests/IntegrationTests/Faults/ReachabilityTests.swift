import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// What a provider's reachability depends on, and how it is reported: certificates, the clock, the day's calls, its
    /// addresses.
    @Suite(.serialized)
    struct ReachabilityTests {
        private static let secret = "0123456789abcdef0123456789abcdef"
        private static let local = FakeZone(["*": .init(a: ["198.51.100.1"])])

        enum Fault: String, CaseIterable, Sendable {
            case expired = "the certificate has expired"
            case early = "the certificate is not valid yet"
            case selfSigned = "the certificate is self-signed"
            case wrongName = "the certificate is for another name"
            case unknownIssuer = "the certificate's issuer is not known"
            case wrongKey = "the certificate's key is not one of those in pin"
        }

        private func leaf(_ fault: Fault, _ certificates: TestCertificates) throws -> TestCertificates.Leaf {
            switch fault {
            case .expired: try certificates.expiredLeaf(names: ["vendor.example"])
            case .early: try certificates.earlyLeaf(names: ["vendor.example"])
            case .selfSigned: try certificates.selfSignedLeaf(names: ["vendor.example"])
            case .wrongName: try certificates.leaf(names: ["other.example"])
            case .unknownIssuer: try TestCertificates().leaf(names: ["vendor.example"])
            case .wrongKey: try certificates.leaf(names: ["vendor.example"])
            }
        }

        @Test(arguments: Fault.allCases)
        func `a certificate that does not verify is logged once, with what is wrong`(fault: Fault) throws {
            let certificates = try TestCertificates()
            let nginx = try Nginx(leaf(fault, certificates))
            let localDNS = try FakeLocalDNS(Self.local)
            let pin = fault == .wrongKey ? "pin = [\"\(try certificates.leaf(names: ["x"]).pin)\"]" : ""
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(
                    nginx.url,
                    "ca_file = \"\(certificates.authority)\"\ntls_names = [\"vendor.example\"]\n\(pin)")
                    + DaemonConfiguration.rest(localDNS: localDNS.address))
            let client = try daemon.client()
            for number in 0..<3 {
                #expect(try client.ask("n\(number).example.com").addresses == ["198.51.100.1"])
            }
            let line = "error: vendor: \(nginx.address) is not asked: \(fault.rawValue)"
            #expect(daemon.waitForLog { $0.contains(line) })
            #expect(try daemon.stop() == 0)
            #expect(
                daemon.errors.split(separator: "\n").count { $0.contains(fault.rawValue) && !$0.contains("answer") }
                    == 1)
            #expect(nginx.requests.isEmpty)
        }

        @Test func `a pinned key that is the right one is accepted, beside one that is not`() throws {
            let certificates = try TestCertificates()
            let leaf = try certificates.leaf(names: ["vendor.example"])
            let nginx = try Nginx(leaf)
            let pins = DaemonConfiguration.list([try certificates.leaf(names: ["x"]).pin, try leaf.pin])
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(
                    nginx.url,
                    "ca_file = \"\(certificates.authority)\"\ntls_names = [\"vendor.example\"]\npin = \(pins)")
                    + DaemonConfiguration.rest())
            #expect(try daemon.client().ask("www.example.com").addresses == [Nginx.addresses[0]])
        }

        @Test(arguments: [3, -30])
        func `a machine whose clock is hours wrong resolves, at once and later`(hours: Int) throws {
            // The service's clock is the wrong one here: only the difference matters.
            let vendor = try FakeHTTPDNS(Stage.zone, secret: Self.secret)
            vendor.setClock(ahead: hours * 3_600)
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url, secret: Self.secret) + DaemonConfiguration.rest())
            let client = try daemon.client()
            #expect(try client.ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(try client.ask("four.example.com").addresses == ["192.0.2.4"])
            // One call was refused, and its response gave the time.
            #expect(vendor.callCount("www.example.com") == 2 && vendor.callCount("four.example.com") == 1)
            #expect(daemon.waitForLog { $0.contains("requests are signed by its time") })
        }

        @Test func `of many questions that find the clock wrong at once each is asked again`() throws {
            let vendor = try FakeHTTPDNS(FakeZone(["*": .init(a: ["192.0.2.1"])]), secret: Self.secret)
            vendor.setClock(ahead: 3 * 3_600)
            // The service takes its time, for it verifies twelve signatures with the openssl command.
            let localDNS = try FakeLocalDNS(Self.local)
            localDNS.behave(.silent)
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url, secret: Self.secret)
                    + DaemonConfiguration.rest(localDNS: localDNS.address))
            let client = try daemon.client()
            for number: UInt16 in 0..<6 { try client.send(.query("n\(number).example.com", id: number)) }
            for _ in 0..<6 { #expect(try client.receive().message.addresses == ["192.0.2.1"]) }
        }

        @Test func `a time that is far off is not accepted from anything on the path`() throws {
            let vendor = try FakeHTTPDNS(Stage.zone, secret: Self.secret)
            vendor.setClock(ahead: 30 * 86_400)
            let localDNS = try FakeLocalDNS(Self.local)
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url, secret: Self.secret)
                    + DaemonConfiguration.rest(localDNS: localDNS.address))
            let client = try daemon.client()
            #expect(try client.ask("a.example.com").addresses == ["198.51.100.1"])
            #expect(daemon.waitForLog { $0.contains("access refused: SignatureExpired") })
            for name in ["b", "c"] { #expect(try client.ask("\(name).example.com").addresses == ["198.51.100.1"]) }
            // No storm of retries: one question, one probe.
            #expect(vendor.callCount() == 2)
        }

        @Test func `beyond daily_limit the next source answers, and status and log say why`() throws {
            let vendor = try FakeHTTPDNS(FakeZone(["*": .init(a: ["192.0.2.1"])]))
            let localDNS = try FakeLocalDNS(Self.local)
            let directory = try TemporaryDirectory()
            let socket = directory.path + "/control.sock"
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url, "daily_limit = 3")
                    + DaemonConfiguration.rest(localDNS: localDNS.address, control: socket))
            let client = try daemon.client()
            let sources = try (0..<6).map { try client.ask("n\($0).example.com").addresses }
            #expect(sources[..<3].allSatisfy { $0 == ["192.0.2.1"] })
            #expect(sources[3...].allSatisfy { $0 == ["198.51.100.1"] })
            #expect(vendor.callCount() == 3)
            let status = try Daemon.run(["status", "--config", daemon.configurationFile]).output
            #expect(status.contains("3 of 3 calls today"), "\(status)")
            #expect(status.contains("not asked until 00:00 UTC"), "\(status)")
            #expect(status.contains("replies in "), "\(status)")
            #expect(try daemon.stop() == 0)
            #expect(
                daemon.errors.split(separator: "\n").count {
                    $0.contains("daily_limit of 3 calls is reached: not asked")
                } == 1)
        }

        @Test func `a reload does not reset the calls of the day`() throws {
            let stage = try ControlStage()
            _ = try stage.daemon.client().ask("www.example.com")
            let text = try String(contentsOfFile: stage.daemon.configurationFile, encoding: .utf8)
            try stage.rewrite(text.replacing("name = \"vendor\"", with: "name = \"vendor\"\ndaily_limit = 1"))
            #expect(try stage.run("reload").status == 0)
            let status = try stage.run("status").output
            #expect(status.contains("1 of 1 call today"), "\(status)")
        }

        @Test func `after the first answer the next address has a connection ready, on which nothing was sent`() throws
        {
            let certificates = try TestCertificates()
            let first = try Nginx(certificates.leaf(names: ["vendor.example"]))
            let second = try Nginx(certificates.leaf(names: ["vendor.example"]))
            let relay = try HTTPRelay(to: second.address)
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(
                    first.url,
                    """
                    ca_file = "\(certificates.authority)"
                    tls_names = ["vendor.example"]
                    addresses = ["\(first.address)", "127.0.0.1:\(relay.port)"]
                    """) + DaemonConfiguration.rest())
            let client = try daemon.client()
            for number in 0..<20 { _ = try client.ask("n\(number).example.com") }
            #expect(try client.ask("last.example.com", until: { _ in relay.connections == 1 }).addresses.count == 1)
            #expect(second.requests.isEmpty)
        }

        @Test(.requires(.ipv6))
        func `a service at an IPv6 address is asked over https`() throws {
            let certificates = try TestCertificates()
            let port = try FreePort.next(on: ["::1"])
            let nginx = try Nginx(
                certificates.leaf(addresses: ["::1"]), at: TestAddress("::1", port: port))
            let daemon = try Daemon(
                DaemonConfiguration.aliyun("https://[::1]:\(port)", "ca_file = \"\(certificates.authority)\"")
                    + DaemonConfiguration.rest())
            #expect(try daemon.client().ask("www.example.com").addresses == [Nginx.addresses[0]])
            #expect(nginx.waitForRequests(1))
        }
    }
}
