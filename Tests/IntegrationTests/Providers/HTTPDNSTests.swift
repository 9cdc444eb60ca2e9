import TestServers
import TestSupport
import Testing

extension Integration {
    /// For which names a vendor is asked, and what stays out of the question.
    struct HTTPDNSTests {
        private static let secret = "0123456789abcdef0123456789abcdef"
        /// The shape of the recipes in `conf/`.
        @Test func `with one provider that has names, and no list, any other name comes whole and unchecked`() throws {
            let (https, binding): (UInt16, [UInt8]) = (65, [0, 1, 0])
            let zone = FakeZone([
                "other.example.net": .init(a: ["192.0.2.77"], others: [https: [binding]], ttl: 3_600)
            ])
            let stage = try Stage(.aliyun, localDNS: zone, provider: #"names = ["example.com"]"#)
            let reply = try stage.ask("other.example.net")
            // Of a protected name it would be 60 s at most, and SERVFAIL where a certificate is wrong.
            #expect(reply.addresses == ["192.0.2.77"] && reply.answers.allSatisfy { $0.ttl > 3_000 })
            #expect(try stage.ask("other.example.net", https).answers.map(\.data) == [binding])
            #expect(stage.vendor.callCount("other.example.net") == 0)
            #expect(try stage.ask("www.example.com").addresses.count == 2)
        }

        @Test func `TTLs are limited to the configured bounds`() throws {
            let zone = FakeZone([
                "long.example.com": .init(a: ["192.0.2.1"], ttl: 100_000),
                "short.example.com": .init(a: ["192.0.2.2"], ttl: 1),
            ])
            let stage = try Stage(.aliyun, zone, extra: "[cache]\nmin_ttl = \"5s\"\nmax_ttl = \"1h\"\n")
            for (name, ttl) in [("long.example.com", 3_600), ("short.example.com", 5)] {
                let watch = Stopwatch()
                let answers = try stage.ask(name).answers
                #expect(answers.map { ($0.ttl...$0.ttl + watch.seconds).contains(UInt32(ttl)) } == [true])
            }
        }

        @Test func `secrets stay out of logs, streams and the process list`() throws {
            let stage = try Stage(secret: Self.secret, extra: "queries = true\n")
            #expect(try stage.ask("www.example.com").addresses.count == 2)
            // Failures of every kind are when programs log what they were doing.
            for (number, fault) in [HTTPFault.status(500), .garbage, .wrongName, .closeBeforeReply].enumerated() {
                stage.vendor.misbehave(fault)
                _ = try stage.ask("n\(number).example.com")
            }
            let commandLine = try ChildProcess.succeed(["cat", "/proc/\(stage.daemon.pid)/cmdline"])
            #expect(commandLine.contains("serve"))
            try stage.daemon.stop()
            let signatures = stage.vendor.requests.compactMap { $0.parameters["s"] }
            // After two failures in a row the address is in backoff.
            #expect(signatures.count >= 3)
            for text in [stage.daemon.errors, stage.daemon.output, commandLine] {
                #expect(!text.contains(Self.secret))
                #expect(!signatures.contains { text.contains($0) })
            }
            #expect(!stage.daemon.errors.isEmpty)
        }
    }
}
