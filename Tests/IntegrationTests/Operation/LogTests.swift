import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// What the daemon writes to standard error.
    @Suite(.serialized)
    struct LogTests {
        private static let json = "format = \"json\"\n"

        /// The lines of a log as JSON objects; each must be one.
        private func objects(_ log: String) throws -> [[String: Any]] {
            try log.split(separator: "\n").map { line in
                try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
            }
        }

        /// Asks for `count` distinct names, some hundreds at a time.
        ///
        /// - Returns: the number of responses with each code.
        private func askMany(_ daemon: Daemon, count: Int) throws -> [Int: Int] {
            let client = try daemon.client()
            var codes: [Int: Int] = [:]
            for first in stride(from: 0, to: count, by: 250) {
                for number in first..<min(first + 250, count) {
                    try client.send(.query("n\(number).example.com", id: UInt16(number)))
                }
                for _ in first..<min(first + 250, count) {
                    codes[Int(try client.receive().message.rcode), default: 0] += 1
                }
            }
            return codes
        }

        @Test func `2,000 names that fail while everything upstream is dead make few lines, which count them all`()
            throws
        {
            let port = try FreePort.next()
            let daemon = try Daemon(
                DaemonConfiguration.aliyun("http://127.0.0.1:\(port)") + DaemonConfiguration.rest() + Self.json)
            #expect(try askMany(daemon, count: 2_000) == [2: 2_000])
            #expect(try daemon.stop() == 0)
            let lines = try objects(daemon.errors)
            #expect(lines.count <= 12, "\(daemon.errors)")
            let failed = lines.filter { $0["event"] as? String == "answer.failed" }
            // The first line is for one name, and each later one stands for as many more as it counts.
            #expect(failed.reduce(1) { $0 + ($1["suppressed"] as? Int ?? 0) } == 2_000)
            // Of those that are asked together any may be the first to fail.
            #expect((failed.first?["name"] as? String)?.hasSuffix(".example.com") == true)
            #expect(failed.allSatisfy { ($0["reason"] as? String)?.contains("LocalDNS: ") == true })
            let backoff = lines.filter { $0["event"] as? String == "provider.backoff" }
            #expect(backoff.first?["address"] as? String == "127.0.0.1:\(port)")
        }

        @Test func `that this machine names no server of LocalDNS is an event with its reason`() throws {
            let directory = try TemporaryDirectory()
            let lists = try directory.write("", to: "resolv.conf")
            let configuration = DaemonConfiguration.rest(resolvConf: lists) + Self.json
            // Without the lists of this machine's own programs.
            let wrapper = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /run && exec \"$@\"", "sh"]
            let daemon = try Daemon(
                configuration.replacingOccurrences(of: "servers = [\"127.0.0.1:9\"]", with: "servers = \"auto\"")
                    + DaemonConfiguration.doh("https://192.0.2.1"), wrapper: wrapper)
            // A name of the network, for which LocalDNS is asked.
            #expect(try daemon.client().ask("printer.lan").rcode == ResponseCode.nxDomain)
            #expect(daemon.waitForLog { $0.contains("localdns.no_servers") })
            #expect(try daemon.stop() == 0)
            let line = try #require(
                try objects(daemon.errors).first { $0["event"] as? String == "localdns.no_servers" })
            let reason = try #require(line["reason"] as? String)
            #expect(line["upstream"] as? String == "localdns" && line["level"] as? String == "warning")
            #expect(line["message"] as? String == "localdns.servers: \(reason)")
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

        @Test func `nothing waits when standard error is a full pipe`() throws {
            // The pipe's other end is open, but not read.
            let script = "d=$(mktemp -d) && mkfifo $d/f && exec 3<>$d/f && rm -r $d && exec \"$@\" 2>&3 3>&-"
            let vendor = try FakeHTTPDNS(Stage.zone)
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url) + DaemonConfiguration.rest() + "queries = true\n",
                wrapper: ["sh", "-c", script, "sh"])
            let client = try daemon.client()
            // More than the pipe and the queue take.
            for _ in 0..<10_000 {
                #expect(try client.ask("www.example.com").addresses.count == 2)
            }
            #expect(try client.ask("four.example.com").addresses == ["192.0.2.4"])
            #expect(try daemon.stop() == 0)
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
