import Foundation
import TestServers
import Testing

extension Integration {
    /// DNS over HTTPS (RFC 8484) with the clients that people have.
    struct DoHServingTests {
        private static let token = "0123456789abcdef"
        private let listeners: EncryptedListeners

        init() throws { listeners = try EncryptedListeners() }

        private func stage(_ extra: String = "") throws -> Stage {
            try Stage(listen: listeners.lines("https") + extra)
        }

        @Test func `kdig has its answer, padded, and curl opens a page by a name that only this server knows`() throws {
            let site = try FakeHTTPDNS(Stage.zone)
            var zone = Stage.zone
            zone.entries["page.example"] = .init(a: ["127.0.0.1"])
            let stage = try Stage(.aliyun, zone, listen: listeners.lines("https"))
            for option in ["+https", "+https-get"] {
                let output = try ChildProcess.succeed(listeners.kdig(["+padding"], https: option))
                for part in ["status: NOERROR", "192.0.2.1", "HTTP/2", "Received 468 B"] {
                    #expect(output.contains(part), "\(option): \(output)")
                }
            }
            for version in ["--http1.1", "--http2"] {
                let outcome = try ChildProcess.run([
                    "curl", "-s", "--max-time", "60", "--cacert", listeners.certificates.authority, version,
                    "--doh-url",
                    "https://dns.example:\(listeners.https)/dns-query", "--resolve",
                    "dns.example:\(listeners.https):127.0.0.1", "-o", "/dev/null",
                    "-w",
                    "%{remote_ip}", site.url.replacing("127.0.0.1", with: "page.example") + "/",
                ])
                #expect(outcome.output == "127.0.0.1", "\(version)")
            }
            withExtendedLifetime(stage) {}
        }

        @Test func `a token opens a server that is closed, and a wrong one does not`() throws {
            let stage = try stage("allow = [\"192.0.2.0/24\"]\ntokens = [\"\(Self.token)\"]")
            func kdig(_ path: String) throws -> String {
                try ChildProcess.run(listeners.kdig(https: "+https=\(path)")).output
            }
            #expect(try kdig("/dns-query/\(Self.token)").contains("192.0.2.1"))
            #expect(try kdig("/dns-query").contains("status: REFUSED"))
            #expect(try !kdig("/dns-query/0123456789abcdeg").contains("192.0.2.1"))
            #expect(!stage.daemon.errors.contains(Self.token))
        }
    }
}
