import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// Servers of a signed policy that do what a server should not: what is in force stays, and the daemon serves on.
    @Suite(.serialized)
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
        private let directory: TemporaryDirectory

        init() throws {
            signer = try PolicySigner()
            certificates = try TestCertificates()
            directory = try TemporaryDirectory()
            vendor = try FakeHTTPDNS(FakeZone("www.example.com", a: Self.ofVendor))
            localDNS = try FakeLocalDNS(
                FakeZone(["www.example.com": .init(a: Self.inForce), Self.host: .init(a: ["127.0.0.1"])]))
        }

        private func configuration(_ url: String, _ name: String) -> String {
            DaemonConfiguration.aliyun(vendor.url)
                + DaemonConfiguration.rest(localDNS: localDNS.address, control: "\(directory.path)/\(name).sock")
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
        private func site(
            _ leaf: TestCertificates.Leaf? = nil, document: String? = nil, target: String = ""
        ) throws -> HostileSite {
            try HostileSite(
                leaf ?? certificates.leaf(names: [Self.host]), host: Self.host,
                document: document ?? policy(serial: 5, Self.bypass), other: policy(serial: 6), target: target)
        }

        private func daemon(_ url: String, _ name: String = "daemon") throws -> Daemon {
            let daemon = try Daemon(configuration(url, name))
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
        private func move(_ daemon: Daemon, _ name: String = "daemon", to url: String) throws {
            let file = daemon.configurationFile
            let text = try String(contentsOfFile: file, encoding: .utf8)
                .replacing(/\[policy\]\nurl = ".*"/, with: "[policy]\nurl = \"\(url)\"")
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            let outcome = try Daemon.run(["reload", "--socket", "\(directory.path)/\(name).sock"])
            #expect(outcome.status == 0, "\(outcome.errors)")
        }

        private func answer(_ daemon: Daemon) throws -> [String] {
            try daemon.client().ask("www.example.com").addresses
        }

        /// The most memory that it has had, in MiB.
        private func memory(of daemon: Daemon) throws -> Int {
            let status = try String(contentsOfFile: "/proc/\(daemon.pid)/status", encoding: .utf8)
            return (status.firstMatch(of: /VmHWM:\s*([0-9]+)/).flatMap { Int($0.1) } ?? 0) / 1_024
        }

        @Test func `whatever its server sends, the policy in force stays, and an honest one after it is taken`() throws
        {
            let target = try FakeHTTPDNS(FakeZone())
            let site = try site(target: target.url)
            let daemon = try daemon(site.url("/first"))
            let before = try memory(of: daemon)
            for (path, reason) in [
                ("/endless", "the reply is larger than the limit"), ("/unframed", "the reply is larger than the limit"),
                ("/claimed", "the reply is larger than the limit"), ("/long", "the reply is larger than the limit"),
                ("/header", "the reply is larger than the limit"), ("/field", "the reply is larger than the limit"),
                ("/early", "the reply is larger than the limit"), ("/trailer", "the reply is larger than the limit"),
                ("/short", "the connection was closed"), ("/surplus", "was changed after it was signed"),
                ("/lengths", "the reply is not HTTP"), ("/extension", "the reply is larger than the limit"),
                ("/empty", "is not signed"), ("/page", "is not signed"),
                ("/http", "the server answers HTTP 302"), ("/file", "the server answers HTTP 302"),
                ("/self", "the server answers HTTP 302"), ("/partial", "the server answers HTTP 206"),
                ("/bomb", "the reply is compressed (gzip)"), ("/gzip", "the reply is compressed (gzip)"),
                ("/text", "the reply is not HTTP"),
            ] {
                try refuses(daemon, site.url(path), reason)
            }
            #expect(try memory(of: daemon) - before < 32)
            #expect(target.requests.isEmpty)
            try site.serve(policy(serial: 7))
            // Tags that cannot be sent back are none.
            try move(daemon, to: site.url("/tag"))
            #expect(daemon.waitForLog { $0.contains("is taken: serial 7") }, "\(daemon.errors.suffix(500))")
            #expect(try answer(daemon) == Self.ofVendor)
        }

        @Test
        func `over https no document is taken that is older, changed or of another key, and no key is but its own`()
            throws
        {
            let site = try site()
            let daemon = try daemon(site.url("/first"))
            let other = try PolicySigner()
            let foreign = try String(contentsOfFile: other.sign(PolicySigner.text(serial: 9)), encoding: .utf8)
            for (path, document, reason) in [
                ("/older", try policy(serial: 4), "has the serial 4, and this machine has had 5"),
                ("/changed", try policy(serial: 6).replacing("serial = 6", with: "serial = 8"), "was changed after"),
                ("/foreign", foreign, "is signed with the key \"\(other.publicKey.prefix(8))\""),
                ("/same", try policy(serial: 5), "has the serial 5"),
            ] {
                try site.serve(document)
                try refuses(daemon, site.url(path), reason)
            }
        }

        @Test func `a server with a wrong certificate is asked for nothing`() throws {
            let honest = try site()
            let daemon = try daemon(honest.url("/first"))
            for (leaf, reason) in [
                (try certificates.leaf(names: ["other.example.net"]), "the certificate is for another name"),
                (try certificates.leaf(subject: Self.host), "the certificate is for another name"),
                (try certificates.expiredLeaf(names: [Self.host]), "the certificate has expired"),
                (try certificates.earlyLeaf(names: [Self.host]), "the certificate is not valid yet"),
                (try certificates.selfSignedLeaf(names: [Self.host]), "the certificate is self-signed"),
            ] {
                let site = try site(leaf, document: policy(serial: 9))
                try refuses(daemon, site.url("/any"), reason)
                #expect(site.requests("/any") == 0)
            }
        }

        @Test func `an HTTP/2 server that breaks the rules changes nothing`() throws {
            let honest = try site()
            let daemon = try daemon(honest.url("/first"))
            let leaf = try certificates.leaf(names: [Self.host])
            for (behaviour, reason) in [
                (ScriptedHTTP2.Behaviour.fail, "the server answers HTTP 500"), (.complain, "is not signed"),
                (.refuse, "the stream was reset (REFUSED_STREAM)"), (.cut, "the stream was reset (NO_ERROR)"),
                (.downgrade, "is not signed"), (.confuse, ": "), (.break, ": "), (.flood, ": "),
            ] {
                let site = try ScriptedHTTP2(leaf, [behaviour])
                try refuses(daemon, "https://\(Self.host):\(site.port)/\(behaviour)", reason)
            }
        }

        @Test func `a server that lets its client wait is left after a while, and clients are answered meanwhile`()
            throws
        {
            let site = try site()
            let paths = ["/drip", "/slow", "/silent"]
            let daemons = try paths.map { try daemon(site.url("/first"), String($0.dropFirst())) }
            for (path, daemon) in zip(paths, daemons) { try move(daemon, String(path.dropFirst()), to: site.url(path)) }
            for (path, daemon) in zip(paths, daemons) {
                #expect(eventually { site.requests(path) > 0 })
                #expect(try answer(daemon) == Self.inForce)
            }
            try site.serve(policy(serial: 7))
            for (path, daemon) in zip(paths, daemons) {
                #expect(
                    daemon.waitForLog { $0.contains("\(site.url(path)): no answer in time; what is in force stays") })
                try move(daemon, String(path.dropFirst()), to: site.url("/last"))
                #expect(daemon.waitForLog { $0.contains("is taken: serial 7") })
                #expect(try answer(daemon) == Self.ofVendor)
            }
        }
    }
}
