import COpenSSL
import DNSWire
import Foundation
import Glibc
import HTTPDNS
import Platform
import TestServers
import TestSupport
import TestUpstreams
import Testing
import Upstreams

/// HTTP/2 and certificates, with nginx as the service. Not on the loop: waiting until nginx has started would block it.
@Suite(.timeLimit(.minutes(10)))
struct HTTPSecureTests {
    let certificates: TestCertificates
    let backend: FakeHTTPDNS
    let nginx: Nginx

    init() throws {
        certificates = try TestCertificates()
        backend = try FakeHTTPDNS(HTTPFixture.zone)
        nginx = try Nginx(certificates.leaf(names: ["right.example"], addresses: ["127.0.0.1"]), backend: backend)
    }

    /// Leaves an error in OpenSSL's queue on the loop's thread: that a file does not exist.
    @Loop
    private static func leaveError() { #expect(BIO_new_file("/nonexistent", "r") == nil) }

    /// Returns in a later turn of the loop, which begins so long from now at the earliest.
    @Loop private static func pass(_ time: Duration) async {
        _ = await LoopRunner.shared.loop.sleep(until: .bootTime + time)
    }

    private func transfers(_ hosts: [String] = ["right.example"], port: UInt16? = nil) async throws -> HTTPTransfers {
        await HTTPFixture.secure(port ?? nginx.address.port, hosts: hosts, authority: certificates.authority)
    }

    /// nginx by way of a relay, and transfers of which one was answered.
    private func relayed() async throws -> (HTTPRelay, HTTPTransfers) {
        let relay = try HTTPRelay(to: nginx.address)
        let transfers = try await transfers(port: relay.port)
        #expect(await transfers.get("first.example.com").isSuccess)
        // Our side has the whole reply before the end of its stream arrives.
        #expect(nginx.waitForRequests(1))
        return (relay, transfers)
    }

    @Test func `a thousand requests complete with at most 256 at once, on four connections`() async throws {
        backend.misbehave(.hang)
        let transfers = try await transfers()
        let all = Task { await HTTPFixture.parallel(1_000, on: transfers, name: "slow") }
        #expect(await HTTPFixture.eventually { await transfers.load == (256, 744) })
        let most = await HTTPFixture.peak(of: { transfers.load.active }) {
            backend.misbehave(nil)
            #expect(await all.value.allSucceeded)
        }
        #expect(most <= 256)
        #expect(nginx.waitForRequests(1_000))
        #expect(nginx.connections == 4)
    }

    @Test func `a certificate for another name has the next name tried, and the right one remembered`() async throws {
        let transfers = try await transfers(["wrong.example", "also-wrong.example", "right.example"])
        #expect(await HTTPFixture.parallel(30, on: transfers).allSucceeded)
        #expect(await transfers.get("again.example.com").isSuccess)
        #expect(nginx.waitForRequests(31))
        #expect(nginx.requests.allSatisfy { $0.serverName == "right.example" })
        #expect(nginx.connections == 1)
    }

    @Test func `an address as the certificate's name works, without SNI`() async throws {
        #expect(try await transfers(["127.0.0.1"]).get("www.example.com").isSuccess)
        #expect(nginx.waitForRequests(1))
        #expect(nginx.requests.first?.serverName == "")
    }

    @Test func `a document is fetched from its host's address`() async throws {
        let silent = FakeUpstream("localdns", .failure(.timeout), clock: ManualClock())
        let document = await WebDocument(
            host: "127.0.0.1", port: nginx.address.port, path: HTTPFixture.request("www.example.com").target,
            caFile: certificates.authority, proxy: nil, bootstrap: HostSources(localDNS: silent),
            paths: NetworkPaths(), loop: LoopRunner.shared.loop)
        let response = try await document.fetch(unless: nil).get()
        #expect(response.status == 200 && !response.body.isEmpty)
    }

    @Test func `when no name is in the certificate nothing is sent`() async throws {
        let transfers = try await transfers(["wrong.example", "127.0.0.2"])
        let results = await HTTPFixture.parallel(10, on: transfers)
        #expect(Set(results.map(\.failure)) == [.certificate("the certificate is for another name")])
        #expect(nginx.requests.isEmpty && backend.requests.isEmpty)
    }

    @Test func `a service behind a translator is asked at the translated address, by its own name`() async throws {
        let transfers = await HTTPFixture.secure(
            nginx.address.port, authority: certificates.authority,
            address: .v4(0xc000_0201), translated: HTTPFixture.loopback)
        #expect(await transfers.get("www.example.com").isSuccess)
        #expect(nginx.waitForRequests(1))
        #expect(nginx.requests.allSatisfy { $0.serverName == "right.example" })
    }

    /// The forged one is below an expired authority whose key it was made without.
    @Test func `a wrong certificate is refused with its reason; wrong in its time alone it is a sign`() async throws {
        let (right, unknown) = (["right.example"], "the certificate's issuer is not known")
        for (leaf, reason, isTimeAlone) in [
            (try TestCertificates().leaf(names: right), unknown, false),
            (try certificates.selfSignedLeaf(names: right), "the certificate is self-signed", false),
            (try certificates.expiredLeaf(names: right), "the certificate has expired", true),
            (try certificates.earlyLeaf(names: right), nil, true),
            (try certificates.expiredLeaf(names: ["wrong.example"]), nil, false),
            (try certificates.forgedLeaf(names: right), nil, false),
            (try TestCertificates().expiredLeaf(names: right), nil, false),
        ] as [(TestCertificates.Leaf, String?, Bool)] {
            let server = try Nginx(leaf)
            let transfers = try await transfers(port: server.address.port)
            let signs = await Signs(of: transfers)
            guard case .certificate(let text) = await transfers.get("a.example").failure else {
                Issue.record("not refused")
                continue
            }
            #expect(text == reason ?? text)
            #expect(await (signs.count > 0) == isTimeAlone)
            #expect(server.requests.isEmpty)
        }
    }

    /// How often a service has shown a certificate that is wrong in its time alone.
    @Loop
    private final class Signs {
        private(set) var count = 0

        init(of transfers: HTTPTransfers) { transfers.onWrongTime = { [unowned self] in count += 1 } }
    }

    @Test func `one of several pinned keys is enough, another is refused, and none makes all valid`() async throws {
        let (leaf, other) = (try certificates.leaf(names: ["right.example"]), try certificates.leaf())
        let invalid = try certificates.selfSignedLeaf(names: ["right.example"])
        for (leaf, pins, failure) in [
            (leaf, [try other.pin, try leaf.pin], nil),
            (leaf, [try other.pin], "the certificate's key is not one of those in pin"),
            (invalid, [try invalid.pin], "the certificate is self-signed"),
        ] as [(TestCertificates.Leaf, [String], String?)] {
            let server = try Nginx(leaf)
            let transfers = await HTTPFixture.secure(
                server.address.port, hosts: ["right.example", "also.example"], authority: certificates.authority,
                pins: pins)
            // All that wait for the handshake.
            let results = await HTTPFixture.parallel(10, on: transfers)
            #expect(Set(results.map(\.failure)) == [failure.map { .certificate($0) }])
            #expect(failure == nil || server.requests.isEmpty)
        }
    }

    @Test(.enabled(if: (try? FreePort.next(on: ["::1"])) != nil, "no IPv6 on the loopback interface"))
    func `an IPv6 address is reached, with a name and with itself as the certificate's name`() async throws {
        let port = try FreePort.next(on: ["::1"])
        let server = try Nginx(
            certificates.leaf(names: ["right.example"], addresses: ["::1"]), at: TestAddress("::1", port: port))
        for host in ["right.example", "::1"] {
            let transfers = await HTTPFixture.secure(
                port, hosts: [host], authority: certificates.authority, address: .v6(1))
            #expect(await transfers.get("a.example").isSuccess)
        }
        #expect(server.waitForRequests(2))
        #expect(server.requests.map(\.serverName) == ["right.example", ""])
    }

    @Test func `no reply is to be compressed, and one that is all the same is refused`() async throws {
        let transfers = try await transfers()
        #expect(await transfers.get("slow1.example.com").isSuccess)
        #expect(backend.requests.last?.header("accept-encoding") == "identity")
        backend.addHeaders(["Content-Encoding: gzip"])
        #expect(
            await transfers.get("slow2.example.com").failure
                == .unusable("the reply is compressed (gzip), which the request forbids"))
        #expect(await transfers.openConnections == 1)
    }

