import DNSCache
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// Preset addresses, as a client receives them.
@Suite(.onLoop) struct PresetScenarioTests {
    private func presets(_ name: String, _ addresses: String...) -> Presets {
        var presets = Presets()
        presets.add((try? Name(name)) ?? .root, addresses: addresses.compactMap { IPAddress($0) })
        return presets
    }

    @Test @Loop func `A5: a preset name is answered in both families, and no upstream is asked`() async throws {
        let machine = Machine(local: LocalAnswers(presets: presets("www.example.com", "198.51.100.7")))
        #expect(await machine.ask().has("198.51.100.7"))
        let other = await machine.ask("www.example.com", .aaaa)
        #expect(other.isNoData)
        #expect(await machine.ask("www.example.com", .https).packed?.counts == .init(authority: 1))
        #expect(await machine.ask(signed: true).has("198.51.100.7"))
        #expect(machine.vendor.asked.isEmpty && machine.localDNS.asked.isEmpty)
    }

    @Test @Loop func `after the first question the UDP threads answer it, until the policy changes`() async throws {
        let machine = Machine(local: LocalAnswers(presets: presets("www.example.com", "198.51.100.7")))
        #expect(try machine.hit() == nil)
        _ = await machine.ask()
        #expect(try machine.hit()?.answers.compactMap(\.address) == [IPAddress("198.51.100.7")])
        machine.reload(local: LocalAnswers())
        #expect(try machine.hit() == nil)
        #expect(await machine.ask().has("192.0.2.1"))
    }

    @Test @Loop func `a preset is not served as stale when it is gone and nothing answers`() async {
        let machine = Machine(local: LocalAnswers(presets: presets("www.example.com", "198.51.100.7")))
        _ = await machine.ask()
        machine.failEverything()
        machine.reload(local: LocalAnswers())
        #expect(await machine.ask().failure == .serverFailure)
        await machine.clock.advance(by: .seconds(61))
        #expect(await machine.ask().failure == .serverFailure)
    }

    @Test @Loop func `mail of a preset name is asked for, and the name exists whatever is answered`() async throws {
        let machine = Machine(local: LocalAnswers(presets: presets("www.example.com", "198.51.100.7")))
        let nxdomain = UpstreamResult.answer(.negative(.nameError, name: try Name("example.com"), ttl: 5))
        machine.localDNS.behaviour = .reply(after: .zero, [.mx: nxdomain])
        let reply = await machine.ask("www.example.com", .mx)
        #expect(machine.localDNS.asked.map(\.types) == [[.mx]])
        #expect(reply.isNoData)
    }

    @Test @Loop func `the last resort answers when nothing else can, with the reason, and not before`() async {
        let machine = Machine(lastResort: presets("www.example.com", "198.51.100.7"))
        #expect(await machine.ask().has("192.0.2.1"))
        machine.failEverything()
        await machine.clock.advance(by: .seconds(70))
        // The provider's own answer is in its stale window.
        #expect(await machine.ask().isStale)
        await machine.clock.advance(by: .seconds(100 * 60 + 1))
        let reply = await machine.ask()
        #expect(reply.has("198.51.100.7") && !reply.isStale)
        #expect(reply.response?.extendedError?.code == .other)
        #expect(machine.resolver.lastResortAnswers == 1)
        #expect(await machine.ask("www.example.com", .aaaa).packed?.counts == .init(authority: 1))
    }
}
