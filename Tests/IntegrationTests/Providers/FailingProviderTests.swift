import TestServers
import TestSupport
import Testing

extension Integration {
    /// A provider that fails, and what is used instead. How long that takes is held on the manual clock, and for the whole
    /// program in `TimingTests`.
    struct FailingProviderTests {
        private static let right = FakeZone("*", a: ["192.0.2.1"])
        private static let forged = FakeZone("*", a: ["198.51.100.66"])

        /// How it fails: for every request, whatever the name. Nil: it refuses connections.
        @Test(arguments: [HTTPFault.hang, .status(500), .drip(.milliseconds(100)), nil])
        func `a provider that fails every name is in backoff until it is back`(fault: HTTPFault?) throws {
            let stage = try ControlStage(Self.right, localDNS: Self.forged)
            let client = try stage.daemon.client()
            #expect(try client.ask("www.before.example").addresses == ["192.0.2.1"])
            if let fault { stage.vendor.misbehave(fault) } else { stage.vendor.stop() }
            // Each name is below a domain of its own.
            var number = 0
            func ask() throws -> [String] {
                number += 1
                return try client.ask("www.until\(number).example").addresses
            }
            #expect(
                try eventually {
                    _ = try ask()
                    return try isInBackoff(stage)
                })
            #expect(try client.ask("www.meanwhile.example").addresses == ["198.51.100.66"])
            stage.vendor.misbehave(nil)
            let again = try fault == nil ? FakeHTTPDNS(Self.right, port: stage.vendor.address.port) : stage.vendor
            #expect(try eventually { try ask() == ["192.0.2.1"] })
            withExtendedLifetime(again) {}
        }

        private func isInBackoff(_ stage: ControlStage) throws -> Bool {
            let provider = try (stage.json("status")["providers"] as? [[String: Any]])?.first
            let addresses = provider?["addresses"] as? [[String: Any]] ?? []
            return !addresses.isEmpty && !addresses.contains { $0["state"] as? String == "used" }
        }
    }
}