    @Test func `a connection made in advance carries the first request, and nothing before it`() async throws {
        let relay = try HTTPRelay(to: nginx.address)
        let transfers = try await transfers(port: relay.port)
        await transfers.connect(timeout: .patience)
        #expect(relay.connections == 1)
        #expect(await transfers.openConnections == 1)
        #expect(nginx.requests.isEmpty)
        #expect(await HTTPFixture.parallel(10, on: transfers).allSucceeded)
        #expect(nginx.waitForRequests(10))
        #expect(relay.connections == 1 && nginx.connections == 1)
    }

    @Test func `a request that is not permitted is not sent, and harms no other on its connection`() async throws {
        let transfers = try await transfers()
        async let others = HTTPFixture.parallel(10, on: transfers)
        let result = await transfers.perform(
            HTTPFixture.request("over-quota.example.com"), deadline: .bootTime + .patience,
            permit: { false })
        #expect(result.failure == .cancelled)
        #expect(await others.allSucceeded)
        #expect(nginx.waitForRequests(10))
        #expect(!nginx.requests.contains { $0.target.contains("over-quota") })
    }

    @Test func `a connection that was found dead after its request was given up is not used again`() async throws {
        let relay = try HTTPRelay(to: nginx.address)
        let transfers = try await transfers(port: relay.port)
        let began = ContinuousClock.now
        #expect(await transfers.get("first.example.com").isSuccess)
        // The connection's making has taken no longer, after which it counts as dead.
        let made = ContinuousClock.now - began
        // Our side has the whole reply before the end of its stream arrives.
        #expect(nginx.waitForRequests(1))
        relay.silence()
        // Given up before it would be asked for a sign of life.
        #expect(await transfers.get("early.example.com", timeout: HTTPLimits.test / 2).failure == .timeout)
        // It is asked at the end of that turn, and waited for by the loop's clock, which stands still within a turn.
        await Self.pass(.zero)
        await Self.pass(max(HTTPLimits.silence, made))
        let swallowed = relay.swallowed
        #expect(await transfers.get(String(repeating: "next.", count: 40) + "example.com").isSuccess)
        // The connection's end, and no request.
        #expect(relay.swallowed < swallowed + 100)
        #expect(relay.connections == 2)
    }

