import DNSCache
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// The switch, and policies that replace one another while questions are under way.
@Suite(.onLoop) struct PolicyTests {
    /// Puts the machine's policy in force with another vendor; `sources`: the tags of its sources.
    @Loop private func replaceVendor(of machine: Machine, by vendor: FakeUpstream, _ sources: SourceTags) {
        machine.reload(
            lines: SourceLines(
                providers: [FakeProvider("other", addresses: [vendor])], localDNS: machine.localDNS,
                clock: machine.clock),
            sources: sources)
    }

    @Test @Loop func `switching to what is already so changes nothing`() async {
        let machine = Machine()
        let before = machine.generation.current
        machine.resolver.turn(on: true)
        #expect(machine.generation.current == before)
    }

    @Test @Loop func `waiters are answered by LocalDNS at once when the switch goes off`() async {
        let machine = Machine()
        machine.vendor.behaviour = .addresses("192.0.2.1", after: .milliseconds(200))
        let waiting = machine.start()
        await machine.clock.advance(by: .milliseconds(50))
        machine.resolver.turn(on: false)
        await machine.clock.advance(by: .zero)
        #expect(waiting.has("203.0.113.9") && waiting.waited == .milliseconds(50))
        // The vendor's response to the earlier question is not used for later clients.
        await machine.clock.advance(by: .milliseconds(200))
        #expect(await machine.ask().has("203.0.113.9"))
        #expect(machine.events.isEmpty)
    }

    @Test @Loop func `B26: waiters are answered by the new policy when it is replaced, the old flight is lost`() async {
        let machine = Machine()
        machine.vendor.behaviour = .addresses("192.0.2.1", after: .milliseconds(300))
        let waiting = machine.start()
        await machine.clock.advance(by: .milliseconds(50))
        let other = FakeUpstream("other", .addresses("192.0.2.99"), clock: machine.clock)
        replaceVendor(of: machine, by: other, .init(localDNS: 11, forwards: [], providers: [0x8002]))
        await machine.clock.advance(by: .zero)
        #expect(waiting.has("192.0.2.99"))
        await machine.clock.advance(by: .milliseconds(300))
        #expect(await machine.ask().has("192.0.2.99"))
        #expect(other.asked.count == 1)
    }

    @Test @Loop func `a reload that changes no route and no source lets flights under way go on`() async {
        let machine = Machine()
        machine.vendor.behaviour = .addresses("192.0.2.1", after: .milliseconds(300))
        let waiting = machine.start()
        await machine.clock.advance(by: .milliseconds(50))
        machine.resolver.replace(with: machine.policy, freshness: FreshnessPolicy(), change: .nothing)
        await machine.clock.advance(by: .milliseconds(250))
        #expect(waiting.has("192.0.2.1") && machine.vendor.asked.count == 1)
    }

    /// Puts a policy with other names and the same sources in force.
    @Loop private func rename(
        _ machine: Machine, bypass: [String] = [], always: [String] = [], lastResort: [String] = []
    ) throws {
        func presets(_ names: [String]) throws -> Presets {
            var presets = Presets()
            for name in names { presets.add(try Name(name), isWildcard: false, addresses: [.v4(0xc633_6407)]) }
            return presets
        }
        machine.reload(
            local: LocalAnswers(presets: try presets(always)),
            routes: RoutePolicy(bypass: NameList(try bypass.map { try Name($0) })), lastResort: try presets(lastResort),
            change: .names)
    }

    @Test @Loop func `names of other lists and presets take no call from a name that they do not touch`() async throws {
        let machine = Machine()
        machine.vendor.behaviour = .addresses("192.0.2.1", "2001:db8::1", after: .milliseconds(500))
        let waiting = machine.start()
        // Each before the vendor has answered.
        for number in 0..<4 {
            await machine.clock.advance(by: .milliseconds(100))
            try rename(machine, bypass: ["b\(number).example.net"], always: ["a\(number).example.net"])
        }
        let later = machine.start()
        await machine.clock.advance(by: .milliseconds(100))
        #expect(waiting.has("192.0.2.1") && later.has("192.0.2.1"))
        // It is cached for the policy in force.
        #expect(try machine.hit() != nil)
        #expect(machine.vendor.asked.count == 1)
        #expect(machine.resolver.load.flights == 0)
    }

    @Test @Loop func `what goes on and fails is reported once`() async throws {
        let machine = Machine()
        machine.vendor.behaviour = .failure(.network("refused"), after: .milliseconds(200))
        machine.localDNS.behaviour = .failure(.network("unreachable"))
        var replies: [ClientReply] = []
        for _ in 0..<3 {
            replies.append(machine.start())
            await machine.clock.advance(by: .milliseconds(20))
            try rename(machine, bypass: ["example.net"])
        }
        await machine.clock.advance(by: .seconds(2))
        #expect(replies.allSatisfy { $0.response?.responseCode == .serverFailure })
        #expect(machine.events.count == 1)
    }

