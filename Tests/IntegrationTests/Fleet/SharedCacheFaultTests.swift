import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// Whatever becomes of the Redis, each query is answered rightly, and only the bill changes.
    @Suite(.serialized)
    struct SharedCacheFaultTests {
        /// Asks for names that no daemon has, and expects the vendor's addresses.
        private func expectAnswers(_ daemons: [Daemon], _ label: String) throws {
            for number in 0..<6 {
                for daemon in daemons {
                    let reply = try daemon.client().ask("\(label)\(number).many.example.com")
                    #expect(reply.addresses == ["192.0.2.2"])
                }
            }
        }

        @Test func `a Redis that is killed costs nothing but calls, and is used again when it is back`() throws {
            let stage = try FleetStage()
            var redis = try RedisServer()
            let daemons = try (0..<2).map { _ in try stage.daemon(redis.url) }
            try expectAnswers(daemons, "before")
            #expect(stage.vendor.callCount() == 6)
            try redis.kill()
            try expectAnswers(daemons, "meanwhile")
            #expect(daemons[0].waitForLog { $0.contains("is in backoff, and providers are asked instead") })
            redis = try RedisServer(port: redis.address.port)
            // A backoff ends by a probe, which a question begins.
            var number = 0
            let deadline = ContinuousClock.now + .patience
            while try redis.names.isEmpty, ContinuousClock.now < deadline {
                number += 1
                _ = try daemons[0].client().ask("probe\(number).many.example.com")
            }
            #expect(daemons[0].waitForLog { $0.contains("answers again") })
        }

        @Test func `a Redis that is paused costs a time-out, and no answer`() throws {
            let stage = try FleetStage()
            let redis = try RedisServer()
            let daemons = try (0..<2).map { _ in try stage.daemon(redis.url, lines: "") }
            try expectAnswers(daemons, "before")
            redis.signal(SIGSTOP)
            defer { redis.signal(SIGCONT) }
            try expectAnswers(daemons, "meanwhile")
            #expect(daemons[0].waitForLog { $0.contains("no reply within 50 ms") })
        }

        @Test func `a Redis that is flushed is filled again`() throws {
            let stage = try FleetStage()
            let redis = try RedisServer()
            let daemons = try (0..<2).map { _ in try stage.daemon(redis.url) }
            try expectAnswers(daemons, "before")
            try redis.run("FLUSHALL")
            try expectAnswers(daemons, "after")
            #expect(stage.vendor.callCount() == 12)
        }

        @Test(arguments: [
            (["CONFIG", "SET", "maxmemory", "1"], "OOM"),
            (["REPLICAOF", "127.0.0.1", "1"], "MASTERDOWN"),
            (["ACL", "SETUSER", "default", "-set"], "NOPERM"),
        ])
        func `a Redis that takes nothing is said to be so, and asked no more of than reading`(
            fault: [String], reason: String
        ) throws {
            let stage = try FleetStage()
            let redis = try RedisServer()
            let daemons = try (0..<2).map { _ in try stage.daemon(redis.url) }
            try expectAnswers(daemons, "before")
            try redis.run(words: fault)
            try expectAnswers(daemons, "meanwhile")
            #expect(daemons[0].waitForLog { $0.contains("takes no answers: ") }, "\(reason)")
        }

        @Test(arguments: ["redis://:wrong@", "redis://nobody:wrong@", "redis://"])
        func `a password that is refused is said to be so, and every query is answered`(account: String) throws {
            let stage = try FleetStage()
            let redis = try RedisServer(password: "right")
            let daemon = try stage.daemon("\(account)\(redis.address)")
            try expectAnswers([daemon], "any")
            #expect(daemon.waitForLog { $0.contains("it refuses AUTH: WRONGPASS") || $0.contains("NOAUTH") })
            #expect(
                daemon.errors.contains("Check user and password in cache.shared.url")
                    || daemon.errors.contains("Check cache.shared.url: it has no password"))
            #expect(!daemon.errors.contains("wrong@"))
        }

        @Test func `a node of a Redis Cluster is said to be one, and every query is answered`() throws {
            let stage = try FleetStage()
            let node = try RedisServer(options: ["--cluster-enabled", "yes", "--cluster-port", "\(FreePort.next())"])
            let daemon = try stage.daemon(node.url)
            try expectAnswers([daemon], "any")
            #expect(daemon.waitForLog { $0.contains("it leads to a node of a Redis Cluster, which is not followed") })
        }

        @Test func `a server that is no Redis is put in backoff`() throws {
            let stage = try FleetStage()
            let daemon = try stage.daemon("redis://\(stage.vendor.address)")
            try expectAnswers([daemon], "any")
            #expect(daemon.waitForLog { $0.contains("is in backoff") && $0.contains("Check cache.shared.url") })
        }

        @Test func `a Redis whose certificate is another's is put in backoff`() throws {
            let stage = try FleetStage()
            let other = try stage.certificates.leaf(names: ["other.example.net"])
            let redis = try RedisServer(tls: (other, stage.certificates.authority))
            let daemon = try stage.daemon(redis.url)
            try expectAnswers([daemon], "any")
            #expect(daemon.waitForLog { $0.contains("is in backoff") })
            #expect(try redis.run("DBSIZE") == "0")
        }
    }
}
