import DNSCache
import DNSWire
import Scheduling
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// Many names at once, or distant servers: which answers of LocalDNS clients get when HTTPDNS fails and handshakes are
/// slow.
@Suite(.onLoop) struct CertificateBurstTests {
    private static let addresses = ["203.0.113.9", "2001:db8::66"]

    /// HTTPDNS fails at once, and LocalDNS returns the same two addresses for every name.
    @Loop private func machine(listed: Bool, _ server: FakeHandshake.Server) throws -> Machine {
        let protect = listed ? [try Name("example.com")] : []
        let machine = Machine(
            policy: RoutePolicy(mode: .httpdnsFirst, protect: NameList(protect)), check: .auto)
        machine.vendor.behaviour = .failure(.network("refused"))
        machine.localDNS.behaviour = .addresses(Self.addresses[0], Self.addresses[1])
        for address in Self.addresses { machine.handshake.servers[address] = server }
        return machine
    }

    /// Asks for A and AAAA of so many names at once, and waits as long as clients do.
    @Loop private func ask(_ machine: Machine, names: Int) async -> [ClientReply] {
        var replies: [ClientReply] = []
        for number in 0..<names {
            for type in [RecordType.a, .aaaa] {
                replies.append(machine.start("n\(number).example.com", type))
            }
        }
        await machine.clock.advance(by: Budget.answer)
        return replies
    }

    @Loop private func isGiven(_ reply: ClientReply) -> Bool { Self.addresses.contains { reply.has($0) } }

    @Test(arguments: [false, true], [(1, 450), (1, 1_400), (20, 150), (100, 150), (20, 450)]) @Loop
    func `a forged answer is given to none, however many names and however slow the handshake`(
        listed: Bool, load: (names: Int, delay: Int)
    ) async throws {
        let machine = try machine(
            listed: listed, .init(FakeHandshake.Server.hijacker.outcome, after: .milliseconds(load.delay)))
        let replies = await ask(machine, names: load.names)
        #expect(replies.count { isGiven($0) } == 0)
        #expect(replies.allSatisfy { $0.failure == .serverFailure && $0.waited ?? .seconds(9) <= Budget.answer })
    }

    @Test(arguments: [false, true], [(1, 450), (1, 1_400), (100, 150), (20, 450)]) @Loop
    func `an honest answer is given to all, verified, however many names`(
        listed: Bool, load: (names: Int, delay: Int)
    ) async throws {
        let machine = try machine(listed: listed, .init(.verified, after: .milliseconds(load.delay)))
        let replies = await ask(machine, names: load.names)
        #expect(replies.count { isGiven($0) } == 2 * load.names)
        #expect(replies.allSatisfy { $0.waited ?? .seconds(9) <= Budget.answer })
        let verified = try (0..<load.names).count { number in
            let name = try Name("n\(number).example.com")
            return try Self.addresses.allSatisfy {
                machine.checks.known(try #require(IPAddress($0)), for: name) == .verified
            }
        }
        #expect(verified == load.names)
    }

    @Test(arguments: [false, true], [false, true]) @Loop
    func `HTTPDNS is black-holed: of 100 names with their own addresses no forged one is given, and every honest one`(
        listed: Bool, isHonest: Bool
    ) async throws {
        let machine = try machine(listed: listed, .honest)
        machine.vendor.behaviour = .silence
        let outcome = isHonest ? HandshakeOutcome.verified : FakeHandshake.Server.hijacker.outcome
        let own = (1...100).map { ["198.51.100.\($0)", "2001:db8:1::\($0)"] }
        for address in own.joined() { machine.handshake.servers[address] = .init(outcome, after: .milliseconds(150)) }
        var replies: [(reply: ClientReply, own: String)] = []
        for (number, addresses) in own.enumerated() {
            for (type, address) in zip([RecordType.a, .aaaa], addresses) {
                replies.append((machine.start("n\(number).example.com", type), address))
            }
            await machine.clock.advance(by: .milliseconds(1))
        }
        // LocalDNS is asked for each name 0.3 s after the name was.
        await machine.clock.advance(by: .milliseconds(199))
        for addresses in own {
            machine.localDNS.behaviour = .addressList(addresses, after: .zero, ttl: 60)
            await machine.clock.advance(by: .milliseconds(1))
        }
        await machine.clock.advance(by: Budget.answer)
        #expect(replies.count { $0.reply.has($0.own) } == (isHonest ? 200 : 0))
        #expect(replies.allSatisfy { $0.reply.response != nil && $0.reply.waited ?? .seconds(9) <= Budget.answer })
    }

    @Test @Loop func `an answer with a verified address waits for its silent ones for 0.3 s at most`() async throws {
        let machine = try machine(listed: false, .honest)
        machine.localDNS.behaviour = .addresses("203.0.113.7", Self.addresses[0], "203.0.113.8")
        for address in ["203.0.113.7", "203.0.113.8"] { machine.handshake.servers[address] = .silent }
        let reply = await machine.ask()
        #expect(reply.has(Self.addresses[0]) && !reply.has("203.0.113.7"))
        #expect(reply.waited == .milliseconds(300))
        // The silent ones are checked to the end, so that their verdicts are known.
        await machine.clock.advance(by: AddressChecks.longest)
        let again = await machine.ask("other.example.com")
        #expect(again.has(Self.addresses[0]) && again.waited == .zero)
    }
}
