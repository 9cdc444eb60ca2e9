import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// How many handshakes are made, when, and how long their verdicts are valid.
@Suite(.onLoop) struct AddressChecksTests {
    /// The checks of one daemon, and servers whose behaviour the test sets.
    @Loop
    final class Bench {
        let clock = ManualClock()
        let handshake: FakeHandshake
        let journal: HijackJournal
        let checks: AddressChecks
        private(set) var verdicts: [String: AddressVerdict] = [:]

        init(ports: [UInt16] = [443]) {
            handshake = FakeHandshake(clock: clock)
            journal = HijackJournal(timeOfDay: { 1_000 }, report: { _ in })
            checks = AddressChecks(
                ports: ports, handshake: handshake, journal: journal, timeOfDay: TimeOfDay(clock: clock), clock: clock)
        }

        /// Requests a verdict, which is stored under `label`.
        ///
        /// - Parameter server: what is at the address from now on; nil: what was there.
        @discardableResult
        func begin(
            _ address: String, _ name: String = "www.example.com", at server: FakeHandshake.Server? = nil,
            within limit: Duration = .milliseconds(400), from client: String = "127.0.0.1", as label: String? = nil
        ) -> (any Cancellable)? {
            if let server { handshake.servers[address] = server }
            guard let ip = IPAddress(address), let name = try? Name(name), let client = IPAddress(client) else {
                return nil
            }
            return checks.check(ip, of: name, from: "", for: ClientNetwork(client), until: clock.now + limit) {
                [self] in verdicts[label ?? address] = $0
            }
        }

        func advance(_ milliseconds: Int = 0) async { await clock.advance(by: .milliseconds(milliseconds)) }
    }

    @Test(arguments: [
        (FakeHandshake.Server.honest, AddressVerdict.verified), (.hijacker, .forged), (.refusing, .unverified),
        (.plain, .unverified), (.unreachable, .unreachable), (.init(.wrongTime), .wrongTime),
    ]) @Loop
    func `each kind of server has its verdict`(server: FakeHandshake.Server, verdict: AddressVerdict) async {
        let bench = Bench()
        bench.begin("192.0.2.1", at: server)
        await bench.advance()
        #expect(bench.verdicts == ["192.0.2.1": verdict])
        #expect(bench.handshake.attempts == [.init(address: "192.0.2.1", port: 443, name: "www.example.com")])
    }

    @Test @Loop func `a verdict that is known is reported, but not before the request returns`() async {
        let bench = Bench()
        bench.begin("192.0.2.1", at: .honest)
        await bench.advance()
        bench.begin("192.0.2.1", as: "known")
        #expect(bench.verdicts["known"] == nil)
        await bench.advance()
        #expect(bench.verdicts["known"] == .verified)
        #expect(bench.handshake.attempts.count == 1)
    }

    @Test(arguments: [
        (FakeHandshake.Server.honest, 600), (.hijacker, 300), (.refusing, 30), (.plain, 30),
    ]) @Loop
    func `a verdict holds for its time, and then the server is checked again`(
        server: FakeHandshake.Server, seconds: Int
    ) async {
        let bench = Bench()
        bench.handshake.servers["192.0.2.1"] = server
        for (wait, attempts) in [(0, 1), (seconds * 1_000 - 1, 1), (1, 2)] {
            await bench.advance(wait)
            bench.begin("192.0.2.1")
            await bench.advance()
            #expect(bench.handshake.attempts.count == attempts)
        }
    }

    @Test @Loop func `a verdict is one on this name alone`() async {
        let bench = Bench()
        bench.begin("192.0.2.1", "a.example.com", at: .honest)
        bench.begin("192.0.2.1", "b.example.com")
        await bench.advance()
        #expect(bench.handshake.attempts.map(\.name).sorted() == ["a.example.com", "b.example.com"])
    }

