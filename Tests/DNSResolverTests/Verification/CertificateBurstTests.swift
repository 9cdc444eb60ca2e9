import DNSCache
import DNSWire
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
}
