import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// The signed policy in running daemons.
    struct PolicyTests {
        private let signer: PolicySigner
        private let vendor: FakeHTTPDNS
        private let localDNS: FakeLocalDNS
        private let directory: TemporaryDirectory

        /// Vendor and LocalDNS have different addresses for one name: so it shows which is asked.
        init() throws {
            signer = try PolicySigner()
            directory = try TemporaryDirectory()
            vendor = try FakeHTTPDNS(FakeZone("www.example.com", a: ["192.0.2.1"]))
            localDNS = try FakeLocalDNS(
                FakeZone([
                    "www.example.com": .init(a: ["198.51.100.7"]), "policy.example.net": .init(a: ["127.0.0.1"]),
                ]))
        }

        private static let ofVendor = ["192.0.2.1"]
        private static let ofLocalDNS = ["198.51.100.7"]
        private static let off = "switch = \"off\"\n"
        private static let bypass = "[route]\nbypass = [\"example.com\"]\n"

        private func configuration(
            _ url: String, _ lines: String = "", key: String? = nil, isStored: Bool = true
        ) -> String {
            DaemonConfiguration.aliyun(vendor.url)
                + DaemonConfiguration.rest(
                    localDNS: localDNS.address, disk: isStored ? "\(directory.path)/cache.sqlite" : "",
                    control: directory.path + "/control.sock") + """
                    [policy]
                    url = "\(url)"
                    public_key = ["\(key ?? signer.publicKey)"]
                    interval = "1s"
                    \(lines)

                    """
        }

        private func publish(serial: Int, _ lines: String = "", to path: String) throws {
            try signer.sign(PolicySigner.text(serial: serial, lines), to: path)
        }

        /// A server of policies whose certificate has that name, and what a daemon that asks it by the name is started with.
        private func site(_ host: String = "127.0.0.1") throws -> (site: PolicySite, text: String) {
            let certificates = try TestCertificates()
            let site = try PolicySite(
                host == "127.0.0.1" ? certificates.leaf(addresses: [host]) : certificates.leaf(names: [host]))
            return (
                site,
                configuration(
                    "https://\(host):\(site.address.port)/fleet.policy", "ca_file = \"\(certificates.authority)\"")
            )
        }

        private func start(_ text: String) throws -> Daemon {
            let daemon = try Daemon(text)
            #expect(daemon.waitForLog { $0.contains("is taken: serial 1") }, "\(daemon.errors)")
            return daemon
        }

        private var file: String { directory.path + "/fleet.policy" }

        private func waitUntil(_ daemon: Daemon, answers addresses: [String]) throws -> Bool {
            try eventually { try daemon.client().ask("www.example.com").addresses == addresses }
        }

        @Test func `query asks what the server would ask, by the policy in force`() throws {
            try publish(serial: 1, Self.bypass, to: file)
            let written = try directory.write(configuration("file://\(file)", isStored: false), to: "httpdnsd.toml")
            let outcome = try Daemon.run(["query", "--config", written, "www.example.com"])
            #expect(outcome.output.contains(Self.ofLocalDNS[0]), "\(outcome)")
        }

        @Test func `a hijacked LocalDNS does not keep a policy away whose host a provider knows`() throws {
            let (site, text) = try site("policy.example.net")
            // Longer than any reply of a provider.
            let names = (0..<20_000).map { "\"name\($0).example.org\"" }.joined(separator: ", ")
            try publish(
                serial: 1, "[route]\nbypass = [\"example.com\", \(names)]\n", to: site.path("fleet.policy"))
            vendor.zone = FakeZone([
                "www.example.com": .init(a: ["192.0.2.1"]), "policy.example.net": .init(a: ["127.0.0.1"]),
            ])
            localDNS.behave(.lie(["127.0.0.66"]), for: "policy.example.net")
            let daemon = try start(text)
            #expect(try daemon.client().ask("www.example.com").addresses == Self.ofLocalDNS)
            #expect(try daemon.run("policy", "show").output.contains("in force"))
        }

        @Test func `an unchanged policy is not sent again, not after a restart either, and a new one is taken`() throws
        {
            let (site, text) = try site()
            let published = site.path("fleet.policy")
            try publish(serial: 1, Self.bypass, to: published)
            let first = try start(text)
            #expect(site.waitFor(1, status: 304), "\(site.statuses)")
            try first.stop()
            let unchanged = site.statuses.count { $0 == 304 }
            let second = try Daemon(text)
            #expect(site.waitFor(unchanged + 1, status: 304), "\(site.statuses)")
            #expect(site.statuses.count { $0 == 200 } == 1, "\(site.statuses)")
            #expect(try second.client().ask("www.example.com").addresses == Self.ofLocalDNS)
            try publish(serial: 2, "", to: published)
            #expect(second.waitForLog { $0.contains("is taken: serial 2") }, "\(second.errors)")
            #expect(try waitUntil(second, answers: Self.ofVendor))
        }

        @Test(arguments: [true, false])
        func `after a restart without network the last policy is in force with the first answer`(isStored: Bool) throws
        {
            let text = configuration(file, isStored: isStored)
            try publish(serial: 4, Self.bypass, to: file)
            let first = try Daemon(text)
            #expect(first.waitForLog { $0.contains("is taken: serial 4") })
            try first.stop()
            try FileManager.default.removeItem(atPath: file)
            let second = try Daemon(text)
            #expect(try second.client().ask("www.example.com").addresses == Self.ofLocalDNS)
            #expect(vendor.callCount() == 0)
            #expect(second.waitForLog { $0.contains("the stored policy with serial 4 is in force") })
            // It has not been fetched, and an older one is still older.
            try publish(serial: 3, to: file)
            #expect(second.waitForLog { $0.contains("has the serial 3, and this machine has had 4") })
        }

        @Test func `a stored policy that was altered is not used`() throws {
            try publish(serial: 4, Self.bypass, to: file)
            let first = try Daemon(configuration(file))
            #expect(first.waitForLog { $0.contains("is taken: serial 4") })
            try first.stop()
            try FileManager.default.removeItem(atPath: file)
            let stored = directory.path + "/cache.sqlite.policy"
            let altered = try String(contentsOfFile: stored, encoding: .utf8).replacing(
                "serial = 4", with: "serial = 5")
            try altered.write(toFile: stored, atomically: true, encoding: .utf8)
            let second = try Daemon(configuration(file))
            #expect(second.waitForLog { $0.contains("the stored policy is not used") })
            #expect(try second.client().ask("www.example.com").addresses == Self.ofVendor)
        }

        @Test func `what is in force decides, outlasts a reload and an equal document, and has its line said`() throws {
            try publish(serial: 1, Self.bypass, to: file)
            let daemon = try start(configuration(file))
            #expect(try daemon.run("why", "www.example.com").output.contains("file://\(file):6"))
            _ = try daemon.run("reload")
            #expect(try daemon.client().ask("www.example.com").addresses == Self.ofLocalDNS)
            let (generation, asked) = (try generation(of: daemon), localDNS.questionCount("www.example.com"))
            try publish(serial: 2, Self.bypass, to: file)
            #expect(daemon.waitForLog { $0.contains("is taken: serial 2") })
            #expect(try self.generation(of: daemon) == generation)
            #expect(try daemon.client().ask("www.example.com").addresses == Self.ofLocalDNS)
            #expect(localDNS.questionCount("www.example.com") == asked)
            // The machine's own switch does not overrule the policy's.
            try publish(serial: 3, Self.off, to: file)
            #expect(daemon.waitForLog { $0.contains("is taken: serial 3") })
            #expect(try daemon.run("status").output.contains("OFF by the signed policy"))
            #expect(try daemon.run("switch", "on").output.contains("off by the signed policy"))
            #expect(try daemon.client().ask("www.example.com").addresses == Self.ofLocalDNS)
            try publish(serial: 4, to: file)
            #expect(try waitUntil(daemon, answers: Self.ofVendor))
            #expect(try daemon.stop() == 0)
            #expect(daemon.errors.split(separator: "\n").count { $0.contains("is taken: serial") } == 4)
        }

        private func generation(of daemon: Daemon) throws -> Int? {
            try daemon.run("status", "--json").json["generation"] as? Int
        }

        @Test(arguments: [("drop", ofVendor), ("keep", ofLocalDNS)])
        func `an expired policy is dropped or stays, as the machine's file says`(
            choice: String, addresses: [String]
        ) throws {
            let clock = try WrongClock(ahead: 0)
            let expiry = Date(timeIntervalSinceNow: 3_600).ISO8601Format()
            try signer.sign("[document]\nserial = 1\nexpires = \(expiry)\n\(Self.bypass)", to: file)
            let daemon = try Daemon(
                configuration(file, "on_expiry = \"\(choice)\""), environment: clock.environment)
            #expect(daemon.waitForLog { $0.contains("is taken: serial 1") }, "\(daemon.errors)")
            #expect(try daemon.client().ask("www.example.com").addresses == Self.ofLocalDNS)
            try clock.set(ahead: 2 * 3_600)
            #expect(daemon.waitForLog { $0.contains("serial 1 has expired") })
            #expect(try waitUntil(daemon, answers: addresses))
            #expect(try daemon.run("policy", "show").output.contains("EXPIRED"))
        }
    }
}
