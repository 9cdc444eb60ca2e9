import DNSResolver
import DNSWire
import Foundation
import HTTPDNS
import Platform
import TestServers
import TestSupport
import TestUpstreams
import Testing

@testable import Upstreams

/// A service with the simplest wire form: the status is the result, and the target shows the time of signing.
struct PlainFormat: ProviderFormat {
    var answersBothFamilies: Bool { true }

    func answers(_ type: RecordType) -> Bool { type.isAddress }

    func request(for question: UpstreamQuestion, at time: Int64) throws(UpstreamFailure) -> HTTPDNS.HTTPRequest {
        if question.name.description.hasPrefix("unwritable") { throw .rejected("cannot be written") }
        let types = question.types.map { $0 == .a ? "4" : "6" }.joined(separator: ",")
        return HTTPDNS.HTTPRequest(target: "/139450/d?host=\(question.name)&query=\(types)&t=\(time)")
    }

    func results(
        in response: HTTPDNS.HTTPResponse, to question: UpstreamQuestion
    ) throws(UpstreamFailure) -> UpstreamResults {
        switch response.status {
        case 200:
            var results = UpstreamResults()
            for type in question.types {
                let address = Answer(name: question.name, addresses: [.v4(0xc000_0207)], ttl: 60)
                results.add(type == .a ? .answer(address) : .indeterminateEmpty(ttl: 7), for: type)
            }
            return results
        case 401: throw .authentication("bad signature")
        case 403: throw .clockSkew("expired", serverTime: nil)
        case 400: throw .refused("bad name")
        default: throw .unusable("status \(response.status)")
        }
    }
}

/// Events that a provider has reported.
@Loop
private final class EventList {
    var events: [ResolverEvent] = []
}

@Suite(.onLoop, .timeLimit(.minutes(10)))
struct HTTPDNSProviderTests {
    /// The name that probes query here.
    private static let neutral = "a.root-servers.net"

    /// What LocalDNS says of the service's host.
    private static let loopback = FakeBehaviour.reply(
        after: .zero,
        [
            .a: .answer(Answer(name: .root, addresses: [.v4(0x7f00_0001)], ttl: 60)), .aaaa: .failure(.timeout),
        ])

    let server: FakeHTTPDNS
    let name: Name

    init() throws {
        server = try FakeHTTPDNS(HTTPFixture.zone)
        name = try Name("www.example.com")
    }

    private func provider(
        format: any ProviderFormat = PlainFormat(), host: String = "127.0.0.1", port: UInt16? = nil,
        scheme: HTTPOrigin.Scheme = .http, addresses: [SocketAddress] = [], timeout: Duration = .patience,
        bootstrap: FakeUpstream? = nil,
        limit: Int = 0, units: Int = 0, paths: NetworkPaths = NetworkPaths(), events: EventList? = nil,
        time: @escaping @Sendable () -> Int64 = { 1_700_000_000 }
    ) async -> HTTPDNSProvider {
        var settings = HTTPDNSSettings(
            name: "plain", format: format,
            origin: HTTPOrigin(scheme: scheme, port: port ?? server.address.port, hosts: [host]), host: host)
        (settings.addresses, settings.timeout) = (addresses, timeout)
        (settings.dailyLimit, settings.unitsOfAnswer) = (limit, units)
        let nobody = FakeUpstream("bootstrap", .failure(.timeout), clock: ManualClock())
        return await HTTPDNSProvider(
            settings, loop: LoopRunner.shared.loop, bootstrap: HostSources(localDNS: bootstrap ?? nobody), paths: paths,
            timeOfDay: time,
            report: { events?.events.append($0) })
    }

    private func ask(
        _ provider: HTTPDNSProvider, _ types: [RecordType] = [.a, .aaaa], name: Name? = nil,
        within limit: Duration = .patience
    ) async throws -> UpstreamReply {
        let endpoint = try #require(await provider.endpoints.first)
        return await endpoint.ask(UpstreamQuestion(name: name ?? self.name, types: types, deadline: .bootTime + limit))
    }

