import DNSResolver
import DNSWire
import Foundation
import HTTPDNS
import Platform
import Scheduling
import TestSupport
import Testing
import Upstreams

/// Questions that share requests to one address of a service, Aliyun's, which takes five names at once.
@Suite(.onLoop, .timeLimit(.minutes(10)))
struct HTTPDNSBatchTests {
    private static let secret = "0123456789abcdef0123456789abcdef"
    private let server: FakeHTTPDNS
    private let names: [Name]

    init() throws {
        names = try (1...12).map { try Name("host\($0).example.com") }
        var zone = FakeZone()
        for number in 1...12 {
            zone.entries["host\(number).example.com"] = .init(a: ["192.0.2.\(number)"], aaaa: ["2001:db8::\(number)"])
        }
        server = try FakeHTTPDNS(zone, secret: Self.secret)
    }

    /// LocalDNS, which nobody needs here.
    private final class Nobody: Upstream {
        let name = "nobody"

        func ask(_ question: UpstreamQuestion) async -> UpstreamReply {
            UpstreamReply(failure: .timeout, types: question.types)
        }
    }

    /// The replies to questions that were begun in one turn of the loop.
    @Loop
    private final class Replies {
        var replies: [Name: UpstreamReply] = [:]
        var attempts: [any Cancellable] = []

        func has(_ count: Int) -> Bool { replies.count >= count }

        /// Whether a name has its own two addresses.
        func isRight(_ number: Int) -> Bool {
            guard let name = try? Name("host\(number).example.com"), let results = replies[name]?.results,
                let four = IPAddress("192.0.2.\(number)"), let six = IPAddress("2001:db8::\(number)")
            else { return false }
            return results[.a] == .answer(Answer(name: name, addresses: [four], ttl: 60))
                && results[.aaaa] == .answer(Answer(name: name, addresses: [six], ttl: 60))
        }
    }

    @Loop
    private func provider(isSigned: Bool = false, limit: Int = 0) -> HTTPDNSUpstream {
        let service = AliyunService(
            account: DaemonConfiguration.account, secret: isSigned ? Secret(Self.secret) : nil, crypto: OpenSSLCrypto())
        return HTTPDNSUpstream(
            HTTPDNSSettings(
                name: "aliyun", service: service, scheme: .http, host: "127.0.0.1", port: server.address.port,
                dailyLimit: limit, timeout: .patience),
            loop: LoopRunner.shared.loop, bootstrap: Nobody(),
            timeOfDay: { Int64(Date().timeIntervalSince1970) })
    }

    @Loop
    private func begin(
        _ names: some Sequence<Name>, at provider: HTTPDNSUpstream, mayBeBatched: Bool = true
    ) throws -> Replies {
        let endpoint = try #require(provider.endpoints.first)
        let replies = Replies()
        for name in names {
            let question = UpstreamQuestion(
                name: name, types: [.a, .aaaa], mayBeBatched: mayBeBatched, deadline: .bootTime + .patience)
            replies.attempts.append(endpoint.begin(question) { replies.replies[name] = $0 })
        }
        return replies
    }

    /// The names of each request, in the order in which they arrived.
    private var hosts: [[String]] {
        server.requests.map { ($0.parameters["host"] ?? "").split(separator: ",").map(String.init) }
    }

    private var paths: [String] { server.requests.map { String($0.path.drop { $0 == "/" }.drop { $0 != "/" }) } }

    @Test @Loop func `questions of one turn share requests of five names, and each gets its own answer`() async throws {
        let replies = try begin(names, at: provider())
        #expect(await HTTPFixture.eventually { await replies.has(12) })
        #expect((1...12).allSatisfy { replies.isRight($0) })
        #expect(hosts.map(\.count).sorted() == [2, 5, 5] && paths.allSatisfy { $0 == "/resolve" })
    }

    @Test @Loop func `a question that has no company, or may not be kept for any, is asked as ever`() async throws {
        let provider = provider()
        let one = try begin(names[..<1], at: provider)
        #expect(await HTTPFixture.eventually { await one.has(1) })
        let two = try begin(names[..<2], at: provider, mayBeBatched: false)
        #expect(await HTTPFixture.eventually { await two.has(2) })
        #expect(paths == ["/d", "/d", "/d"])
    }

