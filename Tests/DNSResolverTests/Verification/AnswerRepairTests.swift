import DNSWire
import TestUpstreams
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
        let subject = AnswerRepair.Subject(answer, server: "")
        #expect(subject.answer.addresses == (0..<8).map { IPAddress.v4(0xcb00_7100 + $0) })
        #expect(subject.answer.answers.count == 8 + AnswerRepair.Subject.aliasLimit)
        #expect(subject.answer.authorities.isEmpty && subject.answer.additionals.isEmpty)
    }

    @Test @Loop func `a check that goes on behind an answer retains nothing of its flight`() async throws {
        let machine = Machine(policy: RoutePolicy(mode: .localDNSFirst), rule: CertificateRule(.auto))
        machine.localDNS.behaviour = .addresses("203.0.113.9", "2001:db8::9", after: .milliseconds(10))
        machine.handshake.servers["203.0.113.9"] = .silent
        machine.start("www.example.com", .a, ResolverTests.Reply(clock: machine.clock))
        let key = machine.resolver.flightKey(try Name("www.example.com"), .a)
        weak let flight = machine.resolver.join(key, .a)
        #expect(flight?.waiterCount == 1)
        await machine.clock.advance(by: .milliseconds(500))
        #expect(machine.handshake.underWay == 1)
        #expect(flight == nil)
    }

    /// Checks that have no verdict until their deadline.
    @Loop
    private final class HangingCheck: AddressCheck {
        private let clock: ManualClock
        /// The names that were checked.
        private(set) var names: [Name] = []

        init(clock: ManualClock) { self.clock = clock }

        func verdict(
            on address: IPAddress, for name: Name, from server: String, holder: ClientNetwork, until deadline: Instant
        ) async -> AddressVerdict {
            names.append(name)
            _ = await clock.sleep(until: deadline)
            return .unchecked
        }

        func goOn(_ address: IPAddress, for name: Name) {}
        func known(_ address: IPAddress, for name: Name) -> AddressVerdict? { nil }
        func hasVerified(_ name: Name) -> Bool { false }
        func watch(_ address: IPAddress, for name: Name, found: @escaping @Loop () -> Void) {}
        func evidence(of name: Name) -> [HijackedAddress] { [] }
    }

    @Test @Loop func `a client whose answers fill the queue leaves no other's unchecked`() async throws {
        let machine = Machine(policy: RoutePolicy(mode: .localDNSFirst), rule: CertificateRule(.auto))
        let hanging = HangingCheck(clock: machine.clock)
        let check = AnswerCheck(rule: CertificateRule(.auto), check: hanging, clock: machine.clock)
        func begin(_ name: String, from client: String) throws {
            let name = try Name(name)
            let route = machine.policy.routes.route(for: name)
            let key = FlightKey(
                name: name, type: .a, route: route, dnssecOK: false, checkingDisabled: false,
                holder: ClientNetwork(try #require(IPAddress(client))))
            let answer = Answer(name: name, addresses: [.v4(0xcb00_7109)], ttl: 60)
            machine.resolver.flights.repair.begin(key, .a, .init(answer, server: ""), by: check) {}
        }
        for number in 0..<3_000 { try begin("n\(number).example", from: "192.0.2.66") }
        try begin("other.example", from: "192.0.2.1")
        // The first free place is the other client's.
        await machine.clock.advance(by: AddressChecks.longest)
        #expect(hanging.names.contains(try Name("other.example")))
        #expect(hanging.names.count == 32)
    }
}