    /// The result of a probe.
    @Loop
    private func probe(_ provider: HTTPDNSProvider) async throws -> UpstreamReply {
        let endpoint = try #require(provider.endpoints.first)
        return await withCheckedContinuation { continuation in
            _ = endpoint.probe(until: .bootTime + .patience) { continuation.resume(returning: $0) }
        }
    }

    @Test func `only https authenticates responses, whatever the service encrypts`() async {
        let key = Secret("00112233445566778899aabbccddeeff")
        let encrypted = AliyunV2Format(
            account: "139450", secret: nil, box: .gcm(key, OpenSSLCrypto()), crypto: OpenSSLCrypto())
        for format in [encrypted, PlainFormat()] as [any ProviderFormat] {
            #expect(await !provider(format: format, scheme: .http).isAuthenticated)
            #expect(await provider(format: format, scheme: .https).isAuthenticated)
        }
    }

    @Test func `a service that answers both families is asked once`() async throws {
        let reply = try await ask(provider())
        #expect(reply.results[.a] == .answer(Answer(name: name, addresses: [.v4(0xc000_0207)], ttl: 60)))
        #expect(reply.results[.aaaa] == .indeterminateEmpty(ttl: 7))
        #expect(server.requests.map { $0.parameters["query"] } == ["4,6"])
    }

    @Test @Loop func `while the way to a service has no carrier nothing is sent on its connection`() async throws {
        let paths = NetworkPaths { _ in .init(interface: 1) }
        let provider = await provider(paths: paths)
        let answer = UpstreamResult.answer(Answer(name: name, addresses: [.v4(0xc000_0207)], ttl: 60))
        #expect(try await ask(provider).results[.a] == answer)
        paths.update(deadLinks: [1])
        provider.networkChanged()
        let failure = UpstreamFailure.network("the interface that leads there has no carrier")
        #expect(try await ask(provider).results[.a] == .failure(failure))
        #expect(server.requests.count == 1 && server.openConnections == 1)
        paths.update(deadLinks: [])
        provider.networkChanged()
        #expect(try await ask(provider).results[.a] == answer)
        #expect(server.connections == 2)
    }

    @Test @Loop func `addresses are asked as configured, those of another family than the first's last`() async {
        let four = [1, 2].map { SocketAddress(.v4(0xc000_0200 | $0), port: 80) }
        let six = SocketAddress(.v6(0x2001_0db8 << 96 | 1), port: 80)
        let paths = NetworkPaths { _ in .init(interface: 1) }
        let mixed = await provider(addresses: [four[0], six, four[1]], paths: paths)
        #expect(mixed.endpoints.map(\.name) == ["\(four[0])", "\(four[1])", "\(six)"])
        let sixFirst = await provider(addresses: [six, four[0]], paths: paths)
        #expect(sixFirst.endpoints.map(\.name) == ["\(six)", "\(four[0])"])
    }

    @Test @Loop func `addresses to which there is no route come last, until there is one`() async {
        let network = Network()
        let paths = NetworkPaths { network.families.contains($0.recordType) ? .init(interface: 1) : nil }
        let four = SocketAddress(.v4(0xc000_0201), port: 80)
        let six = SocketAddress(.v6(0x2001_0db8 << 96 | 1), port: 80)
        let provider = await provider(addresses: [four, six], paths: paths)
        #expect(provider.endpoints.map(\.name) == ["\(four)", "\(six)"])
        network.families = [.aaaa]
        provider.networkChanged()
        #expect(provider.endpoints.map(\.name) == ["\(six)", "\(four)"])
        network.families = []
        provider.networkChanged()
        #expect(provider.endpoints.map(\.name) == ["\(four)", "\(six)"])
        network.families = [.a, .aaaa]
        provider.networkChanged()
        #expect(provider.endpoints.map(\.name) == ["\(four)", "\(six)"])
    }

