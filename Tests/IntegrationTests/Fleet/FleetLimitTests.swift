import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// Daemons that count their calls to a vendor together, in a Redis.
    struct FleetLimitTests {
        /// What LocalDNS answers, once no call may be made.
        private static let local = FakeZone(["*": .init(a: ["198.51.100.1"])])

        private let stage: FleetStage

        init() throws {
            stage = try FleetStage(localDNS: Self.local)
        }

        private func daemons(_ count: Int, _ url: String, _ limits: String) throws -> [Daemon] {
            try (0..<count).map { _ in
                try stage.daemon(
                    url, lines: "timeout = \"500ms\"\nlimits = true", provider: limits, encrypted: false,
                    control: DaemonConfiguration.ownSocket)
            }
        }

        /// Asks for so many names, each daemon in turn, and expects an answer from the vendor or LocalDNS to each.
        ///
        /// - Returns: the calls that the vendor had for it.
        private func ask(_ count: Int, _ daemons: [Daemon], _ label: String) throws -> Int {
            let before = stage.vendor.callCount()
            let clients = try daemons.map { try $0.client() }
            for number in 0..<count {
                let reply = try clients[number % clients.count].ask("\(label)\(number).many.example.com")
                #expect(reply.addresses == ["192.0.2.2"] || reply.addresses == ["198.51.100.1"])
            }
            return stage.vendor.callCount() - before
        }

        /// Asks for new names until the vendor has had so many calls for them: while a claim is under way LocalDNS answers,
        /// on a busy machine for many names.
        ///
        /// - Returns: false when it does not come to that.
        private func call(_ count: Int, _ daemons: [Daemon], _ label: String) throws -> Bool {
            let (before, deadline) = (stage.vendor.callCount(), ContinuousClock.now + .patience)
            var number = 0
            while stage.vendor.callCount() - before < count {
                guard ContinuousClock.now < deadline else { return false }
                _ = try ask(1, [daemons[number % daemons.count]], "\(label)\(number)-")
                number += 1
            }
            return true
        }

        /// Asks for new names until each of the daemons, says that no more calls may be made.
        ///
        /// - Returns: the calls that the vendor had meanwhile.
        private func exhaust(_ daemons: [Daemon], _ label: String) throws -> Int {
            let before = stage.vendor.callCount()
            var round = 0
            let isReached = try eventually {
                _ = try ask(60, daemons, "\(label)\(round)-")
                round += 1
                return try daemons.allSatisfy { try $0.status().contains("not asked until 00:00 UTC") }
            }
            guard isReached else { throw TestFailure("the limit is not reached") }
            return stage.vendor.callCount() - before
        }

        @Test func `three daemons together send no more than the limit and a batch each`() throws {
            let redis = try RedisServer()
            let daemons = try daemons(3, redis.url, "daily_limit = 60\nmonthly_limit = 1000")
            let calls = try exhaust(daemons, "n")
            #expect((57...63).contains(calls), "\(calls)")
            for daemon in daemons {
                #expect(
                    daemon.waitForLog { $0.contains("the fleet has reached its daily_limit of 60 calls: not asked") })
                #expect(!daemon.errors.contains("cannot be counted"))
                let status = try daemon.status()
                #expect(status.contains("the fleet of 3 servers: 60 of 60 calls today, "), "\(status)")
                #expect(status.contains("not asked until 00:00 UTC"), "\(status)")
            }
            #expect(
                daemons[0].waitForLog { $0.contains("the fleet has used four fifths of its daily_limit of 60 calls") })
            let names = try redis.run("KEYS", "*").split(separator: "\n")
            #expect(names.count == 2 && names.allSatisfy { !$0.contains("vendor") })
            #expect(try names.allSatisfy { try Int(redis.run("TTL", String($0))) ?? 0 > 3_600 })
        }

        @Test func `a Redis that is killed leaves each daemon its share, and is used again when back`() throws {
            var redis = try RedisServer()
            let daemons = try daemons(2, redis.url, "daily_limit = 200")
            #expect(try call(100, daemons, "before"))
            let before = stage.vendor.callCount()
            try redis.kill()
            // One has half of those that were left.
            let calls = try exhaust([daemons[0]], "meanwhile")
            #expect(abs(calls - (200 - before) / 2) <= 8, "\(calls)")
            #expect(
                daemons[0].waitForLog { $0.contains("this server's share of the daily_limit of 200 calls is reached") })
            #expect(
                daemons[0].errors.split(separator: "\n").count { $0.contains("the fleet's calls cannot be counted in") }
                    == 1)
            let status = try daemons[0].status()
            #expect(status.contains("the fleet's calls CANNOT BE COUNTED"), "\(status)")
            redis = try RedisServer(port: redis.address.port)
            for (number, daemon) in daemons.enumerated() {
                var asked = 0
                while !daemon.errors.contains("the fleet's calls are counted in the shared cache again") {
                    _ = try ask(1, [daemon], "back\(number)-\(asked)-")
                    asked += 1
                    guard asked < 5_000 else { break }
                }
            }
            // Nothing of the count was on disk: each has added its own.
            _ = try exhaust(daemons, "after")
            let all = stage.vendor.callCount()
            #expect((190...206).contains(all), "\(all)")
        }

        @Test func `a user that may not run scripts is said, and each daemon has its share`() throws {
            let redis = try RedisServer()
            try redis.run("ACL", "SETUSER", "default", "-eval")
            let daemons = try daemons(1, redis.url, "daily_limit = 200")
            #expect(try exhaust(daemons, "n") == 200)
            #expect(daemons[0].waitForLog { $0.contains("it refuses EVAL: NOPERM") })
        }
    }
}
