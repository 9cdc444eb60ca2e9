import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// Whatever becomes of the Redis, each query is answered rightly, and only the bill changes.
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
            _ = try eventually {
                number += 1
                _ = try daemons[0].client().ask("probe\(number).many.example.com")
                return try !redis.names.isEmpty
            }
            #expect(daemons[0].waitForLog { $0.contains("answers again") })
        }

        @Test func `a Redis that takes nothing, for whatever reason, is said so, and asked to read alone`() throws {
            let stage = try FleetStage()
            for (number, fault) in [
                ["CONFIG", "SET", "maxmemory", "1"], ["REPLICAOF", "127.0.0.1", "1"],
                ["ACL", "SETUSER", "default", "-set"],
            ].enumerated() {
                let redis = try RedisServer()
                let daemon = try stage.daemon(redis.url)
                try expectAnswers([daemon], "before\(number)-")
                try redis.run(words: fault)
                try expectAnswers([daemon], "meanwhile\(number)-")
                #expect(daemon.waitForLog { $0.contains("takes no answers: ") }, "\(fault)")
            }
        }

        @Test func `a server that is not the right Redis is in backoff with its reason, and all is answered`() throws {
            let stage = try FleetStage()
            let closed = try RedisServer(password: "right")
            let node = try RedisServer(options: ["--cluster-enabled", "yes", "--cluster-port", "\(FreePort.next())"])
            let others = try RedisServer(
                tls: (stage.certificates.leaf(names: ["other.example.net"]), stage.certificates.authority))
            for (number, (url, reasons)) in [
                (
                    "redis://nobody:wrong@\(closed.address)",
                    ["it refuses AUTH: WRONGPASS", "Check user and password in"]
                ),
                ("redis://\(closed.address)", ["NOAUTH", "Check cache.shared.url: it has no password"]),
                (node.url, ["it leads to a node of a Redis Cluster, which is not followed"]),
                ("redis://\(stage.vendor.address)", ["is in backoff", "Check cache.shared.url"]),
                (others.url, ["is in backoff"]),
            ].enumerated() {
                let daemon = try stage.daemon(url)
                try expectAnswers([daemon], "any\(number)-")
                #expect(
                    daemon.waitForLog { log in reasons.allSatisfy { log.contains($0) } }, "\(url): \(daemon.errors)")
                #expect(!daemon.errors.contains("wrong@"))
            }
            #expect(try others.run("DBSIZE") == "0")
        }
    }
}
