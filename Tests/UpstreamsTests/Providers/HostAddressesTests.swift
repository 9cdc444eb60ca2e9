import DNSResolver
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import Upstreams

@Suite(.onLoop) struct HostAddressesTests {
    private let clock: ManualClock
    private let upstream: FakeUpstream
    private let host: Name
    private static let first = IPAddress.v4(0xc000_0201)
    private static let second = IPAddress.v4(0xc000_0202)
    private static let sixth = IPAddress.v6(0x2001_0db8 << 96 | 6)

    init() throws {
        (clock, host) = (ManualClock(), try Name("dns.example"))
        upstream = FakeUpstream("LocalDNS", .failure(.timeout), clock: clock)
    }

    private final class Seen {
        var changes: [[IPAddress]] = []
    }

    @Loop private func make() -> (HostAddresses, Seen) {
        let (addresses, seen) = (
            HostAddresses(host: host, sources: HostSources(localDNS: upstream), clock: clock), Seen()
        )
        addresses.onChange = { seen.changes.append($0) }
        return (addresses, seen)
    }

    @Loop private func answer(_ addresses: [IPAddress], ttl: UInt32 = 300) -> UpstreamResult {
        .answer(Answer(name: host, addresses: addresses, ttl: ttl))
    }

    /// How often LocalDNS was asked, each time for both families.
    @Loop private var lookUps: Int { upstream.asked.count / 2 }

    /// Has LocalDNS say so from now on.
    @Loop private func say(_ a: UpstreamResult, _ aaaa: UpstreamResult = .failure(.timeout)) {
        upstream.behaviour = .reply(after: .zero, [.a: a, .aaaa: aaaa])
    }

    @Loop private func use(_ addresses: HostAddresses, after duration: Duration = .zero) async {
        await clock.advance(by: duration)
        addresses.refreshIfDue()
        await clock.advance(by: .zero)
    }

    @Test @Loop func `the host is looked up again only after its TTL, and only when there is traffic`() async {
        let (addresses, seen) = make()
        say(answer([Self.first]), .answer(.negative(name: host, ttl: 300)))
        await use(addresses)
        await use(addresses, after: .seconds(299))
        #expect(lookUps == 1)
        await clock.advance(by: .seconds(3_600))
        #expect(lookUps == 1)
        await use(addresses)
        #expect(lookUps == 2)
        #expect(seen.changes == [[Self.first]])
    }

    @Test @Loop func `a failed look-up retains the last good addresses and is not repeated at once`() async {
        let (addresses, seen) = make()
        say(answer([Self.first]))
        await use(addresses)
        say(.failure(.timeout))
        await use(addresses, after: .seconds(301))
        await use(addresses, after: .seconds(29))
        #expect(lookUps == 2)
        #expect(seen.changes == [[Self.first]])
        say(answer([Self.second]))
        await use(addresses, after: .seconds(2))
        #expect(seen.changes == [[Self.first], [Self.second]])
    }

    @Test @Loop func `one family that fails retains its last good addresses`() async {
        let (addresses, seen) = make()
        say(answer([Self.first]), answer([Self.sixth]))
        await use(addresses)
        say(answer([Self.second]), .failure(.timeout))
        await use(addresses, after: .seconds(301))
        #expect(seen.changes.last == [Self.second, Self.sixth])
    }

    @Test @Loop func `of each family only the first four addresses are used, each once`() async {
        let (addresses, seen) = make()
        let fours = (0..<1_000).map { IPAddress.v4(0xc633_6400 + $0) }
        let sixes = (0..<1_000).map { IPAddress.v6(0x2001_0db8 << 96 | $0) }
        say(answer([fours[0]] + fours), answer(sixes))
        await use(addresses)
        let expected: [IPAddress] = Array(fours.prefix(4)) + Array(sixes.prefix(4))
        #expect(seen.changes == [expected])
    }

    @Test @Loop func `without any address the host is tried again after a second`() async {
        let (addresses, seen) = make()
        await use(addresses)
        await use(addresses)
        #expect(lookUps == 1)
        say(answer([Self.first]))
        await use(addresses, after: .seconds(1))
        #expect(seen.changes == [[Self.first]])
    }

    @Test @Loop func `an address that does not answer brings the next look-up forward`() async {
        let (addresses, seen) = make()
        say(answer([Self.first]))
        await use(addresses)
        say(answer([Self.second]))
        addresses.addressFailed()
        await use(addresses, after: .seconds(9))
        #expect(lookUps == 1)
        await use(addresses, after: .seconds(1))
        #expect(seen.changes.last == [Self.second])
    }

    @Test @Loop func `one address of several that does not answer brings one look-up of every source forward`() async {
        let (addresses, _) = make()
        say(answer([Self.first, Self.second]))
        await use(addresses)
        addresses.addressFailed(isLast: false)
        await use(addresses, after: .seconds(10))
        #expect(lookUps == 2)
        addresses.addressFailed(isLast: false)
        await use(addresses, after: .seconds(10))
        #expect(lookUps == 2)
    }

    @Test @Loop func `in another network the host is looked up again at once, also during a look-up`() async {
        let (addresses, seen) = make()
        say(answer([Self.first]))
        await use(addresses)
        say(answer([Self.second]))
        addresses.lookAgain()
        await clock.advance(by: .zero)
        #expect(seen.changes.last == [Self.second])
        // Started just before the change.
        addresses.lookAgain()
        addresses.lookAgain()
        await clock.advance(by: .zero)
        #expect(lookUps == 4)
    }

    @Test @Loop func `what an earlier process found is used until the first look-up has ended, and not after it`() async
    {
        let (addresses, seen) = make()
        addresses.restore([Self.second])
        #expect(seen.changes == [[Self.second]])
        say(answer([Self.first]))
        await use(addresses)
        addresses.restore([Self.second])
        #expect(seen.changes == [[Self.second], [Self.first]])
    }
}
