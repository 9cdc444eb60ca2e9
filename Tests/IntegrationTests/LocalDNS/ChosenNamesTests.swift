import TestServers
import TestSupport
import Testing

extension Integration {
    /// The names that a client chooses, and the responses that their owner causes at the provider, cost other clients
    /// nothing.
    @Suite(.serialized)
    struct ChosenNamesTests {
        /// A client that asks for random names whose requests all fail in the same way, and another client that asks
        /// for names whose requests succeed.
        struct Attack: Sendable, CustomStringConvertible {
            let behaviour: FakeDoH.Behaviour
            var providers = 1
            /// Time between two of the attacker's names.
            var interval: Duration = .milliseconds(150)
            /// The number of its look-ups that have ended, with or without an answer, before the other client asks.
            var lead = 8
            /// Time between two of the other client's names, and their number.
            var pace: (interval: Duration, count: Int) = (.milliseconds(400), 8)
            var check = "off"
            /// The number of domains that the attacker's names are in.
            var domains = 1

            /// An attack with names whose servers never respond.
            static func slow(
                providers: Int = 1, interval: Duration = .milliseconds(400), check: String = "off", domains: Int = 1
            ) -> Attack {
                // Between two names of the other client no successful request is under way, as on an idle network. Four
                // providers take longer to put in backoff.
                Attack(
                    behaviour: .delay(.milliseconds(1_500)), providers: providers, interval: interval,
                    lead: providers == 1 ? 4 : 80,
                    pace: providers == 1 ? (.milliseconds(1_300), 5) : (.milliseconds(400), 8), check: check,
                    domains: domains)
            }

            var description: String {
                "\(behaviour), providers: \(providers), check \(check), domains: \(domains)"
            }

            func name(_ number: Int) -> String { "r\(number).slow.attacker\(number % domains).example" }
        }

        /// - Parameter misbehave: makes requests for the attacker's names fail.
        private func victims(
            of attack: Attack, _ daemon: Daemon, by watch: Stopwatch, misbehave: () throws -> Void
        ) throws -> [String] {
            let warm = try daemon.client().ask("www.warm.example").addresses
            guard warm == [FakeDoH.address] else { return ["before the attack: \(warm)"] }
            try misbehave()
            let attacker = try Traffic(
                daemon, from: "127.0.9.1", every: attack.interval, by: watch, name: attack.name)
            guard attacker.wait(until: { $0.count { $0.reply != nil } >= attack.lead }) else { return ["no attack"] }
            return try withExtendedLifetime(attacker) {
                try Traffic(
                    daemon, from: "127.0.8.1", every: attack.pace.interval, count: attack.pace.count, by: watch
                ) { "www.victim\($0).example" }.finish().surprises
            }
        }

        private func play(_ attacks: [Attack]) -> [String] {
            Scenes.play(attacks) { attack, watch in
                let services = try (0..<attack.providers).map { _ in try FakeDoH() }
                let stage = try DoHStage(services, check: attack.check)
                return try victims(of: attack, stage.daemon, by: watch) {
                    for service in services { try service.behave(attack.behaviour, with: "slow") }
                }
            }
        }

        @Test func `names whose servers never answer take no provider from other clients`() {
            let surprises = play([
                .slow(), .slow(check: "strict"), .slow(domains: 50),
                .slow(providers: 4, interval: .milliseconds(100)),
            ])
            #expect(surprises == [])
        }

        @Test func `names for which the service replies something unusable take no provider from other clients`() {
            let surprises = play(
                [FakeDoH.Behaviour.opaqueRecord, .garbage, .status(500), .status(403), .status(429), .reset]
                    .map { Attack(behaviour: $0) })
            #expect(surprises == [])
        }

        @Test func `names for which the service breaks its connection take no provider from other clients`() {
            let attack = Attack(behaviour: .reset)
            let surprises = Scenes.play { watch in
                let vendor = try FakeHTTPDNS(FakeZone("*", a: [FakeDoH.address]))
                let localDNS = try FakeLocalDNS()
                localDNS.behave(.lie([DoHStage.forged]))
                let daemon = try Daemon(
                    DaemonConfiguration.doh(vendor.url) + DaemonConfiguration.rest(localDNS: localDNS.address))
                return try victims(of: attack, daemon, by: watch) {
                    for number in 0..<100 { vendor.misbehave(.closeBeforeReply, for: attack.name(number)) }
                }
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
