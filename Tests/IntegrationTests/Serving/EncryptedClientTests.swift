import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// The encrypted listeners with browsers, programs and servers that people put in front of them.
    struct EncryptedClientTests {
        private let listeners: EncryptedListeners

        init() throws { listeners = try EncryptedListeners() }

        /// What Chromium shows of a URL when it resolves names by this server alone.
        ///
        /// - Parameter pin: of the public key that it takes for this server's whatever signed it.
        private func chromium(_ url: String, pin: String, in directory: TemporaryDirectory) throws -> String {
            let profile = directory.path + "/profile-\(UInt32.random(in: 0...(.max)))"
            try FileManager.default.createDirectory(atPath: profile, withIntermediateDirectories: true)
            // As Settings, Use secure DNS, custom writes it: without falling back to the system's resolver.
            let state = """
                {"dns_over_https": {"mode": "secure", "templates": "https://127.0.0.1:\(listeners.https)/dns-query{?dns}"}}
                """
            try state.write(toFile: profile + "/Local State", atomically: true, encoding: .utf8)
            return try ChildProcess.run([
                "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--disable-background-networking", "--no-first-run", "--no-proxy-server",
                "--user-data-dir=\(profile)", "--ignore-certificate-errors-spki-list=\(pin)", "--dump-dom", url,
            ]).output
        }

        @Test func `Chromium opens a page by a name that only this server knows`() throws {
            let site = try FakeHTTPDNS(Stage.zone)
            let stage = try Stage(
                .doh, FakeZone(["page.example": .init(a: ["127.0.0.1"])]), listen: listeners.lines("tls", "https"))
            let directory = try TemporaryDirectory()
            let url =
                site.url.replacing("127.0.0.1", with: "page.example")
                + "/\(DaemonConfiguration.account)/d?host=www.example.com"
            let pin = try listeners.leaf.pin.replacing("sha256//", with: "")
            #expect(try chromium(url, pin: pin, in: directory).contains("192.0.2.1"))
            #expect(site.callCount() == 1)
            #expect(stage.vendor.calls.contains { $0.name == "page.example" })
            // A certificate that it does not trust: it resolves nothing, and so nothing went another way before.
            let other = try listeners.certificates.leaf(names: ["other.example"]).pin.replacing("sha256//", with: "")
            #expect(try !chromium(url, pin: other, in: directory).contains("192.0.2.1"))
            #expect(site.callCount() == 1)
        }

        @Test(arguments: ["dot", "doh"])
        func `a program in Go has its answer`(mode: String) throws {
            let stage = try Stage(listen: listeners.lines("tls", "https"))
            let program = try ClientProgram.compiled("encrypted-go") {
                ["go", "build", "-o", $0, ClientProgram.source("encrypted.go")]
            }
            func look(_ server: String) throws -> ChildProcess.Outcome {
                try ChildProcess.run([
                    program, mode, "127.0.0.1:\(mode == "dot" ? listeners.tls : listeners.https)", server,
                    listeners.certificates.authority,
                    "www.example.com",
                ])
            }
            let protocolName = mode == "dot" ? "dot" : "HTTP/2.0"
            #expect(try look("dns.example").output == "\(protocolName) 192.0.2.1 192.0.2.2 2001:db8::1\n")
            #expect(try look("other.example").status == 1)
            withExtendedLifetime(stage) {}
        }

        @Test(arguments: ["dot", "doh"])
        func `dnsdist has this server behind it, by health checks and queries`(mode: String) throws {
            let stage = try Stage(listen: listeners.lines("tls", "https"))
            let own = try FreePort.next()
            let directory = try TemporaryDirectory()
            let port = mode == "dot" ? listeners.tls : listeners.https
            let file = try directory.write(
                """
                setLocal("127.0.0.1:\(own)")
                setSecurityPollSuffix("")
                newServer({
                    address = "127.0.0.1:\(port)", tls = "openssl", subjectName = "dns.example",
                    caStore = "\(listeners.certificates.authority)", checkName = "www.example.com.", mustResolve = true,
                    \(mode == "doh" ? "dohPath = \"/dns-query\"," : "")
                })

                """, to: "dnsdist.conf")
            let dnsdist = try ChildProcess(["dnsdist", "-C", file, "--supervised", "--disable-syslog"])
            #expect(
                dnsdist.waitForOutput(.patience) { ($0 + $1).contains("Marking downstream 127.0.0.1:\(port) as 'up'") })
            for transport in ["+notcp", "+tcp"] {
                let dig = try Dig(TestAddress("127.0.0.1", port: own), "www.example.com", "A", [transport])
                #expect(dig.addresses == ["192.0.2.1", "192.0.2.2"], "\(dnsdist.output)\(dnsdist.errors)")
            }
            withExtendedLifetime(stage) {}
        }

        @Test(.requires(.networkNamespaces), .requires(.systemdResolved))
        func `systemd-resolved asks over TLS, and nothing in plain text`() throws {
            let host = try ClientHost()
            var listeners = listeners
            (listeners.tls, listeners.https) = (853, 443)
            let stage = try Stage(listen: listeners.lines("tls", "https"), inside: host)
            let directory = try TemporaryDirectory()
            func answer(_ name: String, _ options: [String] = []) throws -> Dig {
                let resolved = try SystemdResolved.start(
                    "DNS=127.0.0.1#\(name)\nDNSOverTLS=yes", authority: listeners.certificates.authority, on: host,
                    directory)
                let dig = try Dig(
                    SystemdResolved.address, "www.example.com", "A", options, namespace: host.namespace)
                resolved.signal(SIGTERM)
                _ = try resolved.finish(within: .patience)
                return dig
            }
            #expect(try answer("dns.example").addresses == ["192.0.2.1", "192.0.2.2"])
            // A name that the certificate does not have: were it to ask in plain text, it would have an answer.
            #expect(try answer("other.example", ["+timeout=15"]).addresses.isEmpty)
            withExtendedLifetime(stage) {}
        }
    }
}
