import DNSWire
import HTTPDNS
import Platform
import TestServers
import TestSupport
import Testing

@testable import Upstreams

/// Servers that use HTTP/2 in ways that nginx does not. Not on the loop: waiting until one has started would block it.
@Suite(.timeLimit(.minutes(10)))
struct HTTP2ConnectionTests {
    let certificates: TestCertificates

    init() throws { certificates = try TestCertificates() }

    private func server(streams: Int = 100, _ behaviours: ScriptedHTTP2.Behaviour...) throws -> ScriptedHTTP2 {
        try ScriptedHTTP2(certificates.leaf(names: ["right.example"]), streams: streams, behaviours)
    }

    private func transfers(_ server: ScriptedHTTP2, clock: ManualClock? = nil) async throws -> HTTPTransfers {
        await HTTPFixture.secure(server.port, authority: certificates.authority, clock: clock)
    }

    /// A server and transfers to it.
    private func pair(
        streams: Int = 100, _ behaviours: ScriptedHTTP2.Behaviour...
    ) async throws -> (ScriptedHTTP2, HTTPTransfers) {
        let server = try ScriptedHTTP2(certificates.leaf(names: ["right.example"]), streams: streams, behaviours)
        return (server, try await transfers(server))
    }

    @Test func `half a reply is none, though its stream ends without an error`() async throws {
        let server = try server(.cut)
        let failure = try await transfers(server).get("www.example.com").failure
        #expect(failure == .network("HTTP/2: the stream was reset (NO_ERROR)"))
    }

    @Test func `a server that breaks HTTP/2's rules gets the error, and its requests fail at once`() async throws {
        let server = try server(.confuse)
        let transfers = try await transfers(server)
        // Waiting for longer would end in a time-out.
        #expect(await transfers.get("www.example.com").failure == .network("the connection was closed"))
        #expect(await transfers.openConnections == 0)
    }

    @Test func `a connection made in advance that turns out dead is replaced without a failure`() async throws {
        let (server, transfers) = try await pair(.break, .answer)
        await transfers.connect(timeout: .patience)
        #expect(await transfers.get("www.example.com").isSuccess)
        #expect(server.connections == 2)
    }

    @Test func `after a change of network requests on two connections share a fresh one`() async throws {
        let (server, transfers) = try await pair(.goodbye, .hang, .answer)
        async let first = transfers.get("first.example.com")
        #expect(await HTTPFixture.eventually { server.goodbyes == 1 })
        async let second = transfers.get("second.example.com")
        #expect(await HTTPFixture.eventually { server.connections == 2 })
        await transfers.renewConnections()
        #expect(await first.isSuccess)
        #expect(await second.isSuccess)
        #expect(server.connections == 3)
    }

    // MARK: Renewal

    @Test(arguments: [ScriptedHTTP2.Behaviour.fail, .break, .hang, .cut])
    func `a renewing request that fails closes its connection, and the older one serves on`(
        behaviour: ScriptedHTTP2.Behaviour
    ) async throws {
        let (server, transfers) = try await pair(.answer, behaviour, .answer)
        #expect(await transfers.get("first.example.com").isSuccess)
        // Long enough for a connection on a busy machine.
        let result = await transfers.get(
            "second.example.com", timeout: behaviour == .hang ? .seconds(3) : .patience, renewing: true)
        #expect(result.status != 200)
        #expect(await transfers.openConnections == 1)
        #expect(await transfers.get("third.example.com").status == 200)
        // One that was given up may be accepted only now.
        #expect(await HTTPFixture.eventually { server.connections == 2 })
        #expect(await transfers.get("fourth.example.com", renewing: true).status == 200)
        #expect(server.connections == 3)
    }

    @Test func `what is under way on the older connection ends there after a renewal`() async throws {
        let (server, transfers) = try await pair(.slow, .answer)
        #expect(await transfers.get("first.example.com").isSuccess)
        // One after the other, 100 ms each: long enough to observe some of them under way on a busy machine.
        async let slow = HTTPFixture.parallel(30, on: transfers)
        #expect(await HTTPFixture.eventually { await transfers.load.active >= 10 })
        async let second = transfers.get("second.example.com", renewing: true)
        #expect(await HTTPFixture.eventually { await transfers.openConnections == 2 })
        #expect(await second.isSuccess)
        #expect(await slow.allSucceeded)
        #expect(await transfers.openConnections == 1)
        #expect(server.connections == 2)
    }

