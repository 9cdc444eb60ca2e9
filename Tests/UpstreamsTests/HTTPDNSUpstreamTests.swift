import DNSResolver
import DNSWire
import Foundation
import HTTPDNS
import Platform
import Scheduling
import Synchronization
import TestSupport
import Testing
import Upstreams

/// A service whose wire form is the simplest: the status says what happened, and the target shows the time of signing.
private struct PlainService: Service {
    var answersBothFamilies: Bool { true }

    func answers(_ type: RecordType) -> Bool { type.isAddress }

    func request(for question: ServiceQuestion, at time: Int64) throws(ServiceFailure) -> HTTPDNS.HTTPRequest {
        if question.name.description.hasPrefix("unwritable") { throw .rejected("cannot be written") }
        let types = question.types.map { $0 == .a ? "4" : "6" }.joined(separator: ",")
        return HTTPDNS.HTTPRequest(target: "/139450/d?host=\(question.name)&query=\(types)&t=\(time)")
    }

    func outcome(of response: HTTPDNS.HTTPResponse, to question: ServiceQuestion) -> ServiceOutcome {
        switch response.status {
        case 200:
            .results(
                Dictionary(
                    uniqueKeysWithValues: question.types.map { type in
                        type == .a
                            ? (.a, .answer(Answer(name: question.name, addresses: [.v4(0xc000_0207)], ttl: 60)))
                            : (type, .unknownEmpty(ttl: 7))
                    }))
        case 401: .failure(.authentication("bad signature"))
        case 403: .failure(.clockSkew("expired", serverTime: nil))
        case 400: .failure(.rejected("bad name"))
        default: .failure(.unavailable("status \(response.status)", retryAfter: nil))
        }
    }
}

/// LocalDNS as the bootstrap sees it.
@Loop
private final class FakeBootstrap: Upstream {
    nonisolated let name = "bootstrap"
    var reply: @Sendable (UpstreamQuestion) -> UpstreamReply
    private(set) var asked: [UpstreamQuestion] = []

    init(_ reply: @escaping @Sendable (UpstreamQuestion) -> UpstreamReply) { self.reply = reply }

