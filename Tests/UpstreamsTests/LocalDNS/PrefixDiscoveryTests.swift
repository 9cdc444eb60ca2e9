import DNSResolver
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import Upstreams

/// How the prefix of a network's translator is found (RFC 7050).
@Suite(.onLoop) struct PrefixDiscoveryTests {
    @Loop
    private final class Machine {
        let clock = ManualClock()
        let localDNS: FakeUpstream
        private(set) var heard: [Translation] = []
        private(set) var discovery: PrefixDiscovery?

        init(_ behaviour: FakeBehaviour) {
            localDNS = FakeUpstream("localdns", behaviour, clock: clock)
            discovery = PrefixDiscovery(
                clock: clock, ask: { [localDNS] in localDNS.begin($0, delayed: {}, done: $1) },
                onChange: { [unowned self] in heard.append($0) })
        }

        /// Begins, and lets so much time pass.
        func begin(isWanted: Bool = true, for duration: Duration = .zero) async {
            discovery?.begin(isWanted: isWanted)
            await clock.advance(by: duration)
        }
    }

    private static let found = FakeBehaviour.addresses("64:ff9b::192.0.0.170", "64:ff9b::192.0.0.171")

    private func prefix(_ text: String = "64:ff9b::/96") -> Translation {
        NAT64Prefix(text).map(Translation.prefix) ?? .none
    }

    @Test @Loop func `the prefix is found in the AAAA of ipv4only dot arpa`() async throws {
        let machine = Machine(Self.found)
        await machine.begin()
        #expect(machine.heard == [.awaited, prefix()])
        #expect(machine.localDNS.asked.map(\.name) == [try Name("ipv4only.arpa")])
        #expect(machine.localDNS.asked.map(\.types) == [[.aaaa]])
    }

    @Test @Loop func `the question for it is the daemon's, without signatures and a client's network`() async {
        let machine = Machine(Self.found)
        await machine.begin()
        let asked = machine.localDNS.asked
        #expect(asked.allSatisfy { !$0.dnssecOK && !$0.checkingDisabled })
        #expect(asked.allSatisfy { $0.clientNetwork == nil && $0.holder == .daemon })
    }

    @Test @Loop func `where it is not wanted LocalDNS is not asked, and a prefix that was found forgotten`() async {
        let machine = Machine(Self.found)
        await machine.begin(isWanted: false, for: .seconds(600))
        #expect(machine.localDNS.asked.isEmpty && machine.heard.isEmpty)
        await machine.begin()
        machine.discovery?.begin(isWanted: false)
        #expect(machine.heard.last == Translation.none)
        await machine.clock.advance(by: .seconds(86_400))
        #expect(machine.localDNS.asked.count == 1)
    }

    @Test @Loop func `a network without a translator has no prefix, and is asked again when that is over`() async {
        let machine = Machine(.addresses("192.0.0.170", ttl: 300))
        await machine.begin(for: .seconds(299))
        #expect(machine.heard == [.awaited, .none])
        #expect(machine.localDNS.asked.count == 1)
        machine.localDNS.behaviour = Self.found
        await machine.clock.advance(by: .seconds(1))
        #expect(machine.heard.last == prefix())
    }

    @Test(arguments: [(0, 60), (300, 300), (600, 600), (3_600, 600)] as [(UInt32, Int64)]) @Loop
    func `it is looked up again at the end of its time, a minute at least, ten at most`(ttl: UInt32, seconds: Int64)
        async
    {
        let machine = Machine(.addresses("64:ff9b::192.0.0.170", ttl: ttl))
        await machine.begin(for: .seconds(seconds - 1))
        #expect(machine.localDNS.asked.count == 1)
        await machine.clock.advance(by: .seconds(1))
        #expect(machine.localDNS.asked.count == 2)
        #expect(machine.heard == [.awaited, prefix()])
    }

    @Test @Loop func `silence ends the wait, and is asked again after one second, two, four, up to five minutes`() async
    {
        let machine = Machine(.failure(.network("unreachable")))
        await machine.begin()
        #expect(machine.heard == [.awaited, .none])
        var pauses: [Int] = []
        for _ in 0..<11 {
            let count = machine.localDNS.asked.count
            var pause = 0
            while machine.localDNS.asked.count == count, pause < 1_000 {
                await machine.clock.advance(by: .seconds(1))
                pause += 1
            }
            pauses.append(pause)
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
        machine.localDNS.behaviour = Self.found
        await machine.clock.advance(by: .seconds(300))
        #expect(machine.heard.last == prefix())
    }

    @Test @Loop func `a prefix that was found outlasts silence, and not a denial`() async {
        let machine = Machine(Self.found)
        await machine.begin()
        machine.localDNS.behaviour = .failure(.network("unreachable"))
        await machine.clock.advance(by: .seconds(60))
        #expect(machine.localDNS.asked.count == 2 && machine.heard.last == prefix())
        machine.localDNS.behaviour = .addresses("192.0.0.170")
        await machine.clock.advance(by: .seconds(1))
        #expect(machine.heard.last == Translation.none)
    }

    @Test(arguments: [(60, 180), (3_600, 1_800)] as [(UInt32, Int64)]) @Loop
    func `a prefix that LocalDNS has not confirmed for three times its time is used no longer`(
        ttl: UInt32, seconds: Int64
    ) async {
        let machine = Machine(.addresses("64:ff9b::192.0.0.170", ttl: ttl))
        await machine.begin()
        machine.localDNS.behaviour = .failure(.network("unreachable"))
        await machine.clock.advance(by: .seconds(seconds - 1))
        #expect(machine.heard == [.awaited, prefix()])
        await machine.clock.advance(by: .seconds(1))
        #expect(machine.heard == [.awaited, prefix(), .none])
        machine.localDNS.behaviour = Self.found
        await machine.clock.advance(by: .seconds(300))
        #expect(machine.heard.last == prefix())
    }

    @Test @Loop func `in another network nothing of the old one is used, also not what it answers late`() async {
        let machine = Machine(.addresses("64:ff9b::192.0.0.170", after: .milliseconds(500)))
        await machine.begin(for: .milliseconds(400))
        machine.localDNS.behaviour = .addresses("2001:db8:64::192.0.0.170", after: .milliseconds(300))
        await machine.begin(for: .milliseconds(200))
        #expect(machine.heard == [.awaited])
        await machine.clock.advance(by: .milliseconds(100))
        #expect(machine.heard == [.awaited, prefix("2001:db8:64::/96")])
    }

    @Test @Loop func `of several prefixes the one in use stays, whatever order they come in`() async {
        let machine = Machine(.addresses("64:ff9b::192.0.0.170", "2001:db8:64::192.0.0.170"))
        await machine.begin()
        machine.localDNS.behaviour = .addresses(
            "2001:db8:1::192.0.0.170", "2001:db8:64::192.0.0.170", "64:ff9b::192.0.0.170")
        await machine.clock.advance(by: .seconds(60))
        #expect(machine.localDNS.asked.count == 2)
        #expect(machine.heard == [.awaited, prefix("2001:db8:64::/96")])
    }
}
