import DNSCache
import DNSResolver
import DNSWire
import TestSupport
import TestUpstreams
import Testing

/// Type ANY and class ANY, from a question to its answer.
@Suite(.onLoop) struct AnyTests {
    private struct Missing: Error {}

    /// The answer to a client's question for ANY.
    @Loop private func ask(_ machine: Machine, _ name: String = "www.example.com") async throws -> Answer {
        let question = Question(name: try Name(name), type: .any)
        guard let answer = await machine.ask(name, .any).packed?.unpacked(for: question) else { throw Missing() }
        return answer
    }

    @Test @Loop func `ANY gets the addresses of both families, for one question to the provider`() async throws {
        let machine = Machine()
        #expect(try await ask(machine).answers.map(\.type) == [.a, .aaaa])
        #expect(machine.vendor.asked.map(\.types) == [[.a, .aaaa]])
    }

    @Test @Loop func `ANY is answered from the cache, with what is left of the TTLs`() async throws {
        let machine = Machine()
        _ = await machine.ask()
        await machine.clock.advance(by: .seconds(20))
        #expect(try await ask(machine).answers.map(\.ttl) == [40, 40])
        #expect(machine.vendor.asked.count == 1)
    }

    @Test @Loop func `a record that both families share is given once`() async throws {
        let machine = Machine()
        let (name, target) = (try Name("www.example.com"), try Name("cdn.example.net"))
        let alias = Record(name: name, type: .cname, ttl: 60, rdata: target.wire)
        func answer(_ address: IPAddress) -> UpstreamResult {
            .answer(Answer(answers: [alias, Record(name: target, address: address, ttl: 60)]))
        }
        machine.vendor.behaviour = .reply(after: .zero, [.a: answer(.v4(1)), .aaaa: answer(.v6(1))])
        #expect(try await ask(machine).answers.map(\.type) == [.cname, .a, .aaaa])
    }

    @Test @Loop func `a name without addresses has an HINFO record, one that does not exist is denied`() async throws {
        let machine = Machine()
        machine.vendor.behaviour = .addresses(ttl: 30)
        let answer = try await ask(machine)
        #expect(answer.answers.map(\.rdata) == [[7] + Array("RFC8482".utf8) + [0]])
        #expect(answer.responseCode == .noError && answer.answers.map(\.ttl) == [30])
        machine.vendor.behaviour = .denial(ttl: 30)
        let denied = try await ask(machine, "none.example.com")
        #expect(denied.responseCode == .nameError && denied.answers.isEmpty && denied.authorities.count == 1)
    }

    @Test @Loop func `ANY fails when both families do, and not for one of them`() async throws {
        let machine = Machine()
        machine.failEverything()
        #expect(await machine.ask("www.example.com", .any).failure == .serverFailure)
        let half = Machine()
        half.failEverything()
        half.vendor.behaviour = .reply(
            after: .zero,
            [.a: .failure(.network("refused")), .aaaa: .answer(Answer(name: .root, addresses: [.v6(7)], ttl: 60))])
        #expect(try await ask(half).answers.map(\.type) == [.aaaa])
    }

    @Test @Loop func `what is answered here answers ANY too`() async throws {
        let machine = Machine()
        #expect(try await ask(machine, "localhost").answers.map(\.type) == [.a, .aaaa])
        #expect(try await ask(machine, "printer.local").responseCode == .nameError)
        #expect(machine.vendor.asked.isEmpty && machine.localDNS.asked.isEmpty)
    }

    @Test(arguments: [RecordType.a, .any]) @Loop
    func `class ANY is answered as class IN, from the same cache`(type: RecordType) async throws {
        let machine = Machine()
        _ = await machine.ask()
        let reply = machine.start("www.example.com", type, class: .any)
        await machine.clock.advance(by: .zero)
        #expect(reply.packed?.holds(.a) == true && machine.vendor.asked.count == 1)
    }
}