    func ask(_ question: UpstreamQuestion) async -> UpstreamReply {
        asked.append(question)
        return reply(question)
    }
}

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct HTTPDNSUpstreamTests {
    let server: FakeHTTPDNS
    let name: Name

    init() throws {
        server = try FakeHTTPDNS(HTTPFixture.zone)
        name = try Name("www.example.com")
    }

    private func provider(
        host: String = "127.0.0.1", scheme: HTTPOrigin.Scheme = .http,
        addresses: [SocketAddress] = [], timeout: Duration = .seconds(2), bootstrap: FakeBootstrap? = nil,
        time: @escaping @Sendable () -> Int64 = { 1_700_000_000 }
    ) async -> HTTPDNSUpstream {
        let settings = HTTPDNSSettings(
            name: "plain", service: PlainService(), scheme: scheme, host: host,
            port: server.address.port, addresses: addresses, timeout: timeout)
        let nobody = await FakeBootstrap { UpstreamReply(failure: .timeout, types: $0.types) }
        return await HTTPDNSUpstream(
            settings, loop: LoopRunner.shared.loop, bootstrap: bootstrap ?? nobody, timeOfDay: time)
    }

    private func ask(
        _ provider: HTTPDNSUpstream, _ types: [RecordType] = [.a, .aaaa], name: Name? = nil
    ) async throws -> UpstreamReply {
        let endpoint = try #require(await provider.endpoints.first)
        return await endpoint.ask(
            UpstreamQuestion(name: name ?? self.name, types: types, deadline: .bootTime + .seconds(5)))
    }

    private func failure(_ status: Int) async throws -> Set<UpstreamResult> {
        server.misbehave(.status(status))
        return try await Set(ask(provider()).results.values)
    }

    @Test func `a service that answers both families is asked once`() async throws {
        let reply = try await ask(provider())
        #expect(reply.results[.a] == .answer(Answer(name: name, addresses: [.v4(0xc000_0207)], ttl: 60)))
        #expect(reply.results[.aaaa] == .unknownEmpty(ttl: 7))
        #expect(server.requests.map { $0.parameters["query"] } == ["4,6"])
    }

    @Test func `what a service refuses is told apart`() async throws {
        #expect(try await failure(401) == [.failure(.authentication("bad signature"))])
        #expect(try await failure(400) == [.failure(.rejected("bad name"))])
        #expect(try await failure(503) == [.failure(.unusable("status 503"))])
    }

    @Test func `a name that the service cannot write is never sent`() async throws {
        let reply = try await ask(provider(), name: Name("unwritable.example"))
        #expect(Set(reply.results.values) == [.failure(.rejected("cannot be written"))])
        #expect(server.requests.isEmpty)
    }

    @Test func `a hanging service is a time-out for every type`() async throws {
        server.misbehave(.hang)
        let reply = try await ask(provider(timeout: .milliseconds(100)))
        #expect(reply.results == [.a: .failure(.timeout), .aaaa: .failure(.timeout)])
    }

    @Test func `a wrong clock is corrected by the service's date, once and for all`() async throws {
        server.addHeaders(["Date: Tue, 14 Nov 2023 22:13:20 GMT"])
        server.misbehave(.status(403), times: 1)
        let provider = await provider(time: { 1_699_990_000 })
        #expect(try await ask(provider).results[.aaaa] == .unknownEmpty(ttl: 7))
        _ = try await ask(provider)
        #expect(server.requests.map { $0.parameters["t"] } == ["1699990000", "1700000000", "1700000000"])
    }

    @Test func `a clock that stays wrong is refused after one more attempt`() async throws {
        server.addHeaders(["Date: Tue, 14 Nov 2023 22:13:20 GMT"])
        server.misbehave(.status(403))
        let provider = await provider(time: { 1_699_990_000 })
        #expect(try await Set(ask(provider).results.values) == [.failure(.authentication("expired"))])
        #expect(server.requests.count == 2)
    }

    @Test func `each configured address is an endpoint, in order`() async throws {
        let provider = await provider(addresses: [
            SocketAddress(.v4(0xc000_0201), port: 8_443), SocketAddress(.v6(0x2001_0db8 << 96 | 1), port: 443),
        ])
        #expect(await provider.endpoints.map(\.name) == ["192.0.2.1:8443", "[2001:db8::1]:443"])
    }

    @Test func `the port connected to may differ from the port in the URL`() async throws {
        let settings = HTTPDNSSettings(
            name: "plain", service: PlainService(), scheme: .http, host: "service.example",
            addresses: [SocketAddress(.v4(0x7f00_0001), port: server.address.port)])
        let nobody = await FakeBootstrap { UpstreamReply(failure: .timeout, types: $0.types) }
        let provider = await HTTPDNSUpstream(
            settings, loop: LoopRunner.shared.loop, bootstrap: nobody, timeOfDay: { 1_700_000_000 })
        _ = try await ask(provider)
        #expect(server.requests.count == 1)
    }

    @Test func `an http host without address is not looked up`() async throws {
        let bootstrap = await FakeBootstrap { UpstreamReply(failure: .timeout, types: $0.types) }
        let provider = await provider(host: "service.example", bootstrap: bootstrap)
        #expect(await provider.endpoints.isEmpty)
        await Loop.executor.idle()
        #expect(await bootstrap.asked.isEmpty)
    }

    @Test func `a question that comes while the host is looked up waits for it`() async throws {
        let bootstrap = await FakeBootstrap { question in
            UpstreamReply([
                .a: .answer(Answer(name: question.name, addresses: [.v4(0x7f00_0001)], ttl: 60)),
                .aaaa: .failure(.timeout),
            ])
        }
        let provider = await provider(host: "service.example", scheme: .https, bootstrap: bootstrap)
        // The server speaks no TLS, so the attempt fails, but only after the look-up has told where to make it.
        #expect(
            try await ask(provider).results[.a]
                != .failure(.network("service.example (being looked up): no address found")))
        #expect(await bootstrap.asked.count == 1)
        #expect(server.connections == 1)
    }

    @Test func `a question fails at once when the host's look-up has failed`() async throws {
        let provider = await provider(host: "service.example", scheme: .https)
        let reply = try await ask(provider)
        #expect(reply.results[.a] == .failure(.network("service.example (being looked up): no address found")))
    }

    @Test func `an https host is looked up, and its addresses become endpoints`() async throws {
        let bootstrap = await FakeBootstrap { question in
            UpstreamReply([
                .a: .answer(Answer(name: question.name, addresses: [.v4(0x7f00_0001)], ttl: 60)),
                .aaaa: .failure(.timeout),
            ])
        }
        let provider = await provider(host: "Service.Example", scheme: .https, bootstrap: bootstrap)
        await provider.start()
        #expect(
            await HTTPFixture.eventually {
                await provider.endpoints.map(\.name) == ["127.0.0.1:\(server.address.port)"]
            })
        #expect(await bootstrap.asked.map(\.name) == [try Name("service.example")])
    }
}
