import Glibc
import TestServers
import TestSupport
import Testing

@testable import IntegrationTests

extension Timing {
    /// How long a client waits for its response.
    struct AnswerTimeTests {
        @Test func `of 1,000 names while nothing responds each has its response within 2.5 s`() throws {
            let stage = try Stage()
            stage.vendor.misbehave(.hang)
            stage.localDNS.behave(.silent)
            let lookups = try BulkClient(stage.daemon.address, window: 80)
                .ask((0..<1_000).map { .init("n\($0).example.com") })
            #expect(lookups.allSatisfy { $0.reply?.rcode == ResponseCode.servFail && $0.time < Timing.promised })
        }

        @Test func `while HTTPDNS is silent LocalDNS's answer comes within 2.5 s`() throws {
            let stage = try Stage(localDNS: FakeZone("*", a: ["198.51.100.1"]))
            stage.vendor.misbehave(.hang)
            let (reply, time) = try Stopwatch.time { try stage.ask("www.example.com") }
            #expect(reply.addresses == ["198.51.100.1"] && time < Timing.promised)
        }

        @Test func `while nothing responds a stale answer comes within 2.5 s`() throws {
            let stage = try Stage(.aliyun, FakeZone("www.example.com", a: ["192.0.2.1"], ttl: 1))
            let client = try stage.daemon.client()
            _ = try client.ask("www.example.com")
            stage.vendor.misbehave(.hang)
            stage.localDNS.behave(.silent)
            var isStale = false
            while !isStale {
                let (reply, time) = try Stopwatch.time { try client.ask("www.example.com") }
                #expect(time < Timing.promised)
                isStale = reply.extendedErrors == [3]
            }
        }

        @Test func `a second address is asked long before the first one's time-out`() throws {
            let slow = try FakeHTTPDNS(Stage.zone)
            slow.misbehave(.hang)
            let fast = try FakeHTTPDNS(Stage.zone, host: "127.0.0.2", port: slow.address.port)
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(slow.url, #"addresses = ["127.0.0.1", "127.0.0.2"]"#)
                    + DaemonConfiguration.rest())
            let (reply, time) = try Stopwatch.time { try daemon.client().ask("www.example.com") }
            #expect(reply.addresses.count == 2 && time < .seconds(1.5))
            withExtendedLifetime(fast) {}
        }

        @Test(arguments: BlackHole.Kind.allCases)
        func `of 36 names none fails or is late while the first provider cannot be reached`(kind: BlackHole.Kind) throws
        {
            let hole = try BlackHole(kind, addresses: 10, network: kind == .silent ? 33 : 34)
            let vendor = try FakeHTTPDNS(FakeZone("*", a: ["192.0.2.1"]))
            let daemon = try Daemon(
                hole.table("dead") + DaemonConfiguration.aliyun(vendor.url) + DaemonConfiguration.rest())
            let lookups = try BulkClient(daemon.address, window: 6).ask((0..<36).map { .init("n\($0).example") })
            #expect(lookups.allSatisfy { $0.reply?.addresses == ["192.0.2.1"] && $0.time < Timing.promised })
        }

        @Test(.requires(.networkNamespaces))
        func `after a connection went dead the next question is answered within 1.5 seconds`() throws {
            let (near, far) = (try NetworkNamespace(), try NetworkNamespace())
            try NetworkNamespace.link(near, "10.9.0.1/24", far, "10.9.0.2/24")
            let certificates = try TestCertificates()
            let nginx = try Nginx(
                certificates.leaf(names: ["vendor.example"]), at: TestAddress("10.9.0.2", port: 443), namespace: far)
            let provider = DaemonConfiguration.aliyun(
                nginx.url,
                """
                ca_file = "\(certificates.authority)"
                addresses = ["10.9.0.2"]
                tls_names = ["vendor.example"]
                """)
            let daemon = try Daemon(provider + DaemonConfiguration.rest(), namespace: near)
            #expect(try Dig(daemon.address, "www.example.com", namespace: near).addresses == [Nginx.addresses[0]])
            #expect(nginx.waitForRequests(1))
            let port = try #require(nginx.requests.first?.clientPort)
            // All packets of the established connection are dropped; a new one would work.
            try far.drop("tcp sport \(port)")
            try near.drop("tcp sport \(port)")
            try near.drop("tcp dport \(port)")
            let (dig, time) = try Stopwatch.time { try Dig(daemon.address, "next.example.com", namespace: near) }
            #expect(dig.addresses == [Nginx.addresses[0]] && time < .seconds(1.5))
        }

        @Test func `while the Redis is paused each answer comes within 1.5 s`() throws {
            let stage = try FleetStage()
            let redis = try RedisServer()
            let daemon = try stage.daemon(redis.url, lines: "")
            #expect(try daemon.client().ask("before.many.example.com").addresses == ["192.0.2.2"])
            redis.signal(SIGSTOP)
            defer { redis.signal(SIGCONT) }
            for number in 0..<6 {
                let (reply, time) = try Stopwatch.time { try daemon.client().ask("n\(number).many.example.com") }
                #expect(reply.addresses == ["192.0.2.2"] && time < .seconds(1.5))
            }
        }

        @Test func `a daemon that dies while it has the turn costs another one less than 1.5 s`() throws {
            let stage = try FleetStage()
            let redis = try RedisServer()
            let (first, second) = (try stage.daemon(redis.url), try stage.daemon(redis.url))
            stage.vendor.misbehave(.hang)
            try first.client().send(.query("www.example.com", RecordType.a))
            #expect(stage.vendor.waitForCalls(1))
            first.signal(SIGKILL)
            stage.vendor.misbehave(nil)
            let (reply, time) = try Stopwatch.time { try second.client().ask("www.example.com") }
            // Were it to wait until the lease ends, it would be 2 s.
            #expect(reply.addresses == ["192.0.2.1"] && time < .seconds(1.5))
        }

        @Test func `a dnstap collector that has stopped delays no answer, and the stop by 5 s at most`() throws {
            let directory = try TemporaryDirectory()
            let socket = directory.path + "/tap.sock"
            let collector = try DnstapCollector("-u", socket, writing: directory.path + "/frames")
            let stage = try Stage(extra: "dnstap = \"unix:\(socket)\"\n")
            #expect(stage.daemon.waitForLog { $0.contains("\(socket) is connected") })
            collector.signal(SIGSTOP)
            let lookups = try BulkClient(stage.daemon.address).ask(
                Array(repeating: .init("four.example.com"), count: 30_000))
            #expect(lookups.allSatisfy { $0.reply?.addresses == ["192.0.2.4"] && $0.time < .seconds(1) })
            let (status, time) = try Stopwatch.time { try stage.daemon.stop() }
            #expect(status == 0 && time < .seconds(5))
        }

        @Test(.requires(.networkNamespaces), arguments: StubResolver.allCases)
        func `a stub resolver has what it looks up within 2.5 s`(stub: StubResolver) throws {
            let host = try ClientHost()
            let stage = try Stage(.doh, Integration.StubMatrixTests.zone, on: ["127.0.0.1", "::1"], inside: host)
            // The first time they are misses, then cached.
            for _ in 1...2 {
                let watch = Stopwatch()
                let rows = try stub.rows(Integration.StubMatrixTests.names, stub.ways[0], on: host)
                for row in rows { #expect(row.time < Timing.promised + watch.lost, "\(row.name)") }
            }
            withExtendedLifetime(stage) {}
        }
    }
}