    @Test @Loop func `on another network nothing is known any more, nor what was under way`() async {
        let bench = Bench()
        bench.handshake.servers = ["192.0.2.1": .honest, "192.0.2.3": .silent]
        bench.begin("192.0.2.1")
        bench.begin("192.0.2.3")
        await bench.advance(1_500)
        bench.begin("192.0.2.2", at: .init(.verified, after: .milliseconds(100)))
        await bench.advance()
        bench.checks.forgetAll()
        await bench.advance(100)
        bench.handshake.servers["192.0.2.3"] = .honest
        for number in 1...3 { bench.begin("192.0.2.\(number)") }
        await bench.advance(100)
        #expect(bench.handshake.attempts.count == 6)
        #expect(bench.verdicts["192.0.2.3"] == .verified)
    }

    @Test @Loop func `on another network a check makes a handshake of its own, beside none of the old one`() async {
        let bench = Bench()
        bench.begin("192.0.2.1", at: .silent)
        await bench.advance(100)
        bench.checks.forgetAll()
        bench.begin("192.0.2.1", at: .honest, as: "there")
        await bench.advance()
        #expect(bench.verdicts == ["there": .verified])
        #expect(bench.handshake.cancelled == 1)
        await bench.advance(300)
        #expect(bench.verdicts["192.0.2.1"] == .verified)
    }

    @Test @Loop func `when nothing wants a verdict any more the handshake ends`() async {
        let bench = Bench()
        bench.handshake.servers["192.0.2.1"] = .silent
        let tasks = [bench.begin("192.0.2.1", as: "a"), bench.begin("192.0.2.1", as: "b")]
        await bench.advance(10)
        tasks[0]?.cancel()
        await bench.advance()
        #expect(bench.handshake.cancelled == 0)
        tasks[1]?.cancel()
        await bench.advance()
        #expect(bench.handshake.cancelled == 1)
        #expect(bench.checks.pending.isEmpty)
        #expect(bench.checks.known(.v4(0xc000_0201), for: (try? Name("www.example.com")) ?? .root) == nil)
    }

