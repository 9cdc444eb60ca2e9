import TestServers
import TestSupport
import Testing

@testable import IntegrationTests

extension Timing {
    /// The names that a client chooses, and the responses that their owner causes at the provider, delay other clients
    /// nothing.
    @Suite(.serialized)
    struct ChosenNamesTests {
        /// A client that asks for random names whose servers never respond, and another client that asks for names that
        /// are answered.
        struct Attack: Sendable, CustomStringConvertible {
            var providers = 1
            var check = "off"
            /// The number of domains that the attacker's names are in.
            var domains = 1

            /// Time between two of the attacker's names.
            var interval: Duration { providers == 1 ? .milliseconds(400) : .milliseconds(100) }
            /// The number of its look-ups that have ended before the other client asks. Four providers take longer to put in
            /// backoff.
            var lead: Int { providers == 1 ? 4 : 80 }
            /// Time between two of the other client's names, and their number. Between two no successful request is under
            /// way, as on an idle network.
            var pace: (interval: Duration, count: Int) {
                providers == 1 ? (.milliseconds(1_300), 5) : (.milliseconds(400), 8)
            }

            var description: String { "providers: \(providers), check \(check), domains: \(domains)" }
        }

        @Test func `names whose servers never answer take no provider from other clients`() {
            let attacks = [Attack(), Attack(check: "strict"), Attack(domains: 50), Attack(providers: 4)]
            let surprises = Scenes.play(attacks) { attack, watch in
                let services = try (0..<attack.providers).map { _ in try FakeDoH() }
                let stage = try DoHStage(services, check: attack.check)
                var surprises = try stage.ask(["www.warm.example"], by: watch).surprises
                for service in services { try service.behave(.delay(.milliseconds(1_500)), with: "slow") }
                let attacker = try Traffic(stage.daemon, from: "127.0.9.1", every: attack.interval, by: watch) {
                    "r\($0).slow.attacker\($0 % attack.domains).example"
                }
                guard attacker.wait(until: { $0.count { $0.reply != nil } >= attack.lead }) else {
                    return ["no attack"]
                }
                surprises += try Traffic(
                    stage.daemon, from: "127.0.8.1", every: attack.pace.interval, count: attack.pace.count, by: watch
                ) { "www.victim\($0).example" }.finish().surprises
                withExtendedLifetime(attacker) {}
                return surprises
            }
            #expect(surprises == [])
        }

        @Test func `one name that fails costs the others nothing, and the service one probe`() {
            let surprises = Scenes.play([FakeDoH.Behaviour.status(500), .garbage, .reset, .hang, .drip]) {
                behaviour, watch in
                let service = try FakeDoH()
                let stage = try DoHStage([service])
                try service.behave(behaviour, with: "struck")
                let others = try Traffic(
                    stage.daemon, from: "127.0.8.1", every: .milliseconds(50), count: 40, by: watch
                ) { $0 % 10 == 5 ? "www.struck.example" : "www.other\($0).example" }.finish()
                let connections = Set(
                    try service.requests.filter { $0.name.hasPrefix("www.other") }.map(\.connection))
                // The probe's connection replaces the first.
                return others.filter { $0.name != "www.struck.example" }.surprises
                    + (connections.count <= 2 ? [] : ["they were on \(connections.count) connections"])
                    + (try stage.backsOff() ? ["it is not used as usual"] : [])
            }
            #expect(surprises == [])
        }
    }
}
