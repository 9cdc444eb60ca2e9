import TestServers
import TestSupport
import Testing

extension Integration {
    /// Answers from the cache.
    @Suite(.serialized)
    struct CacheTests {
        @Test func `the second question is answered from memory`() throws {
            let stage = try Stage()
            let client = try stage.daemon.client()
            for _ in 0..<50 { #expect(try client.ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"]) }
            for _ in 0..<50 { #expect(try client.ask("www.example.com", RecordType.aaaa).addresses.count == 1) }
            #expect(stage.vendor.callCount() == 1)
        }

        @Test func `the TTL counts down`() throws {
            let stage = try Stage()
            let watch = Stopwatch()
            let first = try stage.ask("www.example.com")
            #expect(first.answers.allSatisfy { ($0.ttl...$0.ttl + watch.seconds).contains(60) })
            let later = try stage.daemon.client().ask("www.example.com", until: { $0.answers.first?.ttl ?? 60 <= 58 })
            #expect(later.answers.count == 2)
            #expect(later.answers.allSatisfy { ($0.ttl...$0.ttl + watch.seconds).contains(60) })
            #expect(stage.vendor.callCount() == 1)
        }

        @Test func `each client gets its own letter case back, and the cache knows only one name`() throws {
            let stage = try Stage()
            for name in ["www.example.com", "WWW.EXAMPLE.COM", "wWw.eXaMpLe.CoM"] {
                let query = TestMessage.query(name)
                let reply = try stage.daemon.client().ask(query)
                #expect(reply.questionBytes == Array(query.encoded[12...]))
                #expect(reply.answers.map(\.name) == [name, name])
            }
            #expect(stage.vendor.callCount("www.example.com") == 1)
        }

        @Test func `each client gets its own ID, RD and OPT back from the cache`() throws {
            let stage = try Stage()
            _ = try stage.ask("www.example.com")
            let client = try stage.daemon.client()
            for flags in [UInt16(0x0100), 0] {
                for edns in [nil, EDNS(size: 512), EDNS(size: 4_096)] {
                    let reply = try client.ask(.query("www.example.com", flags: flags, edns: edns))
                    #expect(reply.flags & 0x0100 == flags)
                    #expect((reply.edns == nil) == (edns == nil))
                    #expect(reply.addresses.count == 2)
                }
            }
            #expect(stage.vendor.callCount() == 1)
        }

        @Test func `negative answers are cached with their SOA, which counts down`() throws {
            let stage = try Stage(.doh, FakeZone(["void.example.com": .init(ttl: 40)], negativeTTL: 40))
            for (name, rcode) in [
                ("none.example.com", ResponseCode.nxDomain), ("void.example.com", ResponseCode.noError),
            ] {
                let first = try stage.ask(name)
                #expect(first.rcode == rcode)
                // The vendor's own SOA, of a zone that contains the name.
                #expect(first.soa.map { name.hasSuffix($0.name) } == true)
                #expect(first.soa?.soaMinimum == first.soa?.ttl)
                let later = try stage.daemon.client().ask(
                    name, until: { ($0.soa?.ttl ?? .max) < (first.soa?.ttl ?? 0) })
                #expect(later.rcode == rcode)
                #expect(stage.vendor.calls.count { $0.name == name && $0.types == "1" } == 1)
            }
        }

        @Test func `an expired answer is asked for again`() throws {
            let stage = try Stage(.aliyun, FakeZone("www.example.com", a: ["192.0.2.1"], ttl: 1))
            #expect(try stage.ask("www.example.com").addresses == ["192.0.2.1"])
            stage.vendor.zone = FakeZone("www.example.com", a: ["192.0.2.9"], ttl: 1)
            let reply = try stage.daemon.client().ask("www.example.com", until: { $0.addresses == ["192.0.2.9"] })
            #expect(reply.extendedErrors.isEmpty)
        }

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

        @Test func `a stale answer without EDNS has no OPT`() throws {
            let stage = try Stage(.aliyun, FakeZone("www.example.com", a: ["192.0.2.1"], ttl: 1))
            _ = try stage.ask("www.example.com")
            stage.vendor.misbehave(.status(500))
            stage.localDNS.behave(.rcode(ResponseCode.servFail))
            let client = try stage.daemon.client()
            _ = try client.ask("www.example.com", until: { $0.extendedErrors == [3] })
            let reply = try client.ask(.query("www.example.com"))
            #expect(reply.edns == nil)
            #expect(reply.answers.first?.ttl == 30)
        }

        @Test func `an explicit NXDOMAIN ends staleness`() throws {
            let stage = try Stage(.doh, FakeZone("www.example.com", a: ["192.0.2.1"], ttl: 1))
            _ = try stage.ask("www.example.com")
            stage.vendor.zone = FakeZone()
            let reply = try stage.daemon.client().ask("www.example.com", until: { $0.rcode == ResponseCode.nxDomain })
            #expect(reply.answers.isEmpty)
            stage.vendor.misbehave(.status(500))
            #expect(try stage.ask("www.example.com").addresses.isEmpty)
        }

        @Test func `an OPT record is not cached`() throws {
            let stage = try Stage(.doh)
            _ = try stage.daemon.client().ask("www.example.com", edns: EDNS(flags: 0x8000))
            let plain = try stage.daemon.client().ask(.query("www.example.com"))
            #expect(plain.edns == nil)
            #expect(plain.additionals.isEmpty)
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
