import TestServers
import TestSupport
import Testing

extension Integration {
    /// A provider that fails, and what is used instead. How long that takes is held on the manual clock, and for the whole
    /// program in `TimingTests`.
    @Suite(.serialized)
    struct FailingProviderTests {
        /// How it fails: for every request, whatever the name.
        enum Death: String, CaseIterable, Sendable {
            case hangs, errors, refuses
            /// It sends PINGs, and answers nothing.
            case pings
            /// Replies begin, and never end.
            case drips

            func begin(at service: FakeDoH) throws {
                switch self {
                case .hangs: try service.behave(.hang)
                case .errors: try service.behave(.status(500))
                case .refuses: try service.close()
                case .pings: try service.behave(.pings)
                case .drips: try service.behave(.drip)
                }
            }

            func end(at service: FakeDoH) throws {
                try service.behave(.answer)
                if self == .refuses { try service.open() }
            }
        }

        /// Asks for one new name after the other, each below a domain of its own, until the response to one is such.
        private func ask(_ client: TestDNSClient, until holds: (TestMessage) throws -> Bool) throws {
            var number = 0
            let isSo = try eventually {
                number += 1
                return try holds(client.ask("www.until\(number).example"))
            }
            #expect(isSo)
        }

        @Test(arguments: Death.allCases)
        func `a provider that fails every name is in backoff, and is used again once it is back`(death: Death) throws {
            let service = try FakeDoH()
            let stage = try DoHStage([service])
            let client = try stage.daemon.client()
            #expect(try client.ask("www.before.example").addresses == [FakeDoH.address])
            try death.begin(at: service)
            try ask(client) { _ in try stage.backsOff() }
            #expect(try client.ask("www.meanwhile.example").addresses == [DoHStage.forged])
            try death.end(at: service)
            try ask(client) { $0.addresses == [FakeDoH.address] }
        }

        @Test(arguments: BlackHole.Kind.allCases)
        func `while the first provider cannot be reached the second answers`(kind: BlackHole.Kind) throws {
            let hole = try BlackHole(kind, addresses: 2, network: kind == .silent ? 31 : 32)
            let stage = try DoHStage([try FakeDoH()], after: hole.table("dead"), localDNS: .silent)
            let client = try stage.daemon.client()
            for number in 0..<3 { #expect(try client.ask("n\(number).example").addresses == [FakeDoH.address]) }
        }

        @Test(arguments: [FakeDoH.Behaviour.status(429), .hang])
        func `a connection on which nothing succeeds any more is replaced`(behaviour: FakeDoH.Behaviour) throws {
            let service = try FakeDoH()
            let stage = try DoHStage([service], localDNS: .silent)
            let client = try stage.daemon.client()
            #expect(try client.ask("www.before.example").addresses == [FakeDoH.address])
            let connections = try service.connections
            try service.behave(behaviour, .existing)
            try ask(client) { $0.addresses == [FakeDoH.address] }
            #expect(try service.connections > connections)
        }

        @Test(arguments: [FakeDoH.Behaviour.status(403), .opaqueRecord])
        func `names whose requests fail take no provider from other clients`(behaviour: FakeDoH.Behaviour) throws {
            let service = try FakeDoH()
            let stage = try DoHStage([service], localDNS: .rcode(ResponseCode.servFail))
            try service.behave(behaviour, with: "struck")
            let (attacker, client) = (try stage.daemon.client(from: "127.0.9.1"), try stage.daemon.client())
            for number in 0..<20 {
                #expect(try attacker.ask("n\(number).struck.example").addresses == [])
                #expect(try client.ask("www.other\(number).example").addresses == [FakeDoH.address])
            }
            #expect(try !stage.backsOff())
        }
    }
}
