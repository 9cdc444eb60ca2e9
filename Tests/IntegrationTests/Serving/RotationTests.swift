import TestServers
import Testing

extension Integration {
    /// The order of a name's addresses, as `dig` sees it.
    @Suite(.serialized)
    struct RotationTests {
        private static let presets = """
            [preset]
            always = { "preset.example.com" = ["198.51.100.9", "198.51.100.8", "198.51.100.7"] }

            """

        /// The orders in which a name's addresses come, in some replies; random IDs give one order alone in them once in 2^39
        /// times, if there are two.
        private func orders(_ stage: ControlStage, _ name: String, upTo count: Int) throws -> Set<[String]> {
            var orders: Set<[String]> = []
            for _ in 0..<40 where orders.count < count {
                orders.insert(try Dig(stage.daemon.addresses[0], name).addressesInOrder)
            }
            return orders
        }

        @Test func `addresses of a provider come in turn, those of a preset as they are written`() throws {
            let stage = try ControlStage(extra: Self.presets)
            let turns: Set = [["192.0.2.1", "192.0.2.2"], ["192.0.2.2", "192.0.2.1"]]
            #expect(try orders(stage, "www.example.com", upTo: 2) == turns)
            let written: Set = [["198.51.100.9", "198.51.100.8", "198.51.100.7"]]
            #expect(try orders(stage, "preset.example.com", upTo: 2) == written)
            #expect(stage.vendor.callCount("www.example.com") == 1)

            try stage.rewrite(extra: Self.presets + "[answers]\nrotate = false\n")
            #expect(try stage.run("reload").status == 0)
            // What is cached stays, in the order in which it came.
            #expect(try orders(stage, "www.example.com", upTo: 2) == [["192.0.2.1", "192.0.2.2"]])
            #expect(stage.vendor.callCount("www.example.com") == 1)

            try stage.rewrite(extra: Self.presets)
            #expect(try stage.run("reload").status == 0)
            #expect(try orders(stage, "www.example.com", upTo: 2) == turns)
        }
    }
}