    @Test @Loop func `an address that answers is used until one of those that came meanwhile answers`() async throws {
        server.misbehave(.hang, for: "www.example.com")
        let provider = await provider()
        let names = provider.endpoints.map(\.name)
        async let reply = ask(provider)
        #expect(await HTTPFixture.eventually { server.callCount("www.example.com") > 0 })
        provider.update([SocketAddress(.v4(0x7f00_0002), port: 9)])
        server.misbehave(nil, for: "www.example.com")
        #expect(try await reply.failure == nil)
        #expect(provider.endpoints.map(\.name) == ["127.0.0.2:9"] + names)
    }

    /// The families for which there are routes.
    @Loop private final class Network {
        var families: Set<RecordType> = [.a, .aaaa]
        nonisolated init() {}
    }

    @Test func `a name that the service cannot write is never sent`() async throws {
        let reply = try await ask(provider(), name: Name("unwritable.example"))
        #expect(Set(reply.results.map(\.result)) == [.failure(.rejected("cannot be written"))])
        #expect(server.requests.isEmpty)
    }

    @Test @Loop func `what has no room on a connection yet is counted as waiting, until it is given up`() async throws {
        server.misbehave(.hang)
        let provider = await provider()
        let endpoint = try #require(provider.endpoints.first)
        let question = UpstreamQuestion(name: name, types: [.a], deadline: .bootTime + .patience)
        #expect(provider.waitingRequests == 0)
        let attempts = (0..<HTTPLimits.unsharedRequests + 3).map { _ in endpoint.begin(question, delayed: {}) { _ in } }
        await LoopRunner.shared.loop.sleep(until: LoopRunner.shared.loop.now)
        #expect(provider.waitingRequests == 3)
        for attempt in attempts { attempt.cancel() }
        #expect(provider.waitingRequests == 0)
    }

    @Test @Loop func `names without a reply make no address look slow, and replies are measured`() async throws {
        server.misbehave(.hang, for: "slow.example.com")
        let provider = await provider()
        let endpoint = try #require(provider.endpoints.first)
        _ = try await ask(provider, name: Name("slow.example.com"), within: .milliseconds(100))
        let asked = server.callCount("slow.example.com")
        let question = try UpstreamQuestion(
            name: Name("slow.example.com"), types: [.a], deadline: .bootTime + .patience)
        let attempt = endpoint.begin(question, delayed: {}) { _ in }
        #expect(await HTTPFixture.eventually { server.callCount("slow.example.com") > asked })
        attempt.cancel()
        #expect(endpoint.health.responseTime == nil)
        _ = try await ask(provider)
        #expect(endpoint.health.responseTime != nil)
    }

    @Test @Loop func `a probe has a new connection, which then takes the place of the old one`() async throws {
        let provider = await provider()
        _ = try await ask(provider)
        #expect(server.connections == 1)
        #expect(try await probe(provider).failure == nil)
        #expect(server.connections == 2)
        _ = try await ask(provider)
        #expect(server.connections == 2)
        #expect(await HTTPFixture.eventually { server.openConnections == 1 })
    }

    @Test(arguments: [400, 401, 503]) @Loop
    func `a service that refuses the neutral name is well if it answers a name that it has answered`(
        status: Int
    ) async throws {
        let provider = await provider()
        _ = try await ask(provider)
        server.misbehave(.status(status), for: Self.neutral)
        #expect(try await probe(provider).failure == nil)
        #expect(server.requests.map { $0.parameters["host"] } == [name.description, Self.neutral, name.description])
    }

    @Test @Loop func `a probe is stopped by our own limit of calls, which is no reply of the service`() async throws {
        let provider = await provider(limit: 1)
        #expect(try await probe(provider).failure == nil)
        #expect(try await probe(provider).failure == .overloaded("its daily_limit of 1 calls is reached"))
    }