    @Test func `a request on a connection that is not made yet goes on when another one replaces it`() async throws {
        let relay = try HTTPRelay(to: nginx.address)
        let transfers = try await transfers(port: relay.port)
        #expect(await transfers.get("first.example.com").isSuccess)
        relay.silenceNext()
        async let second = transfers.get("second.example.com")
        // It was given up with the first one, and its next one has no handshake.
        #expect(await HTTPFixture.eventually { relay.connections == 2 })
        #expect(await transfers.get("third.example.com", renewing: true).isSuccess)
        #expect(await second.isSuccess)
        #expect(relay.connections == 3)
    }

    @Test func `the time to the first byte is reported with each reply`() async throws {
        backend.misbehave(.delay(.milliseconds(400)))
        let transfers = try await transfers()
        for (name, delay) in [("slow.example.com", Duration.milliseconds(400)), ("fast.example.com", .zero)] {
            let time = try #require(await transfers.get(name).get().timeToFirstByte)
            // The loop's clock does not advance within a turn, which may be long under a sanitizer.
            #expect(time >= delay / 2 && time < .patience, "\(name)")
        }
    }

    @Test func `a slow stream times out alone: its connection goes on`() async throws {
        backend.misbehave(.hang)
        let transfers = try await transfers()
        #expect(await transfers.get("first.example.com").isSuccess)
        async let slow = transfers.get("slow.example.com", timeout: .seconds(5))
        #expect(await HTTPFixture.eventually { await transfers.load.active == 1 })
        #expect(await HTTPFixture.parallel(10, on: transfers).allSucceeded)
        #expect(await slow.failure == .slow)
        #expect(await transfers.get("last.example.com").isSuccess)
        #expect(nginx.waitForRequests(12))
        #expect(nginx.connections == 1)
    }

