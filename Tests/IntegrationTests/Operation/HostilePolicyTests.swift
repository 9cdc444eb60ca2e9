import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// Servers of a signed policy that do what a server should not: what is in force stays, and the daemon serves on.
    struct HostilePolicyTests {
        private static let host = "policy.example.net"
        private static let bypass = "[route]\nbypass = [\"example.com\"]\n"
        /// How `www.example.com` is answered by the policy in force, and by any later one.
        private static let inForce = ["198.51.100.7"]
        private static let ofVendor = ["192.0.2.1"]

        private let signer: PolicySigner
        private let certificates: TestCertificates
        private let vendor: FakeHTTPDNS
        private let localDNS: FakeLocalDNS

        init() throws {
            signer = try PolicySigner()
            certificates = try TestCertificates()
            vendor = try FakeHTTPDNS(FakeZone("www.example.com", a: Self.ofVendor))
            localDNS = try FakeLocalDNS(
                FakeZone(["www.example.com": .init(a: Self.inForce), Self.host: .init(a: ["127.0.0.1"])]))
        }

        private func configuration(_ url: String) -> String {
            DaemonConfiguration.aliyun(vendor.url)
                + DaemonConfiguration.rest(localDNS: localDNS.address, control: DaemonConfiguration.ownSocket)
                    + """
                    [policy]
                    url = "\(url)"
                    public_key = ["\(signer.publicKey)"]
                    ca_file = "\(certificates.authority)"
                    interval = "1s"

                    """
        }

        private func policy(serial: Int, _ lines: String = "") throws -> String {
            try String(contentsOfFile: signer.sign(PolicySigner.text(serial: serial, lines)), encoding: .utf8)
        }

        /// A server, and the URLs by its name.
        private func site(target: String = "") throws -> HostileSite {
            try HostileSite(
                certificates.leaf(names: [Self.host]), host: Self.host, document: policy(serial: 5, Self.bypass),
                other: policy(serial: 6), target: target)
        }

        private func daemon(_ url: String) throws -> Daemon {
            let daemon = try Daemon(configuration(url))
            #expect(daemon.waitForLog { $0.contains("is taken: serial 5") }, "\(daemon.errors)")
            return daemon
        }

        /// Has it fetch its policy elsewhere, and waits for its word of that: `reason`, and that what is in force stays.
        private func refuses(_ daemon: Daemon, _ url: String, _ reason: String) throws {
            try move(daemon, to: url)
            let isSaid = daemon.waitForLog {
                $0.split(separator: "\n").contains {
                    $0.contains(" \(url)") && $0.contains(reason) && $0.contains("; what is in force stays")
                }
            }
            #expect(isSaid, "\(url) \(reason): \(daemon.errors.suffix(500))")
            #expect(try answer(daemon) == Self.inForce, "\(url)")
        }

        /// Has the daemon fetch its policy elsewhere.
        private func move(_ daemon: Daemon, to url: String) throws {
            let file = daemon.configurationFile
            let text = try String(contentsOfFile: file, encoding: .utf8)
                .replacing(/\[policy\]\nurl = ".*"/, with: "[policy]\nurl = \"\(url)\"")
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            let outcome = try daemon.run("reload")
            #expect(outcome.status == 0, "\(outcome.errors)")
        }

        private func answer(_ daemon: Daemon) throws -> [String] {
            try daemon.client().ask("www.example.com").addresses
        }

        @Test func `whatever its server sends, the policy in force stays, and an honest one after it is taken`() throws
        {
            let target = try FakeHTTPDNS(FakeZone())
            let site = try site(target: target.url)
            let daemon = try daemon(site.url("/first"))
            let before = try daemon.kernelNumber("VmHWM")
            for (path, reason) in [
                ("/endless", "the reply is larger than the limit"), ("/long", "the reply is larger than the limit"),
                ("/header", "the reply is larger than the limit"), ("/short", "the connection was closed"),
                ("/surplus", "was changed after it was signed"), ("/page", "is not signed"),
                ("/http", "the server answers HTTP 302"), ("/file", "the server answers HTTP 302"),
                ("/partial", "the server answers HTTP 206"), ("/bomb", "the reply is compressed (gzip)"),
                ("/text", "the reply is not HTTP"),
            ] {
                try refuses(daemon, site.url(path), reason)
            }
            #expect(try daemon.kernelNumber("VmHWM") - before < 32 << 10)
            #expect(target.requests.isEmpty)
            try site.serve(policy(serial: 7))
            // Tags that cannot be sent back are none.
            try move(daemon, to: site.url("/tag"))
            #expect(daemon.waitForLog { $0.contains("is taken: serial 7") }, "\(daemon.errors.suffix(500))")
            #expect(try answer(daemon) == Self.ofVendor)
        }
    }
}
