import DNSResolver
import DNSWire
import HTTPDNS
import Platform
import TestServers
import TestSupport
import TestUpstreams
import Testing

@testable import Upstreams

@Suite(.onLoop, .timeLimit(.minutes(10)))
struct HostSourcesTests {
    /// What a provider and LocalDNS say: the second may be forged.
    private static let right = IPAddress.v4(0xc000_0207)
    private static let local = IPAddress.v4(0xcb00_7142)

    private let clock = ManualClock(now: .bootTime)
    private let server: FakeHTTPDNS
    private let localDNS = FakeUpstream("LocalDNS", .addresses("\(local)", ttl: 300), clock: ManualClock())
    private let host: Name

    init() throws {
        server = try FakeHTTPDNS(HTTPFixture.zone)
        host = try Name("dns.example.com")
    }

    @Loop private func provider(
        _ name: String = "known", host: String = "127.0.0.1", names: [Name] = [], timeout: Duration = .patience
    ) -> HTTPDNSProvider {
        var settings = HTTPDNSSettings(
            name: name, format: AliyunFormat(account: "139450", secret: nil, crypto: OpenSSLCrypto()),
            origin: HTTPOrigin(
                scheme: host == "127.0.0.1" ? .http : .https, port: server.address.port, hosts: [host]),
            host: host)
        (settings.names, settings.timeout) = (names, timeout)
        return HTTPDNSProvider(
            settings, loop: LoopRunner.shared.loop, bootstrap: HostSources(localDNS: localDNS),
            timeOfDay: { 1_700_000_000 })
    }

    /// What the host's addresses become by one look-up.
    @Loop private func lookedUp(
        by providers: [HTTPDNSProvider], routes: RoutePolicy? = nil,
        timeout: Duration = .patience
    ) async -> (HostAddresses, [[IPAddress]]) {
        let sources = HostSources(localDNS: localDNS)
        sources.providers = providers.filter(\.isKnownByAddress)
        sources.routes = routes
        let addresses = HostAddresses(host: host, sources: sources, clock: LoopRunner.shared.loop, timeout: timeout)
        let seen = SeenAddresses()
        addresses.onChange = { seen.all.append($0) }
        addresses.refreshIfDue()
        await addresses.lookedUp(until: .bootTime + .patience)
        return (addresses, seen.all)
    }

    @Test @Loop func `a host is looked up through a provider known by address, and LocalDNS is not asked`() async {
        let (_, found) = await lookedUp(by: [provider()])
        #expect(found == [[Self.right]])
        #expect(localDNS.asked.isEmpty)
        #expect(server.calls == [.init("dns.example.com", [1, 28])])
    }

    @Test(arguments: [HTTPFault.closeBeforeReply, .status(500), .body([])]) @Loop
    func `when the provider fails LocalDNS is asked`(fault: HTTPFault) async {
        server.misbehave(fault)
        let (_, found) = await lookedUp(by: [provider()])
        #expect(found == [[Self.local]])
    }

    @Test @Loop func `when the provider is silent LocalDNS is asked in time`() async {
        server.misbehave(.hang)
        let (_, found) = await lookedUp(by: [provider()], timeout: .milliseconds(200))
        #expect(found == [[Self.local]])
    }

    @Test @Loop func `a provider that is looked up itself, or is for other names, is not asked`() async throws {
        let named = provider(host: "service.example.com")
        let others = provider(names: [try Name("example.net")])
        let (_, found) = await lookedUp(by: [named, others])
        #expect(found == [[Self.local]])
        #expect(server.requests.isEmpty)
    }

    @Test @Loop func `what a list sends elsewhere, or the network owns, no provider hears of`() async throws {
        let routes = [
            RoutePolicy(bypass: [try Name("example.com")]),
            RoutePolicy(forward: [[try Name("example.com")]]), RoutePolicy(networkNames: [try Name("example.com")]),
        ]
        for routes in routes {
            let (_, found) = await lookedUp(by: [provider()], routes: routes)
            #expect(found == [[Self.local]])
        }
        #expect(server.requests.isEmpty)
        let (_, found) = await lookedUp(by: [provider()], routes: RoutePolicy(protect: [try Name("example.net")]))
        #expect(found == [[Self.right]])
    }

    @Test @Loop func `while HTTPDNS is off, a provider hears of a host only when LocalDNS's address does not answer`()
        async
    {
        let (addresses, found) = await lookedUp(by: [provider()], routes: RoutePolicy(mode: .localDNSOnly))
        #expect(found == [[Self.local]])
        #expect(server.requests.isEmpty)
        let seen = SeenAddresses()
        addresses.onChange = { seen.all.append($0) }
        addresses.addressFailed()
        await addresses.lookedUp(until: .bootTime + .patience)
        #expect(seen.all == [[Self.right, Self.local]])
    }

    @Test func `a host of one label stays in the network unless a list protects it`() throws {
        let host = try Name("redis")
        #expect(!RoutePolicy().mayTellProviders(of: host))
        #expect(RoutePolicy(protect: [host]).mayTellProviders(of: host))
    }

    @Test @Loop func `when an address does not answer every source is asked at once, the better ones first`() async {
        let (addresses, _) = await lookedUp(by: [provider()])
        let seen = SeenAddresses()
        addresses.onChange = { seen.all.append($0) }
        addresses.addressFailed()
        await addresses.lookedUp(until: .bootTime + .patience)
        #expect(seen.all == [[Self.right, Self.local]])
        // Not again and again.
        addresses.addressFailed()
        await addresses.lookedUp(until: .bootTime + .patience)
        #expect(Set(localDNS.asked.map(\.types)) == [[.a], [.aaaa]] && localDNS.asked.count == 2)
    }

    @Test @Loop func `after an address that did not answer one look-up asks every source, and the next does not`() async
    {
        let sources = HostSources(localDNS: localDNS)
        sources.providers = [provider()]
        let addresses = HostAddresses(host: host, sources: sources, clock: clock, timeout: .patience)
        let seen = SeenAddresses()
        addresses.onChange = { seen.all.append($0) }
        @Loop func lookUp(after duration: Duration) async {
            await clock.advance(by: duration)
            addresses.refreshIfDue()
            await addresses.lookedUp(until: clock.now + .patience)
        }
        await lookUp(after: .zero)
        addresses.addressFailed()
        await lookUp(after: .zero)
        // Another source's, which may be forged, beside one that works.
        addresses.addressFailed(isLast: false)
        await lookUp(after: .seconds(11))
        #expect(seen.all == [[Self.right], [Self.right, Self.local]])
        await lookUp(after: .seconds(86_400))
        #expect(seen.all == [[Self.right], [Self.right, Self.local], [Self.right]])
        #expect(Set(localDNS.asked.map(\.types)) == [[.a], [.aaaa]] && localDNS.asked.count == 2)
    }

    @Test @Loop func `without any provider LocalDNS is asked, as before, for both families`() async {
        let (_, found) = await lookedUp(by: [])
        #expect(found == [[Self.local]])
        #expect(Set(localDNS.asked.map(\.types)) == [[.a], [.aaaa]] && localDNS.asked.count == 2)
        localDNS.behaviour = .failure(.timeout)
        let (_, none) = await lookedUp(by: [])
        #expect(none.isEmpty)
    }
}

private final class SeenAddresses {
    var all: [[IPAddress]] = []
}
