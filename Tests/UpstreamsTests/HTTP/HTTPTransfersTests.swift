import DNSWire
import Glibc
import HTTPDNS
import Platform
import TestServers
import TestSupport
import Testing

@testable import Upstreams

@Suite(.onLoop, .timeLimit(.minutes(10)))
struct HTTPTransfersTests {
    let server: FakeHTTPDNS

    init() throws { server = try FakeHTTPDNS(HTTPFixture.zone) }

    @Test func `the URL's host and path are the service's, whatever address is connected to`() async throws {
        let origin = HTTPOrigin(
            scheme: .http, address: HTTPFixture.loopback, port: server.address.port, hosts: ["service.example"],
            basePath: "/base/")
        let transfers = await HTTPTransfers(origin, loop: LoopRunner.shared.loop)
        _ = await transfers.get("www.example.com")
        #expect(server.requests.first?.header("host") == "service.example:\(server.address.port)")
        #expect(server.requests.first?.target == "/base/139450/d?host=www.example.com")
    }

    @Test(arguments: [(429, nil), (502, nil), (503, nil), (503, 1)] as [(Int, Int?)])
    func `of 30 requests at once to a service that takes eight all are answered`(status: Int, retryAfter: Int?)
        async throws
    {
        server.misbehave(.atMost(8, taking: .milliseconds(50), else: status, retryAfter: retryAfter))
        let clock = ManualClock(now: .bootTime)
        let transfers = await HTTPFixture.plain(server.address, clock: clock)
        let time = HTTPFixture.passTime(of: clock, beside: transfers)
        defer { time.cancel() }
        let statuses = try await HTTPFixture.parallel(30, on: transfers).map { try $0.get().status }
        #expect(statuses == Array(repeating: 200, count: 30))
        #expect(await transfers.pace.limit != nil)
    }

    @Test func `a service that answers nothing else has failed`() async throws {
        server.misbehave(.status(503))
        let transfers = await HTTPFixture.plain(server.address)
        #expect(try await transfers.get("www.example.com").get().status == 503)
        let before = server.callCount()
        #expect(before <= 4)
        // The next one is not sent again: nothing was answered for 0.9 s.
        #expect(try await transfers.get("other.example.com").get().status == 503)
        #expect(server.callCount() == before + 1)
    }

    @Test func `a name that a service fails is asked for four times in 1.9 s, others are answered`() async throws {
        server.misbehave(.status(502), for: "bad.example.com")
        let clock = ManualClock(now: .bootTime)
        let transfers = await HTTPFixture.plain(server.address, clock: clock)
        let bad = Task { await transfers.get("bad.example.com") }
        #expect(await HTTPFixture.eventually { server.callCount() == 1 })
        for number in 0..<50 {
            #expect(await transfers.get("n\(number).example.com").isSuccess)
            #expect(await HTTPFixture.eventually { await transfers.load.active == 0 })
            await clock.advance(by: .milliseconds(38))
        }
        bad.cancel()
        #expect(await bad.value.failure == .cancelled)
        #expect(server.callCount("bad.example.com") == 4)
    }

    @Test func `while plain requests wait each connection is used again`() async throws {
        server.misbehave(.delay(.milliseconds(20)))
        let transfers = await HTTPFixture.plain(server.address)
        #expect(await HTTPFixture.parallel(300, on: transfers).allSucceeded)
        // Some are closed while the last requests end.
        #expect(server.connections <= HTTPLimits.unsharedRequests + HTTPLimits.connections)
    }

    @Test func `when many plain requests have ended the next ones leave a few connections, and open none`() async throws
    {
        server.misbehave(.hang)
        let transfers = await HTTPFixture.plain(server.address)
        async let results = HTTPFixture.parallel(HTTPLimits.unsharedRequests, on: transfers)
        #expect(await HTTPFixture.eventually { server.callCount() == HTTPLimits.unsharedRequests })
        server.misbehave(nil)
        #expect(await results.allSucceeded)
        let before = server.connections
        for number in 0..<HTTPLimits.unsharedRequests {
            #expect(await transfers.get("n\(number).example.com").isSuccess)
        }
        #expect(await HTTPFixture.eventually { server.openConnections <= HTTPLimits.connections })
        #expect(server.connections == before)
    }