    @Test @Loop func `names on which the reply is silent, if only for a family, are asked alone`() async throws {
        let half =
            #"{"dns":[{"host":"host2.example.com","ips":["192.0.2.2"],"type":1,"ttl":60},"#
            + #"{"host":"host1.example.com","ips":["192.0.2.1"],"type":1,"ttl":60},"#
            + #"{"host":"host1.example.com","ips":["2001:db8::1"],"type":28,"ttl":60}]}"#
        server.misbehave(.body(Array(half.utf8)), times: 1)
        let replies = try begin(names[..<3], at: provider())
        #expect(await HTTPFixture.eventually { await replies.has(3) })
        #expect((1...3).allSatisfy { replies.isRight($0) })
        try #require(hosts.count == 3)
        #expect(hosts[0].count == 3)
        #expect(Set(hosts[1...]) == [["host2.example.com"], ["host3.example.com"]])
    }

    @Test(arguments: [
        HTTPFault.body(Array("<html>".utf8)), .wrongName, .status(400, body: #"{"code":"InvalidHost"}"#),
        .status(404),
    ])
    @Loop func `a batch that is refused or cannot be read is asked name by name`(fault: HTTPFault) async throws {
        server.misbehave(fault, times: 1)
        let replies = try begin(names[..<5], at: provider())
        #expect(await HTTPFixture.eventually { await replies.has(5) })
        #expect((1...5).allSatisfy { replies.isRight($0) })
        #expect(paths == ["/resolve", "/d", "/d", "/d", "/d", "/d"])
    }

    @Test(arguments: [HTTPFault.status(503), .status(429), .status(401), .closeBeforeReply])
    @Loop func `a service in trouble, or that refuses the account, is not asked name by name, and blamed once`(
        fault: HTTPFault
    ) async throws {
        server.misbehave(fault)
        let replies = try begin(names[..<5], at: provider())
        #expect(await HTTPFixture.eventually { await replies.has(5) })
        #expect(paths == ["/resolve"])
        #expect(replies.replies.values.count { !$0.isRepetition } == 1)
        let hasFailed = replies.replies.values.allSatisfy { reply in
            reply.results.allSatisfy { if case .failure = $0.value { true } else { false } }
        }
        #expect(hasFailed)
    }

    @Test @Loop func `a name that the service cannot write goes alone, and harms no other`() async throws {
        let odd = try Name("odd\\032name.example.com")
        let replies = try begin(names[..<2] + [odd], at: provider())
        #expect(await HTTPFixture.eventually { await replies.has(3) })
        #expect(replies.isRight(1) && replies.isRight(2))
        let refused = UpstreamFailure.rejected("a name with other bytes than letters, digits, hyphens and underscores")
        #expect(replies.replies[odd]?.results[.a] == .failure(refused))
        #expect(paths == ["/resolve"])
    }

    @Test @Loop func `whoever gives up before the turn ends is not asked for, and later harms no other`() async throws {
        server.misbehave(.hang)
        let replies = try begin(names[..<4], at: provider())
        replies.attempts[0].cancel()
        #expect(await HTTPFixture.eventually { server.callCount() == 1 })
        replies.attempts[1].cancel()
        server.misbehave(nil)
        #expect(await HTTPFixture.eventually { await replies.has(2) })
        #expect(replies.isRight(3) && replies.isRight(4) && replies.replies.count == 2, "\(replies.replies)")
        #expect(hosts == [["host2.example.com", "host3.example.com", "host4.example.com"]])
    }

    @Test @Loop func `when all have given up the request ends`() async throws {
        server.misbehave(.hang)
        let replies = try begin(names[..<3], at: provider())
        #expect(await HTTPFixture.eventually { server.callCount() == 1 })
        for attempt in replies.attempts { attempt.cancel() }
        #expect(await HTTPFixture.eventually { server.openConnections == 0 })
        #expect(replies.replies.isEmpty)
    }

    @Test @Loop func `a batch counts as many calls as it has names, and what the limit leaves is asked alone`()
        async throws
    {
        let provider = provider(limit: 7)
        let replies = try begin(names[..<10], at: provider)
        #expect(await HTTPFixture.eventually { await replies.has(10) })
        #expect(hosts.map(\.count).sorted() == [1, 1, 5])
        #expect(provider.callsToday == (7, 7))
        let refused = UpstreamResult.failure(.overloaded("its daily_limit of 7 calls is reached"))
        #expect(replies.replies.values.count { $0.results[.a] == refused } == 3)
    }

    @Test @Loop func `a batch is signed, by the service's clock once that is known`() async throws {
        server.setClock(ahead: 3 * 3_600)
        let replies = try begin(names[..<3], at: provider(isSigned: true))
        #expect(await HTTPFixture.eventually { await replies.has(3) })
        #expect((1...3).allSatisfy { replies.isRight($0) })
        #expect(paths == ["/sign_resolve", "/sign_resolve"])
    }
}