    @Test func `others stay on the older connection during a renewal, and there is one at a time`() async throws {
        let (server, transfers) = try await pair(.answer, .hang)
        #expect(await transfers.get("first.example.com").isSuccess)
        let renewal = Task { await transfers.get("second.example.com", renewing: true) }
        #expect(await HTTPFixture.eventually { server.connections == 2 })
        #expect(await HTTPFixture.parallel(40, on: transfers).allSucceeded)
        guard case .overloaded = await transfers.get("third.example.com", renewing: true).failure else {
            Issue.record("two renewals")
            return
        }
        renewal.cancel()
        _ = await renewal.value
        #expect(await transfers.openConnections == 1)
        #expect(server.connections == 2)
    }

    @Test func `retired connections take no further request, and close without one`() async throws {
        let (server, transfers) = try await pair(.slow, .answer)
        async let slow = transfers.get("first.example.com")
        #expect(await HTTPFixture.eventually { await transfers.openConnections == 1 })
        await transfers.retireConnections()
        #expect(await transfers.get("second.example.com").isSuccess)
        #expect(await slow.isSuccess)
        #expect(await transfers.openConnections == 1)
        await transfers.retireConnections()
        #expect(await transfers.openConnections == 0)
        #expect(server.connections == 2)
    }

    // MARK: Resumed sessions

    @Test(arguments: [true, false])
    func `a resumed session's certificate stays as old as it was, that of a session which is refused is a new one`(
        isResumed: Bool
    ) async throws {
        let leaf = try certificates.leaf(names: ["right.example"])
        let server = try Nginx(leaf, tlsVersions: "TLSv1.2")
        let origin = HTTPOrigin(
            scheme: .https, address: HTTPFixture.loopback, port: server.address.port, hosts: ["right.example"],
            caFile: certificates.authority)
        let pool = await HTTPConnections(origin, loop: LoopRunner.shared.loop)
        let earlier = try await connect(to: origin, pool) - .seconds(3_000)
        await pool.age(until: earlier)
        var other = origin
        let unknown = try Nginx(leaf, tlsVersions: "TLSv1.2")
        other.port = unknown.address.port
        let verified = try await connect(to: isResumed ? origin : other, pool)
        #expect((verified == earlier) == isResumed)
    }

    /// Makes a connection, with the last one's session, and closes it. Returns when its own session was verified.
    @Loop
    private func connect(to origin: HTTPOrigin, _ pool: HTTPConnections) async throws -> Instant {
        let connection = try HTTPConnection(
            origin, host: 0, resuming: pool.sessions[0], loop: LoopRunner.shared.loop
        ) { pool.hear($1, of: $0) }
        #expect(await HTTPFixture.eventually { await connection.idleSince != nil })
        connection.closeIfIdle()
        return try #require(pool.sessions[0]).verified
    }

    // MARK: Requests without a reply

