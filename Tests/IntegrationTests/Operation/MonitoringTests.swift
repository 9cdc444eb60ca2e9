import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// `[control] http`: what monitors read, with curl, promtool and a real Prometheus.
    struct MonitoringTests {
        private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
            .path

        private let stage: ControlStage
        private let url: String
        private let target: String

        init() throws {
            target = "127.0.0.1:\(try FreePort.next())"
            url = "http://" + target
            stage = try ControlStage(control: "http = \"\(target)\"")
        }

        private func metrics() throws -> String {
            try ChildProcess.run(["curl", "--silent", "--noproxy", "*", url + "/metrics"]).output
        }

        private func value(of metric: String) throws -> String? {
            try metrics().split(separator: "\n").first { $0.hasPrefix(metric + " ") }
                .map { String($0.dropFirst(metric.count + 1)) }
        }

        /// Waits until a metric has this value: what a client got is counted just after it was sent.
        private func comes(_ metric: String, to value: String) throws -> Bool {
            try eventually { try self.value(of: metric) == value }
        }

        @Test func `promtool finds nothing to object to`() throws {
            let file = try stage.directory.write(try metrics(), to: "metrics.txt")
            let outcome = try ChildProcess.run(["bash", "-c", "promtool check metrics <\(file)"])
            #expect(
                outcome.status == 0 && (outcome.output + outcome.errors).isEmpty, "\(outcome.output + outcome.errors)")
        }

        @Test func `a question that is answered from memory the second time counts as a miss and a hit`() throws {
            for _ in 0..<2 { #expect(try stage.ask("www.example.com").addresses.count == 2) }
            #expect(try comes("httpdnsd_cache_misses_total", to: "1"))
            #expect(try comes("httpdnsd_cache_hits_total", to: "1"))
            #expect(try comes(Self.responses("udp", "NOERROR"), to: "2"))
            #expect(try comes("httpdnsd_provider_response_seconds_count{provider=\"vendor\"}", to: "1"))
            #expect(try metrics().contains("\nhttpdnsd_provider_calls_today{provider=\"vendor\"} 1\n"))
        }

        private static func responses(_ transport: String, _ code: String) -> String {
            "httpdnsd_responses_total{transport=\"\(transport)\",family=\"ipv4\",rcode=\"\(code)\"}"
        }

        @Test func `clients that say nothing leave descriptors to others where few may be open`() throws {
            let target = "127.0.0.1:\(try FreePort.next())"
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(stage.vendor.url)
                    + DaemonConfiguration.rest(
                        localDNS: stage.localDNS.address, control: "", controlLines: "http = \"\(target)\""),
                wrapper: ["prlimit", "--nofile=64"])
            let script = """
                for i in $(seq 80); do exec {silent}<>/dev/tcp/${0/://}; done
                curl --silent --noproxy '*' --max-time 60 http://$0/healthz
                """
            #expect(try ChildProcess.run(["bash", "-c", script, target]).output == "ok\n")
            #expect(!daemon.errors.contains("Too many open files"))
        }

        @Test func `a port that another program holds is a warning, and monitors are served once it is free`() throws {
            let other = try ControlStage(control: "http = \"\(target)\"")
            #expect(try other.ask("www.example.com").addresses.count == 2)
            #expect(other.daemon.waitForLog { $0.contains("serving without metrics") })
            // Only the server that waits for the port was asked anything.
            let miss = "httpdnsd_cache_misses_total"
            #expect(try value(of: miss) == "0")
            try stage.daemon.stop()
            let next = try ChildProcess.run([
                "bash", "-c",
                "until curl --silent --noproxy '*' \(url)/metrics | grep '^\(miss) 1$'; do sleep 0.1; done",
            ])
            #expect(next.output == "\(miss) 1\n")
        }

        @Test func `the alerts are silent in a healthy world, and each fires on its fault`() throws {
            let outcome = try ChildProcess.run([
                "promtool", "test", "rules", Self.folder + "/Tests/Prometheus/alerts-test.yml",
            ])
            #expect(outcome.status == 0, "\(outcome.output)")
        }

        @Test func `a real Prometheus answers every query of the dashboard`() throws {
            for _ in 0..<2 { #expect(try stage.ask("www.example.com").addresses.count == 2) }
            let port = try FreePort.next()
            let configuration = try String(
                contentsOfFile: Self.folder + "/conf/prometheus/scrape.yml", encoding: .utf8
            ).replacing("127.0.0.1:9053", with: target)
            let file = try stage.directory.write(
                "global: { scrape_interval: 1s }\nrule_files: [\(Self.folder)/conf/prometheus/alerts.yml]\n"
                    + configuration,
                to: "prometheus.yml")
            let prometheus = try ChildProcess(
                server: [
                    "prometheus", "--config.file=\(file)", "--storage.tsdb.path=\(stage.directory.path)/data",
                    "--web.listen-address=127.0.0.1:\(port)",
                ], until: "Server is ready")
            defer { prometheus.signal(SIGKILL) }
            let dashboard = try Data(contentsOf: URL(filePath: Self.folder + "/conf/prometheus/grafana.json"))
            let panels = try JSONSerialization.jsonObject(with: dashboard) as? [String: Any]
            let queries = (panels?["panels"] as? [[String: Any]] ?? []).flatMap { panel in
                (panel["targets"] as? [[String: Any]] ?? []).compactMap { $0["expr"] as? String }
            }
            #expect(queries.count > 10)
            for query in queries {
                let query = query.replacing("$instance", with: ".*")
                // Rates have a value once there are two scrapes.
                let outcome = try ChildProcess.run([
                    "bash", "-c",
                    """
                    until curl --silent --noproxy '*' --data-urlencode "query=$1" http://127.0.0.1:\(port)/api/v1/query |
                        tee /dev/stderr | grep -q '"value"'; do sleep 0.1; done
                    """, "bash", query,
                ])
                #expect(outcome.status == 0, "\(query): \(outcome.errors.suffix(300))")
            }
        }
    }
}