    @Test @Loop func `a name that another list or preset touches begins again at once`() async throws {
        let vendor = "192.0.2.1"
        for (bypass, always, lastResort, address) in [
            (["example.com"], [], [], "203.0.113.9"), ([], ["www.example.com"], [], "198.51.100.7"),
            ([], [], ["www.example.com"], vendor),
        ] as [([String], [String], [String], String)] {
            let machine = Machine()
            machine.vendor.behaviour = .addresses(vendor, after: .milliseconds(500))
            let waiting = machine.start()
            await machine.clock.advance(by: .milliseconds(400))
            try rename(machine, bypass: bypass, always: always, lastResort: lastResort)
            await machine.clock.advance(by: .zero)
            #expect(waiting.has(address) || address == vendor)
            await machine.clock.advance(by: .milliseconds(500))
            #expect(waiting.has(address))
        }
    }

    @Test @Loop func `after a reload the first question lets the UDP threads serve its answer again`() async throws {
        let machine = Machine()
        _ = await machine.ask()
        machine.reload()
        #expect(try machine.hit() == nil)
        #expect(await machine.ask().has("192.0.2.1"))
        #expect(try machine.hit() != nil)
        #expect(machine.vendor.asked.count == 1)
    }

    @Test @Loop func `answers of a provider that is gone are not used, not even stale`() async {
        let machine = Machine()
        #expect(await machine.ask().has("192.0.2.1"))
        let silent = FakeUpstream("other", .failure(.network("refused")), clock: machine.clock)
        machine.localDNS.behaviour = .failure(.network("unreachable"))
        replaceVendor(of: machine, by: silent, .init(localDNS: 1, forwards: [], providers: [0x8003]))
        #expect(await machine.ask().failure == .serverFailure)
    }

    @Test @Loop func `a reported address is dropped with its pair, and comes last from then on`() async {
        let machine = Machine()
        machine.vendor.behaviour = .addresses("192.0.2.1", "192.0.2.2", "2001:db8::1")
        #expect(await machine.ask().has("192.0.2.1"))
        _ = await machine.ask("www.example.com", .aaaa)
        #expect(machine.vendor.asked.count == 1)
        let address = IPAddress("192.0.2.1") ?? .v4(0)
        machine.badAddresses.report(address)
        #expect(await machine.remove(.holding(address)) == 2)
        let reply = await machine.ask()
        let question = Question(name: (try? Name("www.example.com")) ?? .root, type: .a)
        let addresses = reply.packed?.unpacked(for: question)?.addresses.map(\.description)
        #expect(addresses == ["192.0.2.2", "192.0.2.1"])
        #expect(machine.vendor.asked.count == 2)
    }

    @Test @Loop func `flush removes a name, a suffix, or everything`() async {
        let machine = Machine()
        func fill() async {
            for name in ["a.example.com", "b.example.com", "notexample.com"] { _ = await machine.ask(name) }
        }
        guard let one = try? Name("a.example.com"), let suffix = try? Name("example.com") else { return }
        await fill()
        #expect(await machine.remove(.name(one)) == 2)
        await fill()
        #expect(await machine.remove(.suffix(suffix)) == 4)
        #expect(await machine.remove(.all) == 2)
    }

    @Test(
        arguments: [
            ("www.example.com", .a, true), ("www.example.com", .ptr, true), ("8.8.8.8.in-addr.arpa", .ptr, true),
            // Of lists and presets, of the network and its search list, and of this server.
            ("NAS.lan", .a, false), ("none.lan", .a, false), ("a.bypass.example", .a, false),
            ("a.forward.example", .a, false), ("Preset.example.com", .a, false), ("a.wild.example.com", .aaaa, false),
            ("db.corp.example.com", .a, false), ("captive.apple.com", .a, false), ("single", .a, false),
            ("1.1.168.192.in-addr.arpa", .ptr, false), ("1.0.0.127.in-addr.arpa", .ptr, false), ("lan", .ds, true),
            ("localhost", .a, false), ("_dns.resolver.arpa", .svcb, false), ("192.0.2.1", .a, false),
        ] as [(String, RecordType, Bool)]) @Loop
    func `what may be asked from outside of the network is the Internet's, switched off as well`(
        text: String, type: RecordType, isPublic: Bool
    ) throws {
        var presets = Presets()
        presets.add(try Name("preset.example.com"), addresses: [.v4(0x0a00_0001)])
        presets.add(try Name("wild.example.com"), isWildcard: true, addresses: [.v4(0x0a00_0001)])
        let machine = Machine(
            policy: RoutePolicy(
                bypass: [try Name("bypass.example")], forward: [[try Name("forward.example")]],
                searchDomains: [try Name("corp.example.com")]), local: LocalAnswers(presets: presets))
        let question = Question(name: try Name(text), type: type)
        #expect(machine.resolver.isPublic(question) == isPublic)
        machine.resolver.turn(on: false)
        #expect(machine.resolver.isPublic(question) == isPublic)
    }

    @Test @Loop func `a question about this server is none about the Internet`() throws {
        let question = Question(name: try Name("why.www.example.com"), type: .txt, class: .chaos)
        #expect(!Machine().resolver.isPublic(question))
    }
}
