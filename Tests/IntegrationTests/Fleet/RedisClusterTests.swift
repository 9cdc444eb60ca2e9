import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// Answers that daemons share in a Redis Cluster, of which they know one node.
    @Suite(.serialized)
    struct RedisClusterTests {
        /// So many that each node has some.
        private static let names = (0..<48).map { "n\($0).many.example.com" }

        private func ask(_ daemon: Daemon, _ names: [String] = Self.names) throws {
            for name in names { #expect(try daemon.client().ask(name).addresses == ["192.0.2.2"]) }
        }

        @Test(arguments: [false, true]) func `answers are on all nodes, and each is found`(secured: Bool) throws {
            let stage = try FleetStage()
            let cluster = try RedisCluster(password: secured ? "s3cret" : "", tls: secured ? stage.certificate() : nil)
            let (first, second) = (
                try stage.daemon(cluster.nodes[0].url), try stage.daemon(cluster.nodes[1].url)
            )
            try ask(first)
            #expect(try cluster.waitForAnswers(Self.names.count))
            #expect(Set(try cluster.places.map(\.node)) == [0, 1, 2])
            try ask(second)
            #expect(stage.vendor.callCount() == Self.names.count)
            #expect(!first.errors.contains("takes no answers"))
        }

        @Test func `a slot is followed while it moves, and after it has moved`() throws {
            let stage = try FleetStage()
            let cluster = try RedisCluster()
            let daemons = try (0..<3).map { _ in try stage.daemon(cluster.nodes[0].url) }
            try ask(daemons[0], ["n1.many.example.com"])
            #expect(try cluster.waitForAnswers(1))
            let (name, source) = try #require(try cluster.places.first)
            let target = (source + 1) % 3
            try cluster.beginMove(name, from: source, to: target)
            try ask(daemons[1], ["n1.many.example.com"])
            #expect(try cluster.errors("ASK") > 0)
            try cluster.endMove(name, to: target)
            try ask(daemons[2], ["n1.many.example.com"])
            #expect(try cluster.errors("MOVED") > 0)
            #expect(stage.vendor.callCount() == 1)
        }

        @Test func `a node that is killed costs the calls for its names alone`() throws {
            let stage = try FleetStage()
            let cluster = try RedisCluster()
            let (first, second) = (
                try stage.daemon(cluster.nodes[0].url), try stage.daemon(cluster.nodes[0].url)
            )
            try ask(first)
            #expect(try cluster.waitForAnswers(Self.names.count))
            let lost = try cluster.nodes[2].names.count
            try cluster.nodes[2].kill()
            try ask(second)
            #expect(stage.vendor.callCount() == Self.names.count + lost)
            #expect(second.waitForLog { $0.contains("\(cluster.nodes[2].address) is in backoff") })
        }
    }
}
