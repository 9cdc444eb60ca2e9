import DNSCache
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// Worlds in which a client could get a wrong address, from a question to its answer.
@Suite(.onLoop) struct WrongAddressTests {
    private static let given = "203.0.113.9"

    /// A machine that no provider answers.
    @Loop private func cutOff(listed: Bool = false) throws -> Machine {
        let machine = Machine(
            policy: listed ? RoutePolicy(protect: [try Name("example.com"), try Name("example.net")]) : RoutePolicy(),
            check: .auto)
        machine.vendor.behaviour = .failure(.network("refused"))
        machine.localDNS.behaviour = .addresses(Self.given, ttl: 600)
        return machine
    }

    @Test @Loop func `A8: a certificate shown for every name is no evidence, its address given to none`() async throws {
        let machine = try cutOff()
        let evidence = CertificateEvidence(reason: "the certificate is for another name", fingerprint: "aa")
        machine.handshake.servers[Self.given] = .init(.wrongCertificate(evidence))
        for name in ["www.example.com", "www.example.net", "www.example.org", "www.example.edu"] {
            #expect(await machine.ask(name).failure == .serverFailure)
            #expect(try machine.hit(name) == nil)
        }
        #expect(machine.checks.journal.entries.isEmpty && machine.checks.journal.total == 4)
    }

    @Test @Loop func `A9: a check for which a flood left no room is made for the next client of the name`() async throws
    {
        let machine = try cutOff(listed: true)
        machine.handshake.servers[Self.given] = .init(.verified, after: .milliseconds(1_400))
        let names = (1..<2_000).map { "n\($0).example.net" } + ["www.example.com"]
        let replies = names.map { machine.start($0, from: .v4(0xc000_0242)) }
        await machine.clock.advance(by: .seconds(20))
        #expect(replies.last?.failure == .serverFailure)
        machine.handshake.servers[Self.given] = .honest
        #expect(await machine.ask("www.example.com", from: .v4(0xc000_0307)).has(Self.given))
    }

    @Test @Loop func `A9: a forged address that a flood left unchecked is given to none after it`() async throws {
        let machine = try cutOff()
        machine.handshake.servers[Self.given] = .init(
            FakeHandshake.Server.hijacker.outcome, after: .milliseconds(1_400))
        let names = (1..<2_000).map { "n\($0).example.net" } + ["www.example.com"]
        for name in names { machine.start(name, .a, from: .v4(0xc000_0242)) }
        await machine.clock.advance(by: .seconds(20))
        #expect(await machine.ask("www.example.com", from: .v4(0xc000_0307)).failure == .serverFailure)
    }

    @Test(arguments: [UpstreamFailure.authentication("HTTP 403"), .unusable("HTTP 403"), .responseCode(.refused)]) @Loop
    func `A12: names that an account may not ask for take the provider from no other client`(
        refusal: UpstreamFailure
    ) async {
        let machine = Machine()
        machine.vendor.probeBehaviour = .addresses("192.0.2.1")
        for round in 0..<10 {
            machine.vendor.behaviour = .failure(refusal)
            machine.start("n\(round).other.example", .a)
            await machine.clock.advance(by: .milliseconds(10))
            machine.vendor.behaviour = .addresses("192.0.2.1")
            #expect(await machine.ask("n\(round).example.com").has("192.0.2.1"))
        }
        #expect(!machine.provider.access.isActive)
    }

    @Test(arguments: [true, false]) @Loop
    func `A17: a type of a listed name is LocalDNS's only where no provider answers that type`(anyType: Bool)
        async throws
    {
        let machine = Machine()
        let text = Record(name: try Name("www.example.com"), type: .txt, ttl: 60, rdata: [1, 65])
        machine.vendor.behaviour = .reply(after: .zero, [.txt: .failure(.network("refused"))])
        machine.localDNS.behaviour = .reply(after: .zero, [.txt: .answer(Answer(answers: [text]))])
        let provider = FakeProvider("vendor", addresses: [machine.vendor], anyType: anyType)
        let lines = SourceLines(
            mode: .httpdnsFirst, providers: [provider], probes: Probes(clock: machine.clock, report: { _ in }),
            localDNS: machine.localDNS, forwarders: [], checks: machine.checks)
        let lookup = Lookup()
        lookup.begin(lines, providers: 1, [.txt], route: .protect(explicit: true), clock: machine.clock)
        await machine.clock.advance(by: .seconds(3))
        #expect(lookup.isOver && lookup.sources[.txt] == (anyType ? nil : .localDNS))
        #expect(machine.vendor.asked.count == (anyType ? 1 : 0))
    }
}
