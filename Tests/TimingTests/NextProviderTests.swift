import TestServers
import TestSupport
import Testing

@testable import IntegrationTests

extension Timing {
    /// A first provider that cannot be reached, and a second one that works.
    @Suite(.serialized)
    struct NextProviderTests {
        /// The kind of failure, and the pace at which names are asked for during it.
        struct Case: Sendable, CustomStringConvertible {
            enum Pace: Sendable {
                case atOnce, each100Milliseconds, oneByOne
            }

            /// The third byte of the dead addresses.
            let network: Int
            let hole: BlackHole.Kind
            let addresses: Int
            let isHijacked: Bool
            var isListed = true
            let pace: Pace
            let names: Int

            var description: String {
                "\(hole), addresses: \(addresses), LocalDNS \(isHijacked ? "hijacked" : "silent"), "
                    + "\(isListed ? "listed" : "not listed"), \(pace)"
            }
        }

        private func play(_ cases: [Case]) -> [String] {
            Scenes.play(cases) { one, watch in
                let hole = try BlackHole(one.hole, addresses: one.addresses, network: one.network)
                let stage = try DoHStage(
                    [try FakeDoH()], after: hole.table("dead"),
                    localDNS: one.isHijacked ? .lie([DoHStage.forged]) : .silent, check: one.isListed ? "auto" : "off",
                    route: one.isListed ? DaemonConfiguration.route(protect: ["listed.example"]) : "")
                let name = { @Sendable (number: Int) in "n\(number).listed.example" }
                let lookups =
                    switch one.pace {
                    case .oneByOne: try stage.ask((0..<one.names).map(name), by: watch)
                    case .atOnce, .each100Milliseconds:
                        try Traffic(
                            stage.daemon, from: "127.0.8.1",
                            every: one.pace == .atOnce ? .zero : .milliseconds(100), count: one.names, by: watch,
                            name: name
                        ).finish()
                    }
                return lookups.surprises
            }
        }

        @Test
        func
            `of 36 cold names none fails or is late while the first provider cannot be reached and the second is well`()
        {
            let surprises = play([
                Case(
                    network: 31, hole: .silent, addresses: 1, isHijacked: true, pace: .each100Milliseconds,
                    names: 36),
                Case(
                    network: 32, hole: .silent, addresses: 10, isHijacked: false, pace: .each100Milliseconds,
                    names: 36),
                Case(
                    network: 33, hole: .dropping, addresses: 10, isHijacked: true, pace: .each100Milliseconds,
                    names: 36),
                Case(
                    network: 34, hole: .dropping, addresses: 10, isHijacked: true, isListed: false, pace: .oneByOne,
                    names: 8),
            ])
            #expect(surprises == [])
        }

        @Test
        func
            `of 20 names at once none fails or is late while the first provider cannot be reached and the second is well`()
        {
            let surprises = play(
                BlackHole.Kind.allCases.enumerated().map { place, hole in
                    Case(
                        network: 35 + place, hole: hole, addresses: 2, isHijacked: place == 0, pace: .atOnce, names: 20)
                })
            #expect(surprises == [])
        }
    }
}