    @Test func `a connection that fell silent is given up, and what else waited on it is sent again`() async throws {
        let (relay, transfers) = try await relayed()
        relay.silence()
        async let early = transfers.get("early.example.com", timeout: .milliseconds(200))
        async let late = HTTPFixture.parallel(20, on: transfers)
        #expect(await early.failure == .timeout)
        #expect(await late.allSucceeded)
        #expect(relay.connections == 2)
        #expect(await transfers.openConnections == 1)
    }

    @Test func `requests that begin as a dead connection is detected share one new connection`() async throws {
        let (relay, transfers) = try await relayed()
        relay.silence()
        // One ends the connection, while others are still on it, and new requests begin in its completion.
        async let others = HTTPFixture.parallel(5, on: transfers, name: "other")
        #expect(await HTTPFixture.eventually { await transfers.load.active == 5 })
        // Its time is also what the others' silence is measured by as it begins: on a busy machine they are a second old then.
        let following = await HTTPFixture.following(
            5, on: transfers, HTTPFixture.request("lost.example.com"), timeout: .seconds(3))
        #expect(following.allSucceeded)
        #expect(await others.allSucceeded)
        #expect(relay.connections == 2)
    }

    @Test func `beside a closing connection with a stream on it requests share one new connection`() async throws {
        let old = try Nginx(certificates.leaf(names: ["right.example"]), backend: backend, requestsPerConnection: 12)
        backend.misbehave(.hang, for: "slow.example.com")
        let transfers = try await transfers(port: old.address.port)
        async let slow = transfers.get("slow.example.com")
        #expect(await HTTPFixture.eventually { backend.callCount("slow.example.com") == 1 })
        for number in 0..<11 { #expect(await transfers.get("n\(number).example.com").isSuccess) }
        #expect(await HTTPFixture.parallel(11, on: transfers).allSucceeded)
        #expect(await transfers.openConnections == 2)
        #expect(old.waitForRequests(22))
        #expect(old.connections == 2)
        backend.misbehave(nil, for: "slow.example.com")
        #expect(await slow.isSuccess)
    }

    @Test(arguments: [1, 10, 37])
    func `a server that closes each connection after a few requests loses none of many`(few: Int) async throws {
        let old = try Nginx(certificates.leaf(names: ["right.example"]), requestsPerConnection: few)
        let transfers = try await transfers(port: old.address.port)
        let results = await HTTPFixture.parallel(200, on: transfers)
        #expect(Set(results.compactMap(\.failure)) == [])
    }

    @Test func `a handshake that hangs delays nothing longer than its own request`() async throws {
        let relay = try HTTPRelay(to: nginx.address)
        let transfers = try await transfers(port: relay.port)
        relay.silenceNext()
        async let first = transfers.get("first.example.com", timeout: .milliseconds(300))
        #expect(await HTTPFixture.eventually { relay.connections == 1 })
        async let others = HTTPFixture.parallel(20, on: transfers)
        #expect(await first.failure == .timeout)
        #expect(await others.allSucceeded)
        #expect(await transfers.openConnections == 1)
    }

    @Test func `a connection that the server closed while idle is replaced without a failure`() async throws {
        let (relay, transfers) = try await relayed()
        relay.disconnect()
        #expect(await HTTPFixture.parallel(20, on: transfers).allSucceeded)
        // At most one for each that was sent before the end was seen.
        #expect((2...21).contains(relay.connections))
    }

    @Test func `streams under way on a connection that breaks are sent again, each on one of its own`() async throws {
        backend.misbehave(.hang)
        let (relay, transfers) = try await relayed()
        async let slow = HTTPFixture.parallel(20, on: transfers, name: "slow")
        #expect(await HTTPFixture.eventually { backend.requests.count == 20 })
        relay.disconnect()
        #expect(await HTTPFixture.eventually { backend.requests.count == 40 })
        backend.misbehave(nil)
        #expect(await slow.allSucceeded)
        #expect(relay.connections == 21)
        #expect(await transfers.get("next.example.com").isSuccess)
        #expect(await transfers.openConnections == 1)
    }

    @Test func `a cancelled stream leaves its connection to the others`() async throws {
        backend.misbehave(.hang)
        let transfers = try await transfers()
        #expect(await transfers.get("first.example.com").isSuccess)
        let task = Task { await transfers.get("slow.example.com") }
        #expect(await HTTPFixture.eventually { await transfers.load.active == 1 })
        task.cancel()
        #expect(await task.value.failure == .cancelled)
        #expect(await HTTPFixture.parallel(10, on: transfers).allSucceeded)
        #expect(nginx.waitForRequests(11))
        #expect(nginx.connections == 1)
    }

    @Test(arguments: ["TLSv1.2", "TLSv1.3"])
    func `the next connection takes up the TLS session of the last one`(version: String) async throws {
        let leaf = try certificates.leaf(names: ["right.example"])
        let server = try Nginx(leaf, tlsVersions: version)
        let relay = try HTTPRelay(to: server.address)
        let transfers = try await HTTPFixture.secure(relay.port, authority: certificates.authority, pins: [leaf.pin])
        for _ in 0..<2 {
            #expect(await transfers.get("www.example.com").isSuccess)
            relay.disconnect()
            #expect(await HTTPFixture.eventually { await transfers.openConnections == 0 })
        }
        #expect(server.waitForRequests(2))
        #expect(server.requests.map(\.isResumed) == [false, true])
    }

    @Test func `a TLS session ends with the trust in the authorities under which it began`() async throws {
        let relay = try HTTPRelay(to: nginx.address)
        let directory = try TemporaryDirectory()
        func trust(_ certificates: TestCertificates) throws -> String {
            try directory.write(String(contentsOfFile: certificates.authority, encoding: .utf8), to: "ca.pem")
        }
        let transfers = try await HTTPFixture.secure(relay.port, authority: trust(certificates))
        #expect(await transfers.get("www.example.com").isSuccess)
        _ = try trust(TestCertificates())
        relay.disconnect()
        #expect(await HTTPFixture.eventually { await transfers.openConnections == 0 })
        let failure = await transfers.get("www.example.com").failure
        #expect(failure == .certificate("the certificate's issuer is not known"))
    }

    @Test func `what others leave in OpenSSL's list of errors breaks no connection`() async throws {
        let transfers = try await transfers()
        #expect(await transfers.get("first.example.com").isSuccess)
        for number in 0..<20 {
            await Self.leaveError()
            #expect(await transfers.get("n\(number).example.com").isSuccess)
        }
        #expect(nginx.waitForRequests(21))
        #expect(nginx.connections == 1)
    }

    @Test func `a server that speaks HTTP/2 again after a failure is asked over HTTP/2 again`() async throws {
        let leaf = try certificates.leaf(names: ["right.example"])
        let port = try FreePort.next()
        var server: Nginx? = try Nginx(leaf, at: TestAddress("127.0.0.1", port: port), http2: false)
        let transfers = try await transfers(port: port)
        #expect(await transfers.get("www.example.com").isSuccess)
        #expect(await !transfers.isMultiplexed)
        server = nil
        #expect(await HTTPFixture.eventually { await !transfers.get("www.example.com").isSuccess })
        server = try Nginx(leaf, at: TestAddress("127.0.0.1", port: port))
        #expect(await transfers.get("www.example.com").isSuccess)
        #expect(await transfers.isMultiplexed)
        withExtendedLifetime(server) {}
    }

    @Test func `a missing file of authorities is refused with a clear text`() async throws {
        let transfers = await HTTPFixture.secure(nginx.address.port, authority: "/nonexistent/ca.pem")
        guard case .unusable = await transfers.get("www.example.com").failure else {
            Issue.record("not refused")
            return
        }
    }
}
