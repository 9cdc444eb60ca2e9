import DNSWire
import HTTPDNS
import Platform
import TestServers
import TestSupport
import Testing
import Upstreams

/// Requests by way of an HTTP proxy. Not on the loop: starting nginx blocks the thread.
@Suite(.timeLimit(.minutes(10)))
struct HTTPProxyTests {
    private func transfers(
        _ scheme: HTTPOrigin.Scheme, _ service: TestAddress, by proxy: HTTPRelay, authority: String = ""
    ) async throws -> HTTPTransfers {
        let origin = HTTPOrigin(
            scheme: scheme, address: HTTPFixture.loopback, port: service.port, hosts: ["right.example"],
            caFile: authority, proxy: SocketAddress(HTTPFixture.loopback, port: proxy.port))
        return await HTTPTransfers(origin, loop: LoopRunner.shared.loop)
    }

    @Test func `over https all requests share one tunnel, to the service's address and certificate`() async throws {
        let certificates = try TestCertificates()
        let nginx = try Nginx(certificates.leaf(names: ["right.example"]), backend: FakeHTTPDNS(HTTPFixture.zone))
        let proxy = try HTTPRelay(to: nginx.address, as: .proxy)
        let transfers = try await transfers(.https, nginx.address, by: proxy, authority: certificates.authority)
        #expect(await HTTPFixture.parallel(10, on: transfers).allSucceeded)
        #expect(proxy.requests == ["CONNECT 127.0.0.1:\(nginx.address.port) HTTP/1.1"])
        #expect(nginx.waitForRequests(10))
        #expect(nginx.requests.allSatisfy { $0.httpVersion == "HTTP/2.0" && $0.serverName == "right.example" })
    }

    @Test func `plain http goes through a tunnel too`() async throws {
        let service = try FakeHTTPDNS(HTTPFixture.zone)
        let proxy = try HTTPRelay(to: service.address, as: .proxy)
        let transfers = try await transfers(.http, service.address, by: proxy)
        #expect(await transfers.get("www.example.com").isSuccess)
        #expect(proxy.requests == ["CONNECT 127.0.0.1:\(service.address.port) HTTP/1.1"])
        #expect(service.requests.count == 1)
    }

    @Test func `a proxy that refuses is a failure of the network`() async throws {
        let service = try FakeHTTPDNS(HTTPFixture.zone)
        let proxy = try HTTPRelay(to: service.address, as: .refusingProxy(407))
        let transfers = try await transfers(.http, service.address, by: proxy)
        #expect(await transfers.get("www.example.com").failure == .network("the proxy refuses with status 407"))
        #expect(service.requests.isEmpty)
    }
}
