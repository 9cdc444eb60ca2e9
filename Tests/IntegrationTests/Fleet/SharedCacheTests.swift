import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// Answers that daemons share in a Redis.
    struct SharedCacheTests {
        enum Way: CaseIterable {
            case plain, password, tls, tlsWithPassword, unixSocket
        }

        @Test(arguments: Way.allCases)
        func `what one daemon was answered, another has without a call`(way: Way) throws {
            let stage = try FleetStage()
            let redis = try RedisServer(
                password: way == .password || way == .tlsWithPassword ? "s3cret" : "",
                tls: way == .tls || way == .tlsWithPassword ? stage.certificate() : nil)
            let url = way == .unixSocket ? "unix:\(redis.socket)" : redis.url
            let (first, second) = (try stage.daemon(url), try stage.daemon(url))
            #expect(try first.client().ask("www.example.com").addresses == ["192.0.2.1"])
            #expect(try redis.waitForAnswers(1))
            #expect(try second.client().ask("www.example.com").addresses == ["192.0.2.1"])
            #expect(try second.client().ask("www.example.com", RecordType.aaaa).addresses == ["2001:db8::1"])
            #expect(stage.vendor.callCount() == 1)
        }

        @Test func `a handshake that takes longer than a look-up may loses that look-up, and no other`() throws {
            let stage = try FleetStage()
            let redis = try RedisServer(tls: stage.certificate())
            let relay = try HTTPRelay(to: redis.address, delay: .seconds(1))
            let daemon = try stage.daemon("rediss://127.0.0.1:\(relay.port)")
            var number = 0
            let isShared = try eventually {
                number += 1
                #expect(try daemon.client().ask("n\(number).many.example.com").addresses == ["192.0.2.2"])
                return try !redis.names.isEmpty
            }
            #expect(isShared)
            #expect(relay.connections == 1)
            #expect(!daemon.errors.contains("is in backoff"), "\(daemon.errors)")
        }

        @Test func `ten daemons that are asked for one cold name at once make one call`() throws {
            let stage = try FleetStage()
            let redis = try RedisServer()
            let daemons = try (0..<10).map { _ in try stage.daemon(redis.url) }
            // With their connections, so that the one that asks has its answer before the others, which wait for 300 ms, give
            // up: on a busy machine ten handshakes at once take about as long.
            for (number, daemon) in daemons.enumerated() {
                _ = try daemon.client().ask("warm\(number).many.example.com")
            }
            stage.vendor.misbehave(.delay(.milliseconds(30)))
            let clients = try daemons.flatMap { daemon in
                try (0..<10).flatMap { _ in
                    try [RecordType.a, RecordType.aaaa].map { (try daemon.client(), $0) }
                }
            }
            for (client, type) in clients { try client.send(.query("www.example.com", type)) }
            for (client, type) in clients {
                let addresses = try client.receive().message.addresses
                #expect(addresses == [type == RecordType.a ? "192.0.2.1" : "2001:db8::1"])
            }
            #expect(stage.vendor.callCount("www.example.com") == 1)
        }

        // MARK: Others that can write to Redis

        @Test func `without a lease each daemon asks for itself`() throws {
            let stage = try FleetStage()
            let redis = try RedisServer()
            let lines = "timeout = \"500ms\"\nlease = false"
            let (first, second) = (try stage.daemon(redis.url, lines: lines), try stage.daemon(redis.url, lines: lines))
            stage.vendor.misbehave(.hang)
            try first.client().send(.query("www.example.com", RecordType.a))
            #expect(stage.vendor.waitForCalls(1))
            try second.client().send(.query("www.example.com", RecordType.a))
            #expect(stage.vendor.waitForCalls(2))
            #expect(try redis.run("DBSIZE") == "0")
        }

        // MARK: What operators do

        @Test func `the Redis of the page serves a fleet under a name, as a user that may do nothing else`() throws {
            let page = try String(
                contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
                    .appending(path: "../../../Documentation/Fleet.md"), encoding: .utf8)
            let start = try #require(page.firstRange(of: "<<'EOF'\n")).upperBound
            let end = try #require(page[start...].firstRange(of: "EOF\n")).lowerBound
            let name = "redis.example.com"
            let stage = try FleetStage(localDNS: FakeZone(name, a: ["127.0.0.1"]))
            let files = try TemporaryDirectory()
            let making = try #require(page.firstRange(of: "cd /etc/redis\n")).upperBound
            let made = try #require(page[making...].firstRange(of: "chgrp")).lowerBound
            try ChildProcess.succeed(["sh", "-c", "cd \(files.path) && \(page[making..<made]) true"])
            let redis = try RedisServer(
                configuration: String(page[start..<end]), password: "CHANGE-ME", folder: files.path)
            let url = "rediss://httpdnsd:CHANGE-ME@\(name):\(redis.address.port)/0"
            func daemon() throws -> Daemon { try stage.daemon(url, authority: files.path + "/ca.pem") }
            let (first, second) = (try daemon(), try daemon())
            // The first questions may come before the connection is made: their answers are not shared.
            var number = 0
            while true {
                number += 1
                let calls = stage.vendor.callCount()
                let name = "n\(number).many.example.com"
                for daemon in [first, second] { #expect(try daemon.client().ask(name).addresses == ["192.0.2.2"]) }
                if stage.vendor.callCount() == calls + 1 { break }
                guard number < 200 else { throw TestFailure("nothing is shared: \(first.errors)") }
            }
            #expect(!first.errors.contains("takes no answers"))
            #expect(!first.errors.contains("is in backoff"))
        }

        @Test func `status says what was shared, and a name that is flushed on one daemon is flushed for all`() throws {
            let stage = try FleetStage()
            let redis = try RedisServer()
            let first = try stage.daemon(redis.url, control: DaemonConfiguration.ownSocket)
            _ = try first.client().ask("www.example.com")
            #expect(try redis.waitForAnswers(1))
            let status = try first.status()
            #expect(status.contains("\(redis.address), used: 0 hits, 1 miss"), "\(status)")
            let flushed = try first.run("cache", "flush", "www.example.com")
            #expect(flushed.status == 0, "\(flushed.errors)")
            #expect(try redis.waitForAnswers(0))
        }
    }
}
