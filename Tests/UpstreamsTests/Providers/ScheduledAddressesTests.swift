import DNSResolver
import DNSWire
import HTTPDNS
import Platform
import Synchronization
import TestSupport
import Testing

@testable import Upstreams

private typealias ScheduleOutcome = Result<AddressSchedule?, UpstreamFailure>

/// The replies of startup addresses, as the test sets them; the body of a request is ignored.
@Loop
private final class StartupDouble {
    var outcomes: [String: ScheduleOutcome] = [:]
    var usual = ScheduleOutcome.failure(.unusable("nothing here"))
    private(set) var asked: [String] = []
    /// Called once, while the next call is under way.
    var onCall: (@Loop () -> Void)?

    nonisolated init() {}

    func call(_ address: SocketAddress) -> ScheduleOutcome {
        asked.append(address.ip.description)
        onCall.take()?()
        return outcomes[address.ip.description] ?? usual
    }

    func forget() { asked = [] }
}

/// The status of a reply is the number of an outcome, so that any outcome can be returned.
private struct NumberedFormat: ScheduleFormat {
    let outcomes: OutcomeList

    func request(at time: Int64) throws(UpstreamFailure) -> HTTPRequest { HTTPRequest(target: "/ss") }

    func schedule(in response: HTTPResponse) throws(UpstreamFailure) -> AddressSchedule? {
        try outcomes.all.withLock { $0[response.status] }.get()
    }
}

private final class OutcomeList: Sendable {
    let all = Mutex<[ScheduleOutcome]>([])
}

@Suite(.onLoop) struct ScheduledAddressesTests {
    private let clock = ManualClock()
    private let format = StartupDouble()

    @Loop
    private final class Seen {
        var addresses: [[String]] = []
        var states: [String] = []
        var failures: [String] = []
    }

    @Loop private func make(
        _ startup: [String] = ["192.0.2.1", "192.0.2.2"],
        paths: NetworkPaths = NetworkPaths { _ in .init(interface: 1) }
    ) -> (ScheduledAddresses, Seen) {
        let (outcomes, seen) = (OutcomeList(), Seen())
        let account = ProviderAccount(
            provider: "vendor", clock: ProviderClock(isAuthenticated: true) { 1_800_000_000 },
            calls: CallQuota(dailyLimit: 0),
            report: { event in
                switch event {
                case .addressesAnnounced(_, let addresses): seen.addresses.append(addresses)
                case .serviceDisabled: seen.states.append("disabled")
                case .serviceEnabled: seen.states.append("enabled")
                case .addressesMissing(_, let reason): seen.failures.append(reason)
                default: break
                }
            })
        let addresses = ScheduledAddresses(
            (NumberedFormat(outcomes: outcomes), startup.compactMap { SocketAddress($0, defaultPort: 443) }),
            port: 443, account: account, paths: paths, clock: clock
        ) { [format] _, address in
            let outcome = format.call(address)
            let number = outcomes.all.withLock { list in
                list.append(outcome)
                return list.count - 1
            }
            return .success(HTTPResponse(status: number))
        }
        return (addresses, seen)
    }

    private func named(_ texts: String..., port: UInt16 = 0, lifetime: Duration? = nil) -> ScheduleOutcome {
        .success(AddressSchedule(texts.compactMap { IPAddress($0) }.map { .init($0, port: port) }, lifetime: lifetime))
    }

    @Loop private func pass(_ duration: Duration, _ addresses: ScheduledAddresses) async {
        await clock.advance(by: duration)
        addresses.refreshIfDue()
        await clock.advance(by: .zero)
    }

    @Test @Loop func `nothing is asked before the start, then once, and after eight hours when there is traffic`() async
    {
        let (addresses, seen) = make()
        format.usual = named("198.51.100.1", "2001:db8::1")
        await pass(.zero, addresses)
        #expect(format.asked.isEmpty)
        addresses.start()
        addresses.start()
        await pass(.seconds(8 * 3_600 - 1), addresses)
        #expect(format.asked == ["192.0.2.1"])
        await clock.advance(by: .seconds(100_000))
        #expect(format.asked == ["192.0.2.1"])
        await pass(.zero, addresses)
        #expect(format.asked == ["192.0.2.1", "192.0.2.1"])
        #expect(seen.addresses == [["198.51.100.1:443", "[2001:db8::1]:443"]])
    }

