import DNSWire
import Scheduling
import TestSupport
import Testing

@testable import DNSResolver

/// How much of an answer is retained while it is checked after it was sent.
@Suite(.onLoop)
struct AnswerRepairTests {
    private typealias Machine = ResolverTests.Machine

    @Test func `no more of an answer is retained than can be verified`() throws {
        let name = try Name("www.example.com")
        let addresses = (0..<3_000).map { IPAddress.v4(0xcb00_7100 + UInt32($0 / 3)) }
        var answer = Answer(name: name, addresses: addresses, ttl: 60)
        let alias = Record(name: name, type: .cname, ttl: 60, rdata: name.wire)
        answer.answers = Array(repeating: alias, count: 100) + answer.answers
        answer.authorities = [.negativeSOA(for: name, ttl: 60)]
        answer.additionals = answer.answers
        let told = AnswerRepair.Told(answer, server: "")
        #expect(told.answer.addresses == (0..<8).map { IPAddress.v4(0xcb00_7100 + $0) })
        #expect(told.answer.answers.count == 8 + AnswerRepair.Told.aliasLimit)
        #expect(told.answer.authorities.isEmpty && told.answer.additionals.isEmpty)
    }

    @Test @Loop func `a check that goes on behind an answer retains nothing of its flight`() async throws {
        let machine = Machine(policy: RoutePolicy(mode: .localDNSFirst), rule: CertificateRule(.auto))
        machine.localDNS.behaviour = .addresses("203.0.113.9", "2001:db8::9", after: .milliseconds(10))
        machine.handshake.servers["203.0.113.9"] = .silent
        machine.start("www.example.com", .a, ResolverTests.Reply(clock: machine.clock))
        let key = machine.resolver.flightKey(try Name("www.example.com"), .a)
        weak let flight = machine.resolver.join(key)
        #expect(flight?.waiterCount == 1)
        await machine.clock.advance(by: .milliseconds(500))
        #expect(machine.handshake.underWay == 1)
        #expect(flight == nil)
    }
}