    @Test @Loop func `no more than 64 are under way, and those without a turn are unchecked in time`() async {
        let bench = Bench()
        for number in 1...(AddressChecks.limit + 4) {
            bench.begin("192.0.2.\(number)", at: .silent)
        }
        await bench.advance(10)
        #expect(bench.handshake.underWay == AddressChecks.limit)
        await bench.advance(389)
        #expect(bench.verdicts.isEmpty)
        await bench.advance(1)
        #expect(
            bench.verdicts.count == AddressChecks.limit + 4 && bench.verdicts.values.allSatisfy { $0 == .unchecked })
    }

    @Test @Loop func `a verdict is awaited until the end of the time for it`() async {
        let bench = Bench()
        bench.begin(
            "192.0.2.1", at: .init(.verified, after: .milliseconds(900)), within: .milliseconds(899), as: "short")
        bench.begin("192.0.2.1", within: .milliseconds(901), as: "long")
        await bench.advance(898)
        #expect(bench.verdicts.isEmpty)
        await bench.advance(2)
        #expect(bench.verdicts == ["short": .unchecked, "long": .verified])
        #expect(bench.handshake.attempts.count == 1)
    }

    @Test(arguments: [false, true]) @Loop
    func `a check that nothing waits for ends at once if it was cancelled, else with its time`(isCancelled: Bool) async
    {
        let bench = Bench()
        let requests = (1...AddressChecks.limit).map { number in
            return bench.begin("192.0.2.\(number)", at: .silent, within: isCancelled ? .seconds(9) : .milliseconds(100))
        }
        bench.begin("198.51.100.1", at: .honest, within: .seconds(2))
        await bench.advance(100)
        if isCancelled { requests[0]?.cancel() }
        await bench.advance()
        #expect(bench.verdicts["198.51.100.1"] == (isCancelled ? .verified : nil))
        await bench.advance(1_400)
        #expect(bench.verdicts["198.51.100.1"] == .verified)
    }

    @Test @Loop func `a check displaces none of its own client, nor of one with as many under way`() async {
        let bench = Bench()
        func begin(_ address: String, from client: String) {
            bench.begin(address, at: .init(.verified, after: .milliseconds(400)), within: .seconds(3), from: client)
        }
        let numbers = 1...AddressChecks.limit / 2
        for number in numbers { begin("10.1.0.\(number)", from: "192.0.2.1") }
        for number in numbers { begin("10.2.0.\(number)", from: "192.0.2.2") }
        begin("10.2.0.255", from: "192.0.2.2")
        await bench.advance(399)
        #expect(bench.handshake.cancelled == 0)
        // One of a client without any displaces one, which is made again.
        begin("10.3.0.1", from: "192.0.2.3")
        await bench.advance()
        #expect(bench.handshake.cancelled == 1)
        await bench.advance(800)
        #expect(bench.verdicts.count == AddressChecks.limit + 2 && bench.verdicts.values.allSatisfy { $0 == .verified })
    }

    @Test @Loop func `a check that is cancelled before it has begun makes no handshake`() async {
        let bench = Bench()
        bench.begin("192.0.2.1")?.cancel()
        await bench.advance()
        #expect(bench.handshake.attempts.isEmpty && bench.verdicts.isEmpty && bench.checks.pending.isEmpty)
    }

    @Test @Loop func `a client network with many checks has its turn no more often than others`() async {
        let bench = Bench()
        // Each takes 0.1 s, so that places become free one after the other.
        for number in 0..<200 {
            let address = "198.51.\(number).1"
            bench.begin(
                address, "n\(number).example.com", at: .init(.verified, after: .milliseconds(100)),
                from: "2001:db8::\(number + 1)")
        }
        await bench.advance()
        for number in 1...8 {
            let address = "192.0.2.\(number)"
            bench.begin(address, at: .init(.verified, after: .milliseconds(100)), from: "192.0.2.\(number)")
        }
        await bench.advance(100)
        await bench.advance(100)
        #expect((1...8).allSatisfy { bench.verdicts["192.0.2.\($0)"] == .verified })
    }

    @Test @Loop func `a full queue has room for a client network that has less in it than others`() async {
        let bench = Bench()
        for number in 0..<1_100 {
            let address = "10.\(number / 250).\(number % 250).1"
            bench.begin(
                address, "n\(number).example.com", at: .init(.verified, after: .milliseconds(100)), from: "192.0.2.66")
        }
        await bench.advance()
        #expect(bench.checks.pending.count == AddressChecks.limit + 1_024)
        bench.begin("198.51.100.1", at: .honest, from: "192.0.2.1")
        await bench.advance()
        #expect(bench.verdicts["198.51.100.1"] == .verified)
    }

    @Test @Loop func `a silent address is one without TLS for 30 s, for all names, and then checked again`() async {
        let bench = Bench()
        bench.begin("192.0.2.1", "first.example.com", at: .silent, within: Duration.milliseconds(2_250))
        await bench.advance(1_500)
        #expect(bench.verdicts == ["192.0.2.1": .unverified])
        bench.handshake.servers["192.0.2.1"] = .honest
        for name in ["a", "b"] { bench.begin("192.0.2.1", "\(name).example.com", as: name) }
        await bench.advance(29_999)
        #expect(bench.verdicts["a"] == .unverified && bench.verdicts["b"] == .unverified)
        await bench.advance(1)
        for name in ["a", "b"] { bench.begin("192.0.2.1", "\(name).example.com", as: name) }
        await bench.advance()
        #expect(bench.verdicts["a"] == .verified && bench.verdicts["b"] == .verified)
    }

    @Test @Loop func `names that wait at an address are answered when it is detected as silent`() async {
        let bench = Bench()
        bench.handshake.servers["192.0.2.1"] = .silent
        for number in 0..<AddressChecks.limit + 5 {
            bench.begin("192.0.2.1", "n\(number).example.com", within: Duration.milliseconds(2_250), as: "\(number)")
        }
        await bench.advance(1_500)
        #expect(bench.verdicts.count == AddressChecks.limit + 5)
        #expect(bench.verdicts.values.allSatisfy { $0 == .unverified })
        #expect(bench.handshake.attempts.count == AddressChecks.limit)
    }

    @Test @Loop func `a slow server of one client is not displaced by a client with more checks under way`() async {
        let bench = Bench()
        bench.begin(
            "198.51.100.1", at: .init(.verified, after: .milliseconds(1_200)), within: Duration.milliseconds(2_250),
            from: "192.0.2.1")
        for round in 0..<15 {
            for number in 0..<40 {
                let address = "10.\(round).\(number).1"
                bench.begin(
                    address, "n.example.com", at: .silent, within: Duration.milliseconds(2_250), from: "192.0.2.66")
            }
            await bench.advance(100)
        }
        #expect(bench.verdicts["198.51.100.1"] == .verified)
    }

    @Test @Loop func `an address that is mute for some names is checked for others`() async {
        let bench = Bench()
        bench.handshake.servers["192.0.2.1"] = .mute
        for number in 0..<40 {
            bench.begin("192.0.2.1", "n\(number).attacker.example", as: "\(number)")
            await bench.advance(1_600)
        }
        bench.begin("192.0.2.1", "www.bank.example", at: .honest, as: "bank")
        await bench.advance()
        #expect(bench.verdicts["bank"] == .verified)
    }

    @Test @Loop func `an address that cannot be reached from here has no verdict, and is checked again`() async {
        let bench = Bench(ports: [443, 8_443])
        bench.handshake.servers["192.0.2.1"] = .unreachable
        for _ in 0..<3 {
            bench.begin("192.0.2.1")
            await bench.advance()
            #expect(bench.verdicts == ["192.0.2.1": .unreachable])
        }
        #expect(bench.handshake.attempts.count == 3)
        bench.begin("192.0.2.1", at: .honest)
        await bench.advance()
        #expect(bench.verdicts == ["192.0.2.1": .verified])
    }

    @Test @Loop func `ports are tried in turn, and the first with a certificate decides`() async {
        let bench = Bench(ports: [443, 8443, 9443])
        bench.handshake.servers = [
            "192.0.2.1": .init(.verified, port: 8443), "192.0.2.2": FakeHandshake.Server.hijacker,
            "192.0.2.3": .refusing,
        ]
        for address in ["192.0.2.1", "192.0.2.2", "192.0.2.3"] { bench.begin(address) }
        await bench.advance()
        #expect(bench.verdicts == ["192.0.2.1": .verified, "192.0.2.2": .forged, "192.0.2.3": .unverified])
        func ports(_ address: String) -> [UInt16] {
            bench.handshake.attempts.filter { $0.address == address }.map(\.port)
        }
        #expect(ports("192.0.2.1") == [443, 8443])
        #expect(ports("192.0.2.2") == [443])
        #expect(ports("192.0.2.3") == [443, 8443, 9443])
    }

    @Test @Loop func `what an earlier process detected holds for its time, no longer than a new verdict`()
        async throws
    {
        let bench = Bench()
        let (name, address) = (try Name("www.example.com"), IPAddress.v4(0xc000_0201))
        bench.checks.restore(.forged, on: address, of: name, for: .seconds(100))
        #expect(bench.checks.known(address, for: name) == .forged)
        // The verdict that is known already is newer.
        bench.checks.restore(.verified, on: address, of: name, for: .seconds(100))
        #expect(bench.checks.known(address, for: name) == .forged)
        await bench.advance(100_000)
        #expect(bench.checks.known(address, for: name) == nil)
        bench.checks.restore(.verified, on: .v4(1), of: name, for: .seconds(1 << 40))
        await bench.advance(600_000)
        #expect(bench.checks.known(.v4(1), for: name) == nil)
        for seconds in [0, -1] {
            bench.checks.restore(.verified, on: address, of: name, for: .seconds(seconds))
            #expect(bench.checks.known(address, for: name) == nil)
        }
    }

    @Test @Loop func `only verdicts that hold for minutes are reported to be stored`() async {
        let bench = Bench()
        var learned: [String] = []
        bench.checks.onVerdict = { name, address, verdict, lifetime in
            learned.append("\(name) \(address) \(verdict) \(lifetime.components.seconds)")
        }
        for (address, server) in [
            ("192.0.2.1", FakeHandshake.Server.honest), ("192.0.2.2", .refusing), ("192.0.2.3", .hijacker),
        ] {
            bench.begin(address, at: server)
            await bench.advance()
        }
        #expect(learned == ["www.example.com 192.0.2.1 verified 600", "www.example.com 192.0.2.3 forged 300"])
    }
}