    @Test(arguments: [
        HTTPFault.endless("HTTP/1.1 200 OK\r\nX: ", "x"), .endless("HTTP/1.1 200 OK\r\n", "X: x\r\n"),
        .endless("", "HTTP/1.1 103 Early Hints\r\n\r\n"),
        .endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X: x\r\n"),
        .endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"),
    ])
    func `a reply without an end is refused at its limit`(fault: HTTPFault) async throws {
        server.misbehave(fault)
        let transfers = await HTTPFixture.plain(server.address)
        #expect(await transfers.get("www.example.com").failure == .tooLarge)
        #expect(await HTTPFixture.eventually { server.openConnections == 0 })
    }

    @Test func `a reply that comes byte by byte ends with its time, and holds nothing after that`() async throws {
        server.misbehave(.drip(.milliseconds(50)))
        let transfers = await HTTPFixture.plain(server.address)
        // A request that was not sent when its time is over leaves the connection to others.
        await transfers.connect(timeout: .patience)
        #expect(await transfers.get("www.example.com", timeout: .milliseconds(500)).failure == .timeout)
        #expect(await transfers.load == (0, 0))
        #expect(await transfers.openConnections == 0)
        #expect(await HTTPFixture.eventually { server.openConnections == 0 })
    }

    @Test func `an error whose body is compressed is a reply like any other`() async throws {
        // After the request's deadline, so that it is not sent again.
        let clock = ManualClock(now: .bootTime + .patience * 3)
        let transfers = await HTTPFixture.plain(server.address, clock: clock)
        server.addHeaders(["Content-Encoding: gzip"])
        server.misbehave(.status(429, body: "?", retryAfter: 7))
        #expect(await transfers.get("www.example.com").status == 429)
        #expect(server.callCount() == 1)
    }

