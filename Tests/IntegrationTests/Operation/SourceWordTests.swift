import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// What the source of an answer is called.
    struct SourceWordTests {
        /// The kinds of answers, by their words, in the order in which they are played: from the last three on the vendor fails,
        /// and from the last two on LocalDNS is silent.
        enum Kind: String, CaseIterable {
            case provider, shared, cache, localdns, forward, preset, rule
            case unverified = "localdns_unverified"
            case stale, none

            /// What its names are below.
            var suffix: String {
                switch self {
                case .localdns: "corp.example"
                case .forward: "forward.example"
                case .preset: "preset.example"
                case .rule: "localhost"
                case .stale: "short.example.com"
                default: "many.example.com"
                }
            }

            /// The name that is asked for with `--trace`, and the one that a client asks for.
            var names: [String] { ["traced", "asked"].map { "\($0)-\(self).\(suffix)" } }

            /// What `why` says of its answer afterwards: where what is cached came from.
            var origin: String { self == .cache || self == .stale ? "provider" : rawValue }
        }

        private let stage: FleetStage
        private let redis: RedisServer
        private let directory: TemporaryDirectory
        private let url: String

        init() throws {
            var zone = FleetStage.zone()
            zone.entries["*.short.example.com"] = .init(a: ["192.0.2.3"], ttl: 1)
            stage = try FleetStage(zone, localDNS: FakeZone("*", a: ["198.51.100.1"]))
            (redis, directory) = (try RedisServer(), try TemporaryDirectory())
            url = "127.0.0.1:\(try FreePort.next())"
        }

        private func daemon() throws -> Daemon {
            try stage.daemon(
                redis.url,
                lines: """
                    timeout = "500ms"
                    [route]
                    bypass = ["corp.example"]
                    [[forward]]
                    suffixes = ["forward.example"]
                    servers = ["\(stage.localDNS.address)"]
                    [preset]
                    always = { "*.preset.example" = ["192.0.2.50"] }

                    """, control: directory.path + "/run/control.sock",
                controlLines: "http = \"\(url)\"", log: "queries = true\n")
        }

        /// Makes the next answers for its names of a kind.
        private func prepare(_ kind: Kind, _ daemon: Daemon) throws {
            if kind == .unverified { stage.vendor.misbehave(.closeBeforeReply) }
            guard kind == .stale else { return }
            stage.localDNS.behave(.silent)
            for name in kind.names { _ = try daemon.client().ask(name, until: { $0.extendedErrors == [3] }) }
        }

        private func curl(_ path: String) throws -> String {
            // Of the events, which never end, the first.
            let first = "sed '/^data: /q' < <(curl --silent --no-buffer --noproxy '*' --max-time 60 \"$1\" 2>/dev/null)"
            return try ChildProcess.run(["bash", "-c", first, "bash", "http://\(url)\(path)"], within: .patience * 2)
                .output
        }

        /// How many answers the metrics count by the word.
        private func metrics() throws -> [String: Int] {
            let start = "httpdnsd_answer_seconds_count{source=\""
            let lines = try curl("/metrics").split(separator: "\n").filter { $0.hasPrefix(start) }
            return Dictionary(
                uniqueKeysWithValues: lines.map {
                    let parts = $0.dropFirst(start.count).split(separator: "\"} ")
                    return (String(parts[0]), Int(parts[1]) ?? -1)
                })
        }

        /// The same of the page's feed.
        private func feed() throws -> [String: Int] {
            let event = try #require(try curl("/events").split(separator: "\n").first { $0.hasPrefix("data: ") })
            let report = try JSONSerialization.jsonObject(with: Data(event.dropFirst(6).utf8)) as? [String: Any]
            let answers = try #require(report?["answers"] as? [[String: Any]])
            return Dictionary(
                uniqueKeysWithValues: answers.map {
                    ($0["label"] as? String ?? "", ($0["counts"] as? [Int] ?? []).reduce(0, +))
                })
        }

        /// The word of which there is one more.
        private func risen(_ before: [String: Int], _ read: () throws -> [String: Int]) throws -> String? {
            var word: String?
            _ = try eventually {
                word = try read().first { $0.value == (before[$0.key] ?? 0) + 1 }?.key
                return word != nil
            }
            return word
        }

        @Test func `why, trace, log, metrics and the page's feed name the same source by the same word`() throws {
            let other = try stage.daemon(redis.url)
            for name in Kind.shared.names { _ = try other.client().ask(name) }
            #expect(try redis.waitForAnswers(2))
            let daemon = try daemon()
            for name in Kind.cache.names + Kind.stale.names {
                #expect(try daemon.client().ask(name).addresses.count == 1)
            }
            for kind in Kind.allCases { try play(kind, daemon) }
        }

        private func play(_ kind: Kind, _ daemon: Daemon) throws {
            try prepare(kind, daemon)
            let (traced, asked) = (kind.names[0], kind.names[1])
            let run = { (words: String...) in
                try Daemon.run(words + ["--config", daemon.configurationFile]).output
            }
            let trace = try run("query", "--trace", traced)
            let (metrics, feed) = (try metrics(), try feed())
            _ = try daemon.client().ask(asked)
            #expect(try risen(metrics, self.metrics) == kind.rawValue, "\(kind)")
            #expect(try risen(feed, self.feed) == kind.rawValue, "\(kind)")
            let word = "(^|[ ;])source=\(kind.rawValue)( provider=vendor)?$"
            #expect(trace.split(separator: "\n").last?.range(of: word, options: .regularExpression) != nil, "\(trace)")
            let why = try run("why", asked)
            #expect(why.contains(" source=\(kind.origin) ") || why.contains("\nsource=\(kind.origin) "), "\(why)")
            let hasProvider = kind == .provider || kind == .shared
            let ending = " ms \(kind.rawValue)\(hasProvider ? " vendor" : "")"
            #expect(
                daemon.waitForLog { log in
                    log.split(separator: "\n").contains { $0.contains(" \(asked) A ") && $0.hasSuffix(ending) }
                }, "\(daemon.errors)")
        }
    }
}