    @Test(arguments: [HTTPFault.status(401), .status(400), .closeBeforeReply]) @Loop
    func `what becomes of the second name of a probe is no evidence`(fault: HTTPFault) async throws {
        server.misbehave(.status(503), for: Self.neutral)
        let provider = await provider()
        _ = try await ask(provider)
        server.misbehave(fault, for: name.description)
        #expect(try await probe(provider).failure == .unusable("status 503"))
    }

    @Test func `a machine three hours wrong resolves, says so once, and pays one more call`() async throws {
        server.addHeaders(["Date: Fri, 15 Jan 2027 08:00:00 GMT"])
        server.misbehave(.status(403), times: 1)
        let events = EventList()
        let provider = await provider(events: events, time: { 1_800_000_000 - 3 * 3_600 })
        for _ in 0..<3 { #expect(try await ask(provider).results[.aaaa] == .indeterminateEmpty(ttl: 7)) }
        #expect(await events.events == [.clockCorrected(provider: "plain", seconds: 10_800)])
        #expect(await provider.clockOffset == 10_800)
        #expect(server.requests.count == 4)
    }

    @Test func `no call beyond the day's limit is sent, and it is reported once`() async throws {
        let events = EventList()
        let provider = await provider(limit: 3, events: events)
        var results: [UpstreamResult?] = []
        for _ in 0..<5 { results.append(try await ask(provider).results[.a]) }
        let refused = UpstreamResult.failure(.rejected("its daily_limit of 3 calls is reached"))
        #expect(results[3...] == [refused, refused] && !results[..<3].contains(refused))
        #expect(server.requests.count == 3)
        #expect(await events.events == [.callLimitReached(provider: "plain", .day, limit: 3)])
        #expect(await provider.unavailability == "its daily_limit of 3 calls is reached")
        #expect(await provider.account.count(.day).calls == 3)
    }

    @Test func `answers with addresses are billed, and neither empty ones nor failures are`() async throws {
        let provider = await provider(units: 5)
        _ = try await ask(provider)
        let (today, month) = await (provider.account.count(.day), provider.account.count(.month))
        // Of A and AAAA the second is empty.
        #expect(today.calls == 1 && today.billed == 5 && month.billed == 5)
        server.misbehave(.status(500))
        _ = try await ask(provider)
        #expect(await provider.account.count(.day).billed == 5)
    }

    @Test func `four fifths of a limit are reported once`() async throws {
        let events = EventList()
        let provider = await provider(limit: 10, events: events)
        for _ in 0..<9 { _ = try await ask(provider) }
        #expect(await events.events == [.callLimitNear(provider: "plain", .day, limit: 10)])
    }

    @Test func `of many calls at once no more are sent than the limit leaves`() async throws {
        let provider = await provider(limit: 7)
        await withTaskGroup { group in
            for _ in 0..<20 { group.addTask { _ = try? await ask(provider) } }
        }
        #expect(server.requests.count == 7)
    }

    @Test func `a request that is sent again after its connection broke counts twice`() async throws {
        let provider = await provider()
        _ = try await ask(provider)
        server.misbehave(.closeBeforeReply, times: 1)
        _ = try await ask(provider)
        #expect(server.requests.count == 3)
        #expect(await provider.account.count(.day).calls == 3)
    }

    @Test @Loop func `the service's time and addresses that an earlier process has stored are used`() async throws {
        let provider = await provider(host: "service.example", scheme: .https, time: { 1_800_000_000 })
        provider.restore(.clockOffset(3_600), at: 1_799_999_000)
        #expect(provider.clockOffset == 3_600)
        provider.restore(.addresses([SocketAddress(.v4(0xc000_0201), port: 443)]), at: 1_799_999_000)
        #expect(provider.knownEndpoints.map(\.name) == ["192.0.2.1:\(server.address.port)"])
    }

    @Test @Loop func `calls and the service's time are passed on to be stored`() async throws {
        server.addHeaders(["Date: Fri, 15 Jan 2027 08:00:00 GMT"])
        server.misbehave(.status(403), times: 1)
        let provider = await provider(limit: 10, time: { 1_799_989_200 })
        var learned: [HTTPDNSProvider.Learned] = []
        provider.onLearned = { learned.append($0) }
        _ = try await ask(provider)
        #expect(learned.contains(.clockOffset(10_800)))
        #expect(learned.last { if case .calls = $0 { true } else { false } } == .calls(provider.account.record))
    }

    @Test @Loop func `a client network has a share of the calls once half of a limit is spent`() async throws {
        let provider = await provider(limit: 4)
        #expect(provider.callShare == .max)
        for _ in 0..<3 { _ = try await ask(provider) }
        #expect((1..<4).contains(try #require(provider.callShare)))
        #expect(await self.provider().callShare == nil)
    }

    @Test @Loop func `what is known of a fleet outlasts a change of the Redis that counts its calls`() async throws {
        let provider = await provider(limit: 1_000)
        let record = try #require(FleetRecord(storedText: "daily_limit 19675 7 0 4"))
        for isFirst in [true, false] {
            // Another Redis, which is not asked here.
            let store = try SharedStore.test(at: "/nonexistent/\(isFirst)")
            provider.countCalls(in: store, as: "plain 1")
            if isFirst { provider.restore(.fleet(record), at: 1_700_000_000) }
            #expect(provider.account.fleet?.servers == 4)
        }
    }

    @Test func `a clock that stays wrong is refused after one more attempt`() async throws {
        server.addHeaders(["Date: Fri, 15 Jan 2027 08:00:00 GMT"])
        server.misbehave(.status(403))
        let provider = await provider(time: { 1_799_989_200 })
        let results = try await ask(provider).results
        #expect(Set(results.map(\.result)) == [.failure(.clockSkew("expired", serverTime: nil))])
        #expect(server.requests.count == 2)
    }

    @Test func `an http host without address is not looked up`() async throws {
        let bootstrap = FakeUpstream("bootstrap", .failure(.timeout), clock: ManualClock())
        let provider = await provider(host: "service.example", bootstrap: bootstrap)
        #expect(await provider.endpoints.isEmpty)
        await Loop.executor.idle()
        #expect(await bootstrap.asked.isEmpty)
    }

    @Test func `a question that comes while the host is looked up waits for it`() async throws {
        let bootstrap = FakeUpstream("bootstrap", Self.loopback, clock: ManualClock())
        let provider = await provider(
            host: "service.example", scheme: .https, timeout: .seconds(2), bootstrap: bootstrap)
        // The server has no TLS, so the attempt fails, but only after the look-up has given its address.
        #expect(
            try await ask(provider).results[.a]
                != .failure(.network("service.example (being looked up): no address found")))
        #expect(await bootstrap.asked.count == 2)
        #expect(server.connections > 0)
    }

    @Test func `a question fails at once when the host's look-up has failed`() async throws {
        let provider = await provider(host: "service.example", scheme: .https)
        let reply = try await ask(provider)
        #expect(reply.results[.a] == .failure(.network("service.example (being looked up): no address found")))
    }

    @Test func `an https host is looked up, and its addresses become endpoints`() async throws {
        let bootstrap = FakeUpstream("bootstrap", Self.loopback, clock: ManualClock())
        let provider = await provider(host: "Service.Example", scheme: .https, bootstrap: bootstrap)
        await provider.start()
        #expect(
            await HTTPFixture.eventually {
                await provider.endpoints.map(\.name) == ["127.0.0.1:\(server.address.port)"]
            })
        #expect(await Set(bootstrap.asked.map(\.name)) == [try Name("service.example")])
    }
}