    @Test func `a service is asked also by a process without a standard input`() async throws {
        await #expect(processExitsWith: .success) { [port = server.address.port as UInt16] in
            _ = LoopRunner.shared
            let transfers = await HTTPFixture.plain(TestAddress("127.0.0.1", port: port))
            close(STDIN_FILENO)
            _ = try await transfers.get("www.example.com").get()
        }
        #expect(server.requests.count == 1)
    }

    @Test func `a socket that cannot be opened for want of descriptors is not the address's fault`() async {
        // In a process of its own, since the limit is the whole process's.
        await #expect(processExitsWith: .success) {
            _ = LoopRunner.shared
            let transfers = await HTTPFixture.plain(TestAddress("127.0.0.1", port: 9))
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = 3
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let failure = await transfers.get("www.example.com").failure
            #expect(failure == .overloaded("no socket for 127.0.0.1:9: out of file descriptors"))
        }
    }

    @Test func `a request that never got its turn is overload, not a time-out`() async throws {
        server.misbehave(.hang)
        let transfers = await HTTPFixture.plain(server.address)
        let hanging = Task { await HTTPFixture.parallel(HTTPLimits.unsharedRequests, on: transfers) }
        #expect(await HTTPFixture.eventually { await transfers.load.active == HTTPLimits.unsharedRequests })
        let result = await transfers.perform(
            HTTPFixture.request("late.example.com"), deadline: .bootTime + .milliseconds(100))
        guard case .overloaded(let text) = result.failure,
            text.hasPrefix("not sent in time: \(HTTPLimits.unsharedRequests) ")
        else {
            Issue.record("\(result)")
            return
        }
        hanging.cancel()
        #expect(await hanging.value.allSatisfy { $0.failure == .cancelled })
    }

    @Test func `a client whose requests hang has every connection while alone, and shares them then`() async throws {
        server.misbehave(.hang)
        server.misbehave(.delay(.zero), for: "www.example.com")
        let transfers = await HTTPFixture.plain(server.address)
        let one = ClientNetwork(HTTPFixture.loopback)
        let hanging = Task { await HTTPFixture.parallel(HTTPLimits.unsharedRequests + 12, on: transfers, holder: one) }
        #expect(await HTTPFixture.eventually { await transfers.load == (HTTPLimits.unsharedRequests, 12) })
        let other = ClientNetwork(.v4(0xc000_0201))
        #expect(await transfers.get("www.example.com", holder: other).isSuccess)
        // What was displaced is queued, not failed.
        #expect(await HTTPFixture.eventually { await transfers.load == (HTTPLimits.unsharedRequests, 12) })
        let others = Task {
            await HTTPFixture.parallel(HTTPLimits.unsharedRequests + 12, on: transfers, name: "other", holder: other)
        }
        #expect(
            await HTTPFixture.eventually {
                server.requests.count { $0.target.contains("other") } == HTTPLimits.unsharedRequests / 2
            })
        #expect(await transfers.load == (HTTPLimits.unsharedRequests, HTTPLimits.unsharedRequests + 24))
        for task in [hanging, others] {
            task.cancel()
            #expect(await task.value.allSatisfy { $0.failure == .cancelled })
        }
    }

    @Test func `a cancelled request ends at once and leaves nothing behind`() async throws {
        server.misbehave(.hang)
        let transfers = await HTTPFixture.plain(server.address)
        let task = Task { await HTTPFixture.parallel(HTTPLimits.unsharedRequests + 12, on: transfers) }
        #expect(await HTTPFixture.eventually { await transfers.load == (HTTPLimits.unsharedRequests, 12) })
        #expect(await HTTPFixture.eventually { server.callCount() == HTTPLimits.unsharedRequests })
        task.cancel()
        #expect(await task.value.allSatisfy { $0.failure == .cancelled })
        #expect(await transfers.load == (0, 0))
        #expect(await transfers.openConnections == 0)
    }

    @Test func `requests that are cancelled before they are sent leave a few connections`() async throws {
        server.misbehave(.hang)
        let transfers = await HTTPFixture.plain(server.address)
        let task = Task { await HTTPFixture.parallel(HTTPLimits.unsharedRequests, on: transfers) }
        #expect(await HTTPFixture.eventually { await transfers.load == (HTTPLimits.unsharedRequests, 0) })
        task.cancel()
        #expect(await task.value.allSatisfy { $0.failure == .cancelled })
        #expect(await transfers.openConnections <= HTTPLimits.connections)
    }

    @Test func `a request that breaks a used connection is sent once more, and no more`() async throws {
        let transfers = await HTTPFixture.plain(server.address)
        _ = await transfers.get("first.example.com")
        server.misbehave(.closeMidBody)
        #expect(await transfers.get("www.example.com").isNetworkFailure)
        #expect(server.callCount("www.example.com") == 2)
    }

    @Test func `a connection that the server ends with 408 as a request crosses it leaves that request to another one`()
        async throws
    {
        let transfers = await HTTPFixture.plain(server.address)
        server.misbehave(.status(408), times: 1)
        #expect(try await transfers.get("www.example.com").get().status == 200)
        server.misbehave(.status(408))
        #expect(await transfers.get("again.example.com").isNetworkFailure)
        #expect(server.callCount("again.example.com") == 2)
    }

    @Test func `a renewing request does not wait for its turn`() async throws {
        server.misbehave(.hang)
        server.misbehave(.delay(.zero), for: "www.example.com")
        let transfers = await HTTPFixture.plain(server.address)
        let hanging = Task { await HTTPFixture.parallel(HTTPLimits.unsharedRequests + 12, on: transfers) }
        #expect(await HTTPFixture.eventually { await transfers.load == (HTTPLimits.unsharedRequests, 12) })
        #expect(await transfers.get("www.example.com", renewing: true).isSuccess)
        hanging.cancel()
        _ = await hanging.value
        #expect(await transfers.openConnections == 1)
    }

    @Test func `when the last reference goes, every connection is closed`() async throws {
        var transfers: HTTPTransfers? = await HTTPFixture.plain(server.address)
        _ = await transfers?.get("www.example.com")
        #expect(server.openConnections == 1)
        transfers = nil
        #expect(await HTTPFixture.eventually { server.openConnections == 0 })
    }

    @Test func `why a certificate is refused is reported in OpenSSL's words where there are none of ours`() {
        // X509_V_ERR_INVALID_PURPOSE
        #expect(UpstreamFailure.certificateText(26) == "the certificate is refused (unsuitable certificate purpose)")
    }

    @Test func `a refused connection is a failure at once, with nothing of the request in its text`() async throws {
        let transfers = try await HTTPFixture.plain(TestAddress("127.0.0.1", port: FreePort.next()))
        let request = HTTPDNS.HTTPRequest(target: "/139450/sign_d?host=secret-name&s=deadbeef")
        let result = await transfers.perform(request, deadline: .bootTime + .patience)
        // Waiting for longer would end in a time-out.
        #expect(result.isNetworkFailure)
        #expect(!"\(result)".contains("deadbeef") && !"\(result)".contains("secret-name"))
    }
}
