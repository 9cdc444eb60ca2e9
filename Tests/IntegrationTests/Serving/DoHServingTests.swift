import Foundation
import TestServers
import Testing

extension Integration {
    /// DNS over HTTPS (RFC 8484) with the clients that people have.
    @Suite(.serialized)
    struct DoHServingTests {
        private static let token = "0123456789abcdef"
        private let certificates: TestCertificates
        private let leaf: TestCertificates.Leaf
        private let port: UInt16

        init() throws {
            certificates = try TestCertificates()
            leaf = try certificates.leaf(names: ["dns.test"], addresses: ["127.0.0.1"])
            port = try FreePort.next()
        }

        private func lines(_ extra: String = "") -> String {
            """
            https = ["127.0.0.1:\(port)"]
            certificate = "\(leaf.certificate)"
            key = "\(leaf.key)"
            \(extra)

            """
        }

        private func stage(_ extra: String = "") throws -> Stage { try Stage(listen: lines(extra)) }

        private func curl(_ arguments: String...) throws -> ChildProcess.Outcome {
            try ChildProcess.run(["curl", "-s", "--max-time", "20", "--cacert", certificates.authority] + arguments)
        }

        @Test(arguments: ["+https", "+https-get"])
        func `kdig has its answer, padded`(option: String) throws {
            let stage = try stage()
            let outcome = try ChildProcess.run([
                "kdig", "@127.0.0.1", "-p", "\(port)", option, "+tls-ca=\(certificates.authority)",
                "+tls-hostname=dns.test", "+padding", "www.example.com", "A",
            ])
            #expect(outcome.output.contains("status: NOERROR"))
            #expect(outcome.output.contains("192.0.2.1"))
            #expect(outcome.output.contains("HTTP/2"))
            #expect(outcome.output.contains("Received 468 B"))
            withExtendedLifetime(stage) {}
        }

        @Test(arguments: ["--http1.1", "--http2"])
        func `curl opens a page by a name that only this server knows`(version: String) throws {
            let site = try FakeHTTPDNS(Stage.zone)
            let stage = try Stage(.aliyun, FakeZone(["page.example": .init(a: ["127.0.0.1"])]), listen: lines())
            let outcome = try curl(
                version, "--doh-url", "https://dns.test:\(port)/dns-query", "--resolve", "dns.test:\(port):127.0.0.1",
                "-o", "/dev/null", "-w", "%{remote_ip}", site.url.replacing("127.0.0.1", with: "page.example") + "/")
            #expect(outcome.output == "127.0.0.1")
            withExtendedLifetime(stage) {}
        }

        @Test(arguments: ["--http1.1", "--http2"])
        func `requests made by curl have their statuses and fields`(version: String) throws {
            let stage = try stage()
            let url = "https://127.0.0.1:\(port)/dns-query"
            let format = "%{http_code} %{content_type} %header{cache-control}"
            // A question for www.example.com, A.
            let message = "AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB"
            let get = try curl(version, "-o", "/dev/null", "-w", format, url + "?dns=" + message)
            #expect(get.output.hasPrefix("200 application/dns-message max-age="))
            #expect(try curl(version, "-o", "/dev/null", "-w", format, url).output.hasPrefix("400"))
            #expect(try curl(version, "-o", "/dev/null", "-w", format, "-d", "a", url).output.hasPrefix("415"))
            #expect(try curl(version, "-I", "-o", "/dev/null", "-w", format, url).output.hasPrefix("405"))
            withExtendedLifetime(stage) {}
        }

        @Test(arguments: ["--http1.1", "--http2"])
        func `a response has the date of its second`(version: String) throws {
            let stage = try stage()
            for path in ["/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB", "/"] {
                let earliest = Date()
                let date = try curl(
                    version, "-o", "/dev/null", "-w", "%header{date}", "https://127.0.0.1:\(port)\(path)"
                ).output
                let shown = Self.formatter.date(from: date)
                // Seconds have no fractions, and the text is made once a second.
                #expect(try #require(shown).timeIntervalSince(earliest) > -3 && Date() >= #require(shown), "\(date)")
            }
            withExtendedLifetime(stage) {}
        }

        /// Of the form of RFC 9110 section 5.6.7 that is sent.
        private static var formatter: DateFormatter {
            let formatter = DateFormatter()
            formatter.locale = Locale(identifier: "en_US_POSIX")
            formatter.timeZone = TimeZone(secondsFromGMT: 0)
            formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            return formatter
        }

        @Test func `a token opens a server that is closed, and a wrong one does not`() throws {
            let stage = try stage("allow = [\"192.0.2.0/24\"]\ntokens = [\"\(Self.token)\"]")
            func kdig(_ path: String) throws -> String {
                try ChildProcess.run([
                    "kdig", "@127.0.0.1", "-p", "\(port)", "+https=\(path)", "+tls-ca=\(certificates.authority)",
                    "+tls-hostname=dns.test", "www.example.com", "A",
                ]).output
            }
            #expect(try kdig("/dns-query/\(Self.token)").contains("192.0.2.1"))
            #expect(try kdig("/dns-query").contains("status: REFUSED"))
            #expect(try !kdig("/dns-query/0123456789abcdeg").contains("192.0.2.1"))
            #expect(!stage.daemon.errors.contains(Self.token))
        }

        @Test func `a server of this kind is a provider of type doh for another one`() throws {
            let central = try stage()
            let edge = try Daemon(
                DaemonConfiguration.doh(
                    "https://127.0.0.1:\(port)", "ca_file = \"\(certificates.authority)\"")
                    + DaemonConfiguration.rest())
            #expect(try edge.client().ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            withExtendedLifetime(central) {}
        }
    }
}
