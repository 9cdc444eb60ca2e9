import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// What the daemon writes to standard error.
    struct LogTests {
        private static let json = "format = \"json\"\n"

        /// The lines of a log as JSON objects; each must be one.
        private func objects(_ log: String) throws -> [[String: Any]] {
            try log.split(separator: "\n").map { line in
                try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
            }
        }

        @Test func `the log of queries has a line for each, hits too`() throws {
            let stage = try Stage(
                localDNS: FakeZone("x.corp.example", a: ["198.51.100.7"]),
                route: DaemonConfiguration.route(bypass: ["corp.example"]), extra: "queries = true\n" + Self.json)
            for _ in 0..<2 { _ = try stage.ask("WWW.example.com") }
            _ = try stage.ask("x.corp.example")
            _ = try stage.daemon.tcpClient().ask(.query("www.example.com", RecordType.aaaa))
            _ = try stage.ask("localhost")
            try stage.daemon.stop()
            let queries = try objects(stage.daemon.errors).filter { $0["event"] as? String == "query" }
            let parts = queries.map { query in
                ["transport", "name", "type", "rcode", "route", "source", "provider"].map { query[$0] as? String ?? "" }
                    .joined(separator: " ")
            }
            #expect(
                parts.sorted() == [
                    "tcp www.example.com AAAA NOERROR protect cache ",
                    "udp WWW.example.com A NOERROR protect cache ",
                    "udp WWW.example.com A NOERROR protect provider vendor",
                    "udp localhost A NOERROR bypass rule ",
                    "udp x.corp.example A NOERROR bypass localdns ",
                ])
            #expect(queries.allSatisfy { $0["client"] as? String == "127.0.0.1" && $0["ms"] is Double })
            let text = queries.compactMap { $0["message"] as? String }
            #expect(text.contains { $0.hasPrefix("query 127.0.0.1 udp WWW.example.com A NOERROR protect ") })
        }

        @Test func `in JSON every line of a start is an object, also the one that says that it serves`() throws {
            let daemon = try Daemon(
                DaemonConfiguration.aliyun("http://127.0.0.1:9") + DaemonConfiguration.rest() + Self.json)
            #expect(daemon.output == "")
            #expect(try !objects(daemon.errors).isEmpty)
            #expect(daemon.errors.contains("serving DNS on \(daemon.address)"), "\(daemon.errors)")
        }

        @Test(.requires(.processFiles))
        func `a server whose standard streams are closed writes its log into nothing else`() throws {
            let vendor = try FakeHTTPDNS(Stage.zone)
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url) + DaemonConfiguration.rest() + "queries = true\n",
                wrapper: ["sh", "-c", "exec \"$@\" <&- 2>&-", "sh"])
            for number in [STDIN_FILENO, STDERR_FILENO] {
                let file = "/proc/\(daemon.pid)/fd/\(number)"
                #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file) == "/dev/null")
            }
            let client = try daemon.client()
            for _ in 0..<10 { #expect(try client.ask("www.example.com").addresses.count == 2) }
            #expect(try daemon.stop() == 0)
        }

        @Test func `a reload changes the format and switches the log of queries`() throws {
            let stage = try ControlStage()
            _ = try stage.ask("www.example.com")
            try stage.rewrite(
                String(contentsOfFile: stage.daemon.configurationFile, encoding: .utf8)
                    .replacing("level = \"debug\"\n", with: "level = \"error\"\nqueries = true\n" + Self.json))
            #expect(try stage.run("reload").status == 0)
            _ = try stage.ask("www.example.com")
            #expect(stage.daemon.waitForLog { $0.contains("\"source\":\"cache\"") })
            #expect(
                !stage.daemon.errors.contains("query 127.0.0.1 udp www.example.com A NOERROR protect provider vendor"))
        }
    }
}