    @Test @Loop func `the lifetime that the service returns counts, and so do its ports`() async {
        let (addresses, seen) = make()
        format.usual = named("198.51.100.1", port: 8_443, lifetime: .seconds(3_600))
        addresses.start()
        await pass(.seconds(3_599), addresses)
        #expect(format.asked.count == 1)
        await pass(.seconds(1), addresses)
        #expect(format.asked.count == 2)
        #expect(seen.addresses == [["198.51.100.1:8443"]])
    }

    @Test @Loop func `after a startup address that fails the next one is asked, and is first from then on`() async {
        let (addresses, seen) = make()
        format.outcomes["192.0.2.2"] = named("198.51.100.1")
        addresses.start()
        await pass(.zero, addresses)
        #expect(format.asked == ["192.0.2.1", "192.0.2.2"])
        format.forget()
        await pass(.seconds(8 * 3_600), addresses)
        #expect(format.asked == ["192.0.2.2"])
        #expect(seen.addresses.count == 1 && seen.failures.isEmpty)
    }

    @Test @Loop func `when all fail it is tried again after 30 s, doubled each time up to an hour`() async {
        let (addresses, seen) = make(["192.0.2.1"])
        addresses.start()
        await pass(.zero, addresses)
        for (number, pause) in [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600].enumerated() {
            await pass(.seconds(pause - 1), addresses)
            #expect(format.asked.count == number + 1)
            await pass(.seconds(1), addresses)
            #expect(format.asked.count == number + 2)
        }
        #expect(seen.failures == Array(repeating: "192.0.2.1:443: nothing here", count: 10))
    }

    @Test @Loop func `a refused account is not shown to the next startup address`() async {
        let (addresses, seen) = make()
        format.usual = .failure(.authentication("InvalidSignature (HTTP 403)"))
        addresses.start()
        await pass(.zero, addresses)
        #expect(format.asked == ["192.0.2.1"])
        #expect(seen.failures == ["192.0.2.1:443: access refused: InvalidSignature (HTTP 403)"])
    }

    @Test @Loop func `once every address has failed it is asked again at once, but not twice in five minutes`() async {
        let (addresses, seen) = make()
        format.usual = named("198.51.100.1")
        addresses.start()
        await pass(.zero, addresses)
        format.usual = named("198.51.100.2")
        addresses.circleFailed()
        addresses.circleFailed()
        await pass(.zero, addresses)
        #expect(format.asked.count == 2)
        await clock.advance(by: .seconds(299))
        addresses.circleFailed()
        await clock.advance(by: .seconds(1))
        #expect(format.asked.count == 2)
        addresses.circleFailed()
        await clock.advance(by: .zero)
        #expect(format.asked.count == 3)
        #expect(seen.addresses == [["198.51.100.1:443"], ["198.51.100.2:443"]])
    }

    @Test @Loop func `while every address fails the rounds that are due are made all the same`() async {
        let (addresses, _) = make(["192.0.2.1"])
        addresses.start()
        await pass(.zero, addresses)
        for _ in 0..<30 {
            addresses.circleFailed()
            await clock.advance(by: .seconds(1))
        }
        // At the start, and at once because every address failed; the next one a minute later.
        #expect(format.asked.count == 2)
        await clock.advance(by: .seconds(30))
        addresses.circleFailed()
        await clock.advance(by: .zero)
        #expect(format.asked.count == 3)
    }

    @Test @Loop func `on another network it is asked at once, also while a round is under way`() async {
        let (addresses, _) = make()
        addresses.askAgain()
        await clock.advance(by: .zero)
        #expect(format.asked.isEmpty)
        format.usual = named("198.51.100.1")
        format.onCall = { addresses.askAgain() }
        addresses.start()
        await pass(.zero, addresses)
        #expect(format.asked.count == 2)
        addresses.askAgain()
        await clock.advance(by: .zero)
        #expect(format.asked.count == 3)
    }

