import TestServers
import TestSupport
import Testing

extension Integration {
    /// Answers from the cache.
    @Suite(.serialized)
    struct CacheTests {
        @Test func `a stale answer comes when no upstream answers, with TTL 30 and its reason`() throws {
            let stage = try Stage(.aliyun, FakeZone("www.example.com", a: ["192.0.2.1"], ttl: 1))
            #expect(try stage.ask("www.example.com").addresses == ["192.0.2.1"])
            stage.vendor.misbehave(.hang)
            stage.localDNS.behave(.silent)
            let client = try stage.daemon.client()
            let stale = try client.ask("www.example.com", until: { $0.extendedErrors == [3] })
            #expect(stale.addresses == ["192.0.2.1"])
            #expect(stale.answers.first?.ttl == 30)
            #expect(stale.rcode == ResponseCode.noError)
            // A failed refresh deletes nothing.
            for _ in 0..<3 { #expect(try client.ask("www.example.com").addresses == ["192.0.2.1"]) }
            stage.vendor.misbehave(nil)
            let fresh = try client.ask("www.example.com", until: { $0.extendedErrors.isEmpty })
            #expect(fresh.addresses == ["192.0.2.1"])
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
    }
}