    @Test func `a server that counts the streams we reset has no reason to complain`() async throws {
        let (server, transfers) = try await pair(.complain)
        for number in 0..<60 { #expect(await transfers.get("n\(number).example.com").failure == .tooLarge) }
        #expect(server.goodbyes == 0)
        #expect(server.connections == 60 / HTTPLimits.lostStreams)
    }

    @Test func `a server that sends pings and answers nothing is silent, until a new connection`() async throws {
        let (server, transfers) = try await pair(.ping, .answer)
        #expect(await transfers.get("first.example.com", timeout: .seconds(2)).failure == .timeout)
        #expect(await transfers.get("probe.example.com", renewing: true).isSuccess)
        #expect(await transfers.get("second.example.com").isSuccess)
        #expect(server.connections == 2)
    }

    @Test func `a server that changes its keys without end is broken off`() async throws {
        let server = try CertificateServer.keyFlood(certificates.leaf(names: ["right.example"]))
        let transfers = await HTTPFixture.secure(server.port, authority: certificates.authority)
        let failure = await transfers.get("first.example.com").failure
        #expect(failure == .network("the server sends too much beside replies"))
    }

    @Test func `a server that takes one request at once is asked over several connections`() async throws {
        let (server, transfers) = try await pair(streams: 1, .slow)
        #expect(await transfers.get("first.example.com").isSuccess)
        #expect(await HTTPFixture.parallel(40, on: transfers).allSucceeded)
        #expect((2...HTTPLimits.connections).contains(server.connections))
    }

    @Test func `where one name ends each connection, as if nothing was taken, others are answered`() async throws {
        let (server, transfers) = try await pair(.doh)
        #expect(await transfers.perform(question("first.example"), deadline: .bootTime + .patience).isSuccess)
        let ask = { (name: String) in
            Task { await transfers.perform(question(name), deadline: .bootTime + .patience) }
        }
        let (ending, others) = (ask("untaken.example"), (0..<40).map { ask("n\($0).example") })
        for other in others { #expect(await other.value.isSuccess) }
        #expect(await !ending.value.isSuccess)
        #expect(server.connections <= 3 + others.count + HTTPLimits.refusals)
    }

    @Test func `a refused request goes to another connection, and is not paid for twice`() async throws {
        let (server, transfers) = try await pair(.refuse, .answer)
        let calls = Calls()
        let result = await transfers.perform(
            HTTPFixture.request("www.example.com"), deadline: .bootTime + .patience,
            permit: { calls.take() })
        #expect(result.isSuccess)
        #expect(server.connections == 2)
        #expect(await calls.count == 1)
    }

    @Test func `a request that is refused everywhere ends`() async throws {
        let server = try server(.refuse)
        let failure = try await transfers(server).get("www.example.com").failure
        #expect(failure == .network("HTTP/2: the stream was reset (REFUSED_STREAM)"))
        #expect(server.connections <= 5)
    }

    @Test func `a request wanted over HTTP/1.1 goes there, paid for once, and leaves others on HTTP/2`() async throws {
        let (server, transfers) = try await pair(.doh)
        let calls = Calls()
        for (name, isMultiplexed) in [("www.example", true), ("downgrade.example", false), ("other.example", true)] {
            let result = await transfers.perform(
                question(name), deadline: .bootTime + .patience, permit: { calls.take() })
            #expect(result.isSuccess)
            #expect(await transfers.isMultiplexed == isMultiplexed)
        }
        #expect(server.connections == 2)
        #expect(await calls.count == 3)
    }

    @Test func `many requests that are wanted over HTTP/1.1 at once all go there`() async throws {
        let server = try server(.downgrade)
        let transfers = try await transfers(server)
        #expect(await HTTPFixture.parallel(100, on: transfers).allSucceeded)
    }

    @Test func `a server without HTTP/2 is asked where it said so, each request on its own connection`() async throws {
        let server = try Nginx(certificates.leaf(names: ["right.example"]), http2: false)
        let relay = try HTTPRelay(to: server.address)
        let transfers = await HTTPFixture.secure(relay.port, authority: certificates.authority)
        for _ in 0..<2 { #expect(await transfers.get("www.example.com").isSuccess) }
        #expect(await !transfers.isMultiplexed)
        #expect(relay.connections == 1)
        // Others wait for the handshake in which the server chooses.
        let fresh = await HTTPFixture.secure(relay.port, authority: certificates.authority)
        #expect(await HTTPFixture.parallel(40, on: fresh).allSucceeded)
        #expect((3...41).contains(relay.connections))
        #expect(await fresh.openConnections <= HTTPLimits.connections)
    }

    @Test func `of a server that only says goodbye there are never more than a few connections`() async throws {
        let server = try server(.goodbye)
        let transfers = try await transfers(server)
        let most = await HTTPFixture.peak(of: { transfers.openConnections }) {
            #expect(await HTTPFixture.parallel(40, on: transfers, timeout: .seconds(1)).allSatisfy { !$0.isSuccess })
        }
        #expect(most <= HTTPLimits.connections + HTTPLimits.separateConnections)
    }

    @Test func `of a server that does anything each request ends once, with its own reply or none`() async throws {
        let server = try server(.chaos)
        let crowd = try await Crowd(transfers(server))
        // On a slow machine more requests end by their time-outs: then further ones are sent.
        for _ in 0..<10 where await crowd.replies <= 200 { await crowd.ask(400) }
        let mistakes = await crowd.mistakes
        #expect(mistakes == [])
        #expect(await crowd.replies > 200)
        #expect(await crowd.load == (0, 0))
    }

    /// A DNS query for A (RFC 8484 section 4.1).
    private func question(_ name: String) -> HTTPDNS.HTTPRequest {
        let labels = name.split(separator: ".").flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        let query: [UInt8] = [0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0] + labels + [0, 0, 1, 0, 1]
        return HTTPDNS.HTTPRequest(target: "/?dns=" + query.base64URL)
    }

    @Test func `a connection over a long way is not dead before that time`() async throws {
        let server = try server(.doh)
        // The handshake takes as long as one would over such a way.
        let relay = try HTTPRelay(to: TestAddress("127.0.0.1", port: server.port), delay: .milliseconds(1_100))
        let transfers = await HTTPFixture.secure(relay.port, authority: certificates.authority)
        #expect(await transfers.perform(question("late.example"), deadline: .bootTime + .patience).isSuccess)
        #expect(relay.connections == 1)
    }

    @Test func `one client's requests that hold every separate connection keep none from another's`() async throws {
        let server = try server(.doh)
        let transfers = try await transfers(server)
        func ask(_ name: String, _ client: UInt32) -> Task<Result<HTTPDNS.HTTPResponse, UpstreamFailure>, Never> {
            Task {
                await transfers.perform(
                    question(name), deadline: .bootTime + .patience, holder: ClientNetwork(.v4(client << 8)))
            }
        }
        let hanging = (0..<40).map { ask("hang\($0).example", 0xc0_0001) }
        #expect(await HTTPFixture.eventually { await transfers.load.active == 40 })
        var breaking = [ask("fin.example", 0xc0_0001)]
        #expect(await HTTPFixture.eventually { await transfers.load.waiting == 9 })
        breaking.append(ask("fin.example", 0xc0_0001))
        #expect(await ask("victim.example", 0xc0_0002).value.isSuccess)
        let left = hanging + breaking
        for task in left { task.cancel() }
        for task in left { #expect(await task.value.failure == .cancelled) }
        #expect(await transfers.load == (0, 0))
    }

    @Test func `a reply comes though the service is released before it`() async throws {
        let server = try server(.answer)
        #expect(try await askAndLetGo(server).isSuccess)
    }

    /// Sends a request and releases the service.
    @Loop
    private func askAndLetGo(_ server: ScriptedHTTP2) async throws -> Result<HTTPDNS.HTTPResponse, UpstreamFailure> {
        var transfers: HTTPTransfers? = try await transfers(server)
        return await withCheckedContinuation { continuation in
            _ = transfers?.begin(
                HTTPFixture.request("www.example.com"), deadline: .bootTime + .patience
            ) { continuation.resume(returning: $0) }
            transfers = nil
        }
    }

    @Test func `no completion is called inside another request's begin`() async throws {
        let server = try server(.hang)
        #expect(try await !isEndedInsideBegin(transfers(server)))
    }

    /// Whether the completion of one of several silent requests is called while another one begins.
    @Loop
    private func isEndedInsideBegin(_ transfers: HTTPTransfers) async throws -> Bool {
        let watch = BeginWatch()
        for number in 0..<20 {
            watch.isBeginning = true
            _ = transfers.begin(
                HTTPFixture.request("n\(number).example.com"), deadline: .bootTime + .seconds(1)
            ) { _ in watch.note() }
            watch.isBeginning = false
            // Each finds that the connection has been silent for longer than it may be.
            if number == 9 { #expect(await HTTPFixture.eventually { await watch.ended > 0 }) }
        }
        transfers.renewConnections()
        #expect(await HTTPFixture.eventually { await transfers.load == (0, 0) })
        return watch.isEndedInside
    }
}

/// Requests whose bodies are to be echoed, some of which are cancelled, and their results.
@Loop
private final class Crowd {
    private let transfers: HTTPTransfers
    private var numbers = SeededNumbers(11)
    private var sent = 0
    /// Requests that have neither ended nor been cancelled.
    private var waiting: [Int: any Cancellable] = [:]
    private(set) var mistakes: [String] = []
    private(set) var replies = 0

    init(_ transfers: HTTPTransfers) { self.transfers = transfers }

    var load: (active: Int, waiting: Int) { transfers.load }

    /// Sends `count` requests, at most 40 at once, and returns when none is left.
    func ask(_ count: Int) async {
        for number in sent..<sent + count {
            begin(number)
            if Int.random(in: 0..<10, using: &numbers) == 0 { cancelAny() }
            while waiting.count >= 40 { await Task.yield() }
        }
        sent += count
        while !waiting.isEmpty { await Task.yield() }
    }

    private func begin(_ number: Int) {
        let body = Array(String(repeating: "\(number);", count: Int.random(in: 1...2_000, using: &numbers)).utf8)
        waiting[number] = transfers.begin(
            HTTPRequest(target: "/", body: body), deadline: .bootTime + .milliseconds(1_000)
        ) { [self] result in
            if waiting.removeValue(forKey: number) == nil { mistakes.append("\(number) ends twice, or was cancelled") }
            guard case .success(let response) = result else { return }
            replies += 1
            if response.body != body { mistakes.append("\(number) gets another reply than its own") }
        }
    }

    private func cancelAny() {
        guard let number = waiting.keys.sorted().randomElement(using: &numbers) else { return }
        waiting.removeValue(forKey: number)?.cancel()
    }
}

extension HTTPConnections {
    /// Has the certificate of the last session been verified earlier.
    fileprivate func age(until verified: Instant) { sessions[0]?.verified = verified }
}

/// The number of times that a request was permitted.
@Loop
private final class Calls {
    private(set) var count = 0

    nonisolated init() {}

    func take() -> Bool {
        count += 1
        return true
    }
}

/// Whether a completion is called while a request begins.
@Loop
private final class BeginWatch {
    var isBeginning = false
    private(set) var isEndedInside = false
    private(set) var ended = 0

    func note() {
        ended += 1
        if isBeginning { isEndedInside = true }
    }
}