    @Test @Loop
    func `a disabled service is asked again a day later even without traffic, and is reported once each way`() async {
        let (addresses, seen) = make()
        format.usual = .success(nil)
        addresses.start()
        await pass(.zero, addresses)
        #expect(addresses.isDisabled && addresses.disabledUntil == clock.now + .seconds(86_400))
        await clock.advance(by: .seconds(86_400))
        #expect(format.asked.count == 2)
        format.usual = named("198.51.100.1")
        await clock.advance(by: .seconds(86_400))
        #expect(!addresses.isDisabled && addresses.disabledUntil == nil)
        #expect(seen.states == ["disabled", "enabled"])
        #expect(seen.addresses == [["198.51.100.1:443"]])
    }

    @Test @Loop func `a disabled service stays so while it cannot be asked`() async {
        let (addresses, _) = make(["192.0.2.1"])
        format.usual = .success(nil)
        addresses.start()
        await pass(.zero, addresses)
        format.usual = .failure(.unusable("silence"))
        await clock.advance(by: .seconds(86_400))
        await clock.advance(by: .seconds(30))
        #expect(format.asked.count == 3)
        #expect(addresses.isDisabled)
    }

    @Test @Loop func `startup addresses without a route come last`() async {
        let (addresses, _) = make(
            ["192.0.2.1", "2001:db8::1"], paths: NetworkPaths { $0.recordType == .aaaa ? .init(interface: 1) : nil })
        addresses.start()
        await pass(.zero, addresses)
        #expect(format.asked == ["2001:db8::1", "192.0.2.1"])
    }

    // MARK: Bounds

    /// The addresses used of those that `startup` returns.
    @Loop private func used(_ texts: [String], namedBy startup: String) async -> [String] {
        let (addresses, seen) = make([startup])
        format.usual = .success(AddressSchedule(texts.compactMap { IPAddress($0) }.map { .init($0, port: 0) }))
        addresses.start()
        await pass(.zero, addresses)
        return seen.addresses.first ?? []
    }

    private static let places = [
        "127.0.0.1", "::1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "fd00::1", "169.254.169.254",
        "fe80::1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "::", "ff02::1", "::ffff:127.0.0.1", "198.51.100.1",
    ]

    @Test @Loop func `a public service names no address of this machine or its network`() async {
        #expect(await used(Self.places, namedBy: "192.0.2.1") == ["198.51.100.1:443"])
    }

    @Test @Loop func `a service in a private network may name private addresses, one on loopback all of these`() async {
        let privates = ["10.0.0.1:443", "172.16.0.1:443", "192.168.0.1:443", "100.64.0.1:443", "[fd00::1]:443"]
        #expect(await used(Self.places, namedBy: "10.9.9.9") == privates + ["198.51.100.1:443"])
        let loopback = ["127.0.0.1:443", "[::1]:443"]
        #expect(await used(Self.places, namedBy: "127.0.0.9") == loopback + privates + ["198.51.100.1:443"])
    }

    @Test @Loop func `a reply without a usable address is a failure, and what is known stays`() async {
        let (addresses, seen) = make(["192.0.2.1"])
        format.usual = named("127.0.0.1")
        addresses.start()
        await pass(.zero, addresses)
        #expect(seen.addresses.isEmpty)
        #expect(seen.failures == ["192.0.2.1:443 names no address that could be the service's"])
    }

    @Test @Loop func `of each family eight addresses are used, each once`() async {
        let fours = (1...20).flatMap { ["198.51.100.\($0)", "198.51.100.\($0)"] }
        let sixes = (1...9).map { "2001:db8::\($0)" }
        let used = await used(fours + sixes, namedBy: "192.0.2.1")
        #expect(used == (1...8).map { "198.51.100.\($0):443" } + (1...8).map { "[2001:db8::\($0)]:443" })
    }

    // MARK: A restart

    @Test @Loop func `what an earlier process learned is used until the service answers, in the same bounds`() async {
        let (addresses, seen) = make()
        addresses.restore([SocketAddress(.v4(0x7f00_0001), port: 443), SocketAddress(.v4(0xc633_6407), port: 8_443)])
        #expect(seen.addresses == [["198.51.100.7:8443"]])
        format.usual = named("198.51.100.1")
        addresses.start()
        await pass(.zero, addresses)
        addresses.restore([SocketAddress(.v4(0xc633_6407), port: 8_443)])
        #expect(seen.addresses == [["198.51.100.7:8443"], ["198.51.100.1:443"]])
    }
}
